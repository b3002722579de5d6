#include "ipc/packet_ring.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include "core/error.h"
#include "core/failpoint.h"
#include "ipc/futex.h"

namespace campipe {

namespace packet_ring {

inline constexpr std::uint32_t magic = 0x746b6370;  // "pckt"
inline constexpr std::uint32_t layout_version = 1;

struct Entry {
  std::uint64_t offset;
  std::uint32_t size;
  bool key;
  std::int64_t dts;
  FrameTimes times;
};

struct Header {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t capacity;
  std::uint64_t epoch;
  std::uint64_t base;
  alignas(64) std::atomic<std::uint64_t> head;  // packets written in this epoch
  std::atomic<WriterState> writer;
  std::atomic<std::uint32_t> news;                  // futex of the reader
  alignas(64) std::atomic<std::uint64_t> released;  // packets given back in this epoch
  std::atomic<std::uint32_t> room;                  // futex of the writer
  std::atomic<std::uint32_t> reader_sleeps;
  std::atomic<std::uint32_t> writer_sleeps;
  alignas(64) std::array<Entry, packet_ring_entries> entry;  // of packet n: entry[n % packet_ring_entries]
};

}  // namespace packet_ring

using packet_ring::Entry;
using packet_ring::Header;

std::shared_ptr<PacketRingMemory> PacketRingMemory::create(std::size_t capacity, std::uint64_t epoch,
                                                           std::uint64_t base) {
  auto memory = std::make_shared<PacketRingMemory>();
  memory->fd_ = create_shared_memory("packet ring", sizeof(Header) + capacity);
  memory->mapping_ = Mapping(memory->fd_.get(), Mapping::Access::read_write);
  // The zero bytes of a new memfd are a valid Header; constructing one would touch every page of it.
  memory->header_ = std::launder(reinterpret_cast<Header*>(memory->mapping_.bytes().data()));
  memory->header_->version = packet_ring::layout_version;
  memory->header_->capacity = capacity;
  memory->header_->epoch = epoch;
  memory->header_->base = base;
  memory->header_->magic = packet_ring::magic;
  return memory;
}

std::shared_ptr<PacketRingMemory> PacketRingMemory::open(UniqueFd fd) {
  auto memory = std::make_shared<PacketRingMemory>();
  const std::size_t size = checked_size(fd.get(), sizeof(Header));
  memory->mapping_ = Mapping(fd.get(), Mapping::Access::read_write);
  memory->header_ = std::launder(reinterpret_cast<Header*>(memory->mapping_.bytes().data()));
  const Header& header = *memory->header_;
  if (header.magic != packet_ring::magic || header.version != packet_ring::layout_version ||
      sizeof(Header) + header.capacity > size) {
    throw Error("a packet ring of another version");
  }
  memory->fd_ = std::move(fd);
  return memory;
}

std::uint8_t* PacketRingMemory::bytes() const { return mapping_.bytes().data() + sizeof(Header); }

PacketRingWriter::PacketRingWriter(std::shared_ptr<PacketRingMemory> memory) : memory_(std::move(memory)) {}

// Where `size` contiguous bytes are free: behind the newest packet, or at the beginning.
std::optional<std::size_t> PacketRingWriter::place(std::size_t size) const {
  const Header& header = memory_->header();
  const std::uint64_t head = header.head.load(std::memory_order_relaxed);
  const std::uint64_t released = header.released.load(std::memory_order_seq_cst);
  if (head == released) return 0;
  if (head - released >= packet_ring_entries) return std::nullopt;
  const Entry& newest = header.entry[(head - 1) % packet_ring_entries];
  const std::size_t end = newest.offset + newest.size;
  const std::size_t oldest = header.entry[released % packet_ring_entries].offset;
  if (newest.offset >= oldest) {  // in use: [oldest, end)
    if (header.capacity - end >= size) return end;
    if (oldest > size) return 0;
    return std::nullopt;
  }
  return oldest - end > size ? std::optional(end) : std::nullopt;  // in use: [oldest, …) and […, end)
}

bool PacketRingWriter::push(const PacketView& packet, Deadline deadline, const std::function<bool()>& interrupted) {
  Header& header = memory_->header();
  const std::size_t size = packet.data.size();
  if (size == 0 || size > header.capacity / 2) {
    throw Error("a packet of " + std::to_string(size) + " bytes does not fit the packet ring");
  }
  std::optional<std::size_t> offset = place(size);
  while (!offset) {
    if (Clock::now() >= deadline || interrupted()) return false;
    const std::uint32_t room = header.room.load(std::memory_order_seq_cst);
    header.writer_sleeps.store(1, std::memory_order_seq_cst);
    offset = place(size);
    if (!offset) futex_wait(header.room, room, std::min(deadline, Clock::now() + std::chrono::milliseconds(100)));
    header.writer_sleeps.store(0, std::memory_order_relaxed);
    if (!offset) offset = place(size);
  }
  std::memcpy(memory_->bytes() + *offset, packet.data.data(), size);
  const std::uint64_t head = header.head.load(std::memory_order_relaxed);
  header.entry[head % packet_ring_entries] = {*offset, static_cast<std::uint32_t>(size), packet.key, packet.dts,
                                              packet.times};
  failpoint("packets.writer.filled");
  header.head.store(head + 1, std::memory_order_seq_cst);
  failpoint("packets.writer.head");
  header.news.fetch_add(1, std::memory_order_seq_cst);
  if (header.reader_sleeps.load(std::memory_order_seq_cst) != 0) futex_wake_all(header.news);
  return true;
}

void PacketRingWriter::close() {
  Header& header = memory_->header();
  header.writer.store(WriterState::closed, std::memory_order_seq_cst);
  header.news.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.news);
}

