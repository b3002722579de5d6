#include "ipc/packet_ring.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>

#include "core/error.h"
#include "core/failpoint.h"
#include "ipc/futex.h"
#include "ipc/packet_ring_layout.h"
#include "ipc/ring_checks.h"

namespace campipe {

using packet_ring::Description;
using packet_ring::Entry;
using packet_ring::Header;

namespace {

constexpr std::uint64_t most_packets = std::uint64_t{1} << 62;  // in all epochs
constexpr std::uint64_t most_reordered = 64;                    // packets; a decoder keeps 16 frames back at most

// A copy of what another process may change at any time.
template <typename Record>
Record copy_of(const Record& record) {
  Record copy;
  std::memcpy(&copy, &record, sizeof copy);
  return copy;
}

// No sum here has more than 64 bits.
bool is_possible(const Entry& entry, std::uint64_t capacity) {
  const bool inside = entry.size > entry.metadata && entry.size <= capacity && entry.offset <= capacity - entry.size;
  return inside && entry.key <= 1 && is_possible_time(entry.dts) && is_possible(entry.times);
}

// How many of the packets up to `head` one may still want.
std::uint64_t kept(std::uint64_t head) { return std::min<std::uint64_t>(head, packet_ring_entries); }

}  // namespace

std::shared_ptr<PacketRingMemory> PacketRingMemory::create(std::size_t capacity, std::uint64_t epoch,
                                                           std::uint64_t base, const char* name) {
  if (capacity == 0 || capacity > most_packet_bytes) {
    throw Error("no packet ring has " + std::to_string(capacity) + " bytes");
  }
  auto memory = std::make_shared<PacketRingMemory>();
  memory->fd_ = create_shared_memory(name, sizeof(Header) + capacity);
  memory->mapping_ = Mapping(memory->fd_.get(), Mapping::Access::read_write);
  // The zero bytes of a new memfd are a valid Header; constructing one would touch every page of it.
  memory->header_ = std::launder(reinterpret_cast<Header*>(memory->mapping_.bytes().data()));
  memory->description_ = std::make_shared<const Description>(
      Description{packet_ring::magic, packet_ring::layout_version, capacity, epoch, base});
  std::memcpy(&memory->header_->description, memory->description_.get(), sizeof(Description));
  return memory;
}

std::shared_ptr<PacketRingMemory> PacketRingMemory::open(UniqueFd fd) {
  auto memory = std::make_shared<PacketRingMemory>();
  const std::size_t size = checked_size(fd.get(), sizeof(Header));
  if (size - sizeof(Header) > most_packet_bytes) throw Error("a packet ring that is larger than there are any");
  memory->mapping_ = Mapping(fd.get(), Mapping::Access::read_write);
  memory->header_ = std::launder(reinterpret_cast<Header*>(memory->mapping_.bytes().data()));
  const Description description = copy_of(memory->header_->description);
  if (description.magic != packet_ring::magic || description.version != packet_ring::layout_version) {
    throw Error("a packet ring of another version");
  }
  if (description.capacity == 0 || description.capacity != size - sizeof(Header) || description.epoch > most_packets ||
      description.base > most_packets) {
    throw Error("a packet ring that describes itself as it cannot be");
  }
  memory->description_ = std::make_shared<const Description>(description);
  memory->fd_ = std::move(fd);
  return memory;
}

std::uint8_t* PacketRingMemory::bytes() const { return mapping_.bytes().data() + sizeof(Header); }

std::uint64_t PacketRingMemory::capacity() const { return description_->capacity; }
std::uint64_t PacketRingMemory::base() const { return description_->base; }

PacketRingWriter::PacketRingWriter(std::shared_ptr<PacketRingMemory> memory)
    : memory_(std::move(memory)), offset_(packet_ring_entries) {}

// Takes over what the reader gave back, if that can be; and restores what only the writer may write.
void PacketRingWriter::look_at_reader() {
  Header& header = memory_->header();
  const std::uint64_t released = header.released.load(std::memory_order_seq_cst);
  const WriterState state = closed_ ? WriterState::closed : WriterState::open;
  bool right = released >= released_ && released <= published_;
  if (right) {
    released_ = released;
  } else {
    header.released.store(released_, std::memory_order_seq_cst);
  }
  right = right && header.head.load(std::memory_order_relaxed) == published_ &&
          header.writer.load(std::memory_order_relaxed) == state;
  right = right && std::memcmp(&header.description, memory_->description_.get(), sizeof(Description)) == 0;
  if (right) return;
  std::memcpy(&header.description, memory_->description_.get(), sizeof(Description));
  header.head.store(published_, std::memory_order_seq_cst);
  header.writer.store(state, std::memory_order_seq_cst);
  on_faulty_reader_();
}

// Where `size` contiguous bytes are free: behind the newest packet, or at the beginning.
std::optional<std::size_t> PacketRingWriter::place(std::size_t size) {
  look_at_reader();
  if (head_ == released_) return 0;
  if (head_ - released_ >= packet_ring_entries) return std::nullopt;
  const std::uint64_t newest = offset_[(head_ - 1) % packet_ring_entries];
  const std::uint64_t oldest = offset_[released_ % packet_ring_entries];
  if (newest >= oldest) {  // in use: [oldest, end)
    if (memory_->capacity() - end_ >= size) return end_;
    if (oldest > size) return 0;
    return std::nullopt;
  }
  return oldest - end_ > size ? std::optional(end_) : std::nullopt;  // in use: [oldest, …) and […, end)
}

std::optional<std::size_t> PacketRingWriter::wait_for_place(std::size_t size, Deadline deadline,
                                                            const std::function<bool()>& interrupted) {
  Header& header = memory_->header();
  std::optional<std::size_t> offset = place(size);
  if (!offset) publish();  // who is to make room shall have all that there is
  while (!offset && Clock::now() < deadline && !interrupted()) {
    const std::uint32_t room = header.room.load(std::memory_order_seq_cst);
    header.writer_sleeps.store(1, std::memory_order_seq_cst);
    offset = place(size);
    if (!offset) {
      ask_for_room();
      futex_wait(header.room, room, std::min(deadline, Clock::now() + std::chrono::milliseconds(100)));
    }
    header.writer_sleeps.store(0, std::memory_order_relaxed);
    if (!offset) offset = place(size);
  }
  return offset;
}

// What is given back afterwards is an answer, whoever gives it back and for whatever reason.
void PacketRingWriter::ask_for_room() {
  Header& header = memory_->header();
  header.full_at.store(released_ + 1, std::memory_order_seq_cst);
  failpoint("packets.writer.asking");
  header.news.fetch_add(1, std::memory_order_seq_cst);
  if (header.reader_sleeps.load(std::memory_order_seq_cst) != 0) futex_wake_all(header.news);
}

bool PacketRingWriter::push(const PacketView& packet, Deadline deadline, const std::function<bool()>& interrupted,
                            Exists exists) {
  Header& header = memory_->header();
  const std::span<const std::uint8_t> metadata = packet.metadata.bytes();
  const std::size_t size = metadata.size() + packet.data.size();
  if (packet.data.empty() || size > memory_->capacity() / 2) {
    throw Error("a packet of " + std::to_string(packet.data.size()) + " bytes does not fit the packet ring");
  }
  const std::optional<std::size_t> offset = wait_for_place(size, deadline, interrupted);
  if (!offset) return false;
  const auto data = std::ranges::copy(metadata, memory_->bytes() + *offset).out;
  std::ranges::copy(packet.data, data);
  header.entry[head_ % packet_ring_entries] = {.offset = *offset,
                                               .size = static_cast<std::uint32_t>(size),
                                               .metadata = static_cast<std::uint16_t>(metadata.size()),
                                               .key = static_cast<std::uint16_t>(packet.key ? 1 : 0),
                                               .dts = packet.dts,
                                               .times = packet.times};
  offset_[head_ % packet_ring_entries] = *offset;
  end_ = *offset + size;
  ++head_;
  failpoint("packets.writer.filled");
  if (exists == Exists::now) publish();
  return true;
}

void PacketRingWriter::publish() {
  if (published_ == head_) return;
  Header& header = memory_->header();
  published_ = head_;
  header.head.store(published_, std::memory_order_seq_cst);
  failpoint("packets.writer.head");
  header.news.fetch_add(1, std::memory_order_seq_cst);
  if (header.reader_sleeps.load(std::memory_order_seq_cst) != 0) futex_wake_all(header.news);
}

void PacketRingWriter::close() {
  publish();
  Header& header = memory_->header();
  closed_ = true;
  header.writer.store(WriterState::closed, std::memory_order_seq_cst);
  header.news.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.news);
}