PacketRingReader::PacketRingReader(std::shared_ptr<PacketRingMemory> memory)
    : memory_(std::move(memory)), cursor_(memory_->header().released.load(std::memory_order_seq_cst)) {}

PacketRingReader::Next PacketRingReader::next(PacketView& packet, std::uint64_t& number, Deadline deadline) {
  Header& header = memory_->header();
  for (;;) {
    const std::uint32_t news = header.news.load(std::memory_order_seq_cst);
    const WriterState writer = header.writer.load(std::memory_order_seq_cst);  // before head: then head is final
    if (cursor_ != header.head.load(std::memory_order_seq_cst)) {
      const Entry& entry = header.entry[cursor_ % packet_ring_entries];
      ++cursor_;
      packet = {{memory_->bytes() + entry.offset, entry.size}, entry.dts, entry.key, entry.times};
      number = header.base + cursor_;
      return Next::packet;
    }
    if (writer == WriterState::closed) return Next::ended;
    if (writer == WriterState::gone) return Next::writer_gone;
    if (Clock::now() >= deadline) return Next::timeout;
    header.reader_sleeps.store(1, std::memory_order_seq_cst);
    futex_wait(header.news, news, deadline);
    header.reader_sleeps.store(0, std::memory_order_seq_cst);
  }
}

void PacketRingReader::release_through(std::uint64_t number) {
  Header& header = memory_->header();
  const std::uint64_t released = header.released.load(std::memory_order_relaxed);
  if (number <= header.base + released) return;
  failpoint("packets.reader.releasing");
  header.released.store(number - header.base, std::memory_order_seq_cst);
  failpoint("packets.reader.released");
  if (header.writer_sleeps.load(std::memory_order_seq_cst) == 0) return;
  header.room.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.room);
}

double PacketRingReader::fill() const {
  const Header& header = memory_->header();
  const std::uint64_t head = header.head.load(std::memory_order_seq_cst);
  const std::uint64_t released = header.released.load(std::memory_order_relaxed);
  if (head == released) return 0;
  const Entry& newest = header.entry[(head - 1) % packet_ring_entries];
  const std::uint64_t oldest = header.entry[released % packet_ring_entries].offset;
  const std::uint64_t end = newest.offset + newest.size;
  const std::uint64_t used = newest.offset >= oldest ? end - oldest : header.capacity - oldest + end;
  return std::max(static_cast<double>(used) / static_cast<double>(header.capacity),
                  static_cast<double>(head - released) / packet_ring_entries);
}

bool PacketRingReader::writer_waits() const {
  return memory_->header().writer_sleeps.load(std::memory_order_seq_cst) != 0;
}

void PacketRingObserver::mark_writer_gone() {
  Header& header = memory_->header();
  auto expected = WriterState::open;
  header.writer.compare_exchange_strong(expected, WriterState::gone, std::memory_order_seq_cst);
  header.news.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.news);
}

std::uint64_t PacketRingObserver::published() const {
  const Header& header = memory_->header();
  return header.base + header.head.load(std::memory_order_acquire);
}

std::optional<std::int64_t> PacketRingObserver::last_dts() const {
  const Header& header = memory_->header();
  const std::uint64_t head = header.head.load(std::memory_order_seq_cst);
  if (head == 0) return std::nullopt;
  return header.entry[(head - 1) % packet_ring_entries].dts;
}

}  // namespace campipe