// A predecessor, who may have died of anything, has left `released`.
PacketRingReader::PacketRingReader(std::shared_ptr<PacketRingMemory> memory, WhenFull when_full)
    : memory_(std::move(memory)), when_full_(when_full) {
  const Header& header = memory_->header();
  const std::uint64_t head = header.head.load(std::memory_order_seq_cst);
  const std::uint64_t released = header.released.load(std::memory_order_seq_cst);
  released_ = std::clamp(released, head - kept(head), head);
  cursor_ = released_;
}

// Asked after the look for news: what is asked for later brings news. Where most of the ring is still to be read, there
// will be room without that.
bool PacketRingReader::is_asked_for_room(std::uint64_t head) const {
  const bool most_was_read = 4 * (head - cursor_) <= head - released_;
  if (when_full_ == WhenFull::waits || released_ == cursor_ || !most_was_read) return false;
  return memory_->header().full_at.load(std::memory_order_seq_cst) == released_ + 1;
}

PacketRingReader::Next PacketRingReader::next(PacketView& packet, std::uint64_t& number, Deadline deadline) {
  Header& header = memory_->header();
  for (;;) {
    const std::uint32_t news = header.news.load(std::memory_order_seq_cst);
    const WriterState writer = header.writer.load(std::memory_order_seq_cst);  // before head: then head is final
    const std::uint64_t head = header.head.load(std::memory_order_seq_cst);
    if (broken_ || head < cursor_ || head - released_ > packet_ring_entries || head > most_packets) break;
    if (is_asked_for_room(head)) return Next::full;
    if (cursor_ != head) {
      const Entry entry = copy_of(header.entry[cursor_ % packet_ring_entries]);
      if (!is_possible(entry, memory_->capacity())) break;
      const std::span<const std::uint8_t> bytes(memory_->bytes() + entry.offset, entry.size);
      const auto metadata = FrameMetadata::from_bytes(bytes.first(entry.metadata));
      if (!metadata) break;
      ++cursor_;
      packet = {bytes.subspan(entry.metadata), entry.dts, entry.key != 0, entry.times, *metadata};
      number = memory_->base() + cursor_;
      return Next::packet;
    }
    if (writer == WriterState::closed) return Next::ended;
    if (writer == WriterState::gone) return Next::writer_gone;
    if (Clock::now() >= deadline) return Next::timeout;
    header.reader_sleeps.store(1, std::memory_order_seq_cst);
    futex_wait(header.news, news, deadline);
    header.reader_sleeps.store(0, std::memory_order_seq_cst);
  }
  broken_ = true;
  return Next::broken;
}

void PacketRingReader::release_through(std::uint64_t number) {
  Header& header = memory_->header();
  if (number <= memory_->base() + released_) return;
  released_ = number - memory_->base();
  const char* reader = when_full_ == WhenFull::waits ? "waits" : "reports";
  failpoint("packets.reader.releasing", reader);
  header.released.store(released_, std::memory_order_seq_cst);
  failpoint("packets.reader.released", reader);
  if (header.writer_sleeps.load(std::memory_order_seq_cst) == 0) return;
  header.room.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.room);
}

// Of numbers that the writer may have got wrong: then the answer is wrong as well, and no more.
double PacketRingReader::fill() const {
  const Header& header = memory_->header();
  const std::uint64_t head = header.head.load(std::memory_order_seq_cst);
  if (head <= released_) return 0;
  const Entry newest = copy_of(header.entry[(head - 1) % packet_ring_entries]);
  const std::uint64_t oldest = header.entry[released_ % packet_ring_entries].offset;
  const std::uint64_t end = newest.offset + newest.size;
  const std::uint64_t used = newest.offset >= oldest ? end - oldest : memory_->capacity() - oldest + end;
  const double fill = std::max(static_cast<double>(used) / static_cast<double>(memory_->capacity()),
                               static_cast<double>(head - released_) / packet_ring_entries);
  return std::min(fill, 1.0);
}

bool PacketRingReader::writer_waits() const {
  return memory_->header().writer_sleeps.load(std::memory_order_seq_cst) != 0;
}

void PacketRingObserver::mark_writer_gone() {
  Header& header = memory_->header();
  if (header.writer.load(std::memory_order_seq_cst) != WriterState::closed)
    header.writer.store(WriterState::gone, std::memory_order_seq_cst);
  header.news.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.news);
}

void PacketRingObserver::give_back_all() {
  Header& header = memory_->header();
  header.released.store(header.head.load(std::memory_order_seq_cst), std::memory_order_seq_cst);
  if (header.writer_sleeps.load(std::memory_order_seq_cst) == 0) return;
  header.room.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(header.room);
}

// Whatever the head is, a next ring may go on from here.
std::uint64_t PacketRingObserver::published() const {
  const std::uint64_t head = memory_->header().head.load(std::memory_order_acquire);
  return memory_->base() + std::min(head, most_packets - memory_->base());
}

std::optional<std::int64_t> PacketRingObserver::last_dts() const {
  const Header& header = memory_->header();
  const std::uint64_t head = header.head.load(std::memory_order_seq_cst);
  if (head == 0) return std::nullopt;
  const std::int64_t dts = header.entry[(head - 1) % packet_ring_entries].dts;
  return is_possible_time(dts) ? std::optional(dts) : std::nullopt;
}

std::optional<FrameTimes> PacketRingObserver::newest() const {
  const Header& header = memory_->header();
  const std::uint64_t head = header.head.load(std::memory_order_seq_cst);
  std::optional<FrameTimes> newest;
  for (std::uint64_t back = 1; back <= std::min(head, most_reordered); ++back) {
    const FrameTimes times = copy_of(header.entry[(head - back) % packet_ring_entries].times);
    if (is_possible(times) && (!newest || times.pts > newest->pts)) newest = times;
  }
  return newest;
}

std::optional<std::int64_t> PacketRingObserver::shown_until() const {
  const Header& header = memory_->header();
  const std::uint64_t head = header.head.load(std::memory_order_seq_cst);
  std::optional<std::int64_t> latest;
  for (std::uint64_t back = 1; back <= std::min(head, most_reordered); ++back) {
    const Entry entry = copy_of(header.entry[(head - back) % packet_ring_entries]);
    if (!is_possible(entry.times)) continue;
    latest =
        std::max(latest.value_or(entry.times.pts), entry.times.pts + std::max<std::int64_t>(entry.times.duration, 0));
  }
  return latest;
}

}  // namespace campipe
