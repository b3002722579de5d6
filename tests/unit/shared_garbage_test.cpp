// Every word of the memory that processes share is set to what it must never be, one after another, and everybody who
// reads it goes on: nobody reads outside of the memory, waits for ever or throws, and no frame or packet is handed out
// that does not lie where it may. Also built with AddressSanitizer, this finds every index that is believed.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "app/control/record_state.h"
#include "core/error.h"
#include "core/metadata_types.h"
#include "ipc/frame_ring_layout.h"
#include "ipc/packet_ring.h"
#include "ipc/publish_block.h"
#include "ipc/replay_reader.h"
#include "ipc/rig_page.h"
#include "ipc/ring_checks.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using Next = FrameRingReader::Next;

constexpr std::array<std::uint64_t, 8> garbage{
    0,
    1,
    0xffff'ffff'ffff'ffff,
    0x8000'0000'0000'0000,
    0x7fff'ffff'ffff'ffff,
    0x8000'0000'8000'0000,
    0x7fff'ffff'7fff'ffff,
    0x0000'0001'0000'0041,
};

// Each word of a part of the memory with each value, and likewise each half of a word.
template <typename Visit>
void each_poke(std::size_t begin, std::size_t size, Visit visit) {
  for (std::size_t at = begin; at + 8 <= begin + size; at += 8) {
    for (const std::uint64_t value : garbage) {
      SCOPED_TRACE("byte " + std::to_string(at) + " = " + std::to_string(value));
      visit(at, value, std::size_t{8});
      visit(at, value, std::size_t{4});
      visit(at + 4, value, std::size_t{4});
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

void poke(int fd, std::size_t at, std::uint64_t value, std::size_t size) {
  const Mapping memory(fd, Mapping::Access::read_write);
  std::memcpy(memory.bytes().data() + at, &value, size);
}

// All that a worker does with a lease, as far as memory goes.
void expect_inside(const FrameRingReader::Lease& lease, const FrameRingMemory& memory) {
  const FrameView& view = lease.frame.view;
  ASSERT_LT(lease.slot, memory.description().slots);
  const auto slot = memory.pixels(lease.slot);
  for (int plane = 0; plane < plane_count(view.format.pixels); ++plane) {
    const auto p = static_cast<std::size_t>(plane);
    const PlaneSize size = plane_size(view.format, plane);
    ASSERT_TRUE(size.width > 0 && size.height > 0 && view.stride[p] >= size.width);
    const std::uint8_t* last = view.data[p] + std::int64_t{view.stride[p]} * (size.height - 1) + (size.width - 1);
    ASSERT_GE(view.data[p], slot.data());
    ASSERT_LT(last, slot.data() + slot.size());
  }
}

class FrameRingGarbage : public testing::Test {
 protected:
  void SetUp() override {
    memory_ = FrameRingMemory::create({.slots = 3, .slot_bytes = picture_bytes});
    writer_ = std::make_unique<FrameRingWriter>(memory_);
    writer_->on_faulty_reader([this] { ++reports_; });
    shared_ = reopen(*memory_, FrameRingMemory::Role::reader);
    reader_ = std::make_unique<FrameRingReader>(shared_, 1, std::chrono::nanoseconds(0));
    reserve_seat(shared_, 1);
    reader_->attach(true, 2);
    ASSERT_TRUE(write_frame(*writer_, ++number_));
    ASSERT_TRUE(write_frame(*writer_, ++number_));
    ASSERT_EQ(read(lease_), Next::frame);
  }

  Next read(FrameRingReader::Lease& lease) {
    const Next next = reader_->next(lease, Clock::now());
    if (next == Next::frame) expect_inside(lease, *shared_);
    return next;
  }

  void write() {
    writer_->wait_for_reader(Clock::now(), never);
    writer_->wait_for_room(Clock::now(), never);
    if (write_frame(*writer_, number_ + 1)) ++number_;
    writer_->service();
  }

  std::shared_ptr<FrameRingMemory> memory_;
  std::shared_ptr<FrameRingMemory> shared_;
  std::unique_ptr<FrameRingWriter> writer_;
  std::unique_ptr<FrameRingReader> reader_;
  FrameRingReader::Lease lease_;
  std::uint64_t number_ = 0;
  int reports_ = 0;
};

TEST_F(FrameRingGarbage, NobodyLeavesTheMemory) {
  const auto visit = [this](std::size_t at, std::uint64_t value, std::size_t size) {
    SetUp();
    poke(memory_->control_fd(), at, value, size);
    FrameRingReader::Lease lease;
    read(lease);
    write();
    read(lease);
    lease = {};
    lease_ = {};
    write();
    read(lease);
    FrameRingObserver observer(shared_);
    EXPECT_LE(observer.published(), ring::largest_sequence);
    static_cast<void>(observer.frames_of(1));
    EXPECT_LE(observer.pending_for(1), shared_->slots());
    observer.turn_out_strangers(1U << 1);
    EXPECT_TRUE(is_possible_time(observer.last_pts().value_or(0)));
    lease = {};
    static_cast<void>(writer_->drained());
    try {
      reopen(*memory_, FrameRingMemory::Role::observer);
      const auto again = reopen(*memory_, FrameRingMemory::Role::reader);
      FrameRingReader successor(again, 2);
      reserve_seat(again, 2);
      successor.attach(true, 2);
      write();
      FrameRingReader::Lease second;
      if (successor.next(second, Clock::now()) == Next::frame) expect_inside(second, *again);
    } catch (const Error&) {  // it does not say any more what it is
    }
    writer_->close();
  };
  SetUp();
  // Of the arrays only what this ring of three slots uses.
  const ring::Header& header = memory_->header();
  const auto place_of = [&](const auto& part) {
    return static_cast<std::size_t>(reinterpret_cast<const std::uint8_t*>(&part) -
                                    reinterpret_cast<const std::uint8_t*>(&header));
  };
  each_poke(0, place_of(header.index) + 64, visit);
  each_poke(place_of(header.pts), 64, visit);
  each_poke(place_of(header.readers), 4 * sizeof(ring::Reader), visit);
  each_poke(place_of(header.done[1]), 64, visit);
  each_poke(place_of(header.slot), 4 * sizeof(ring::Slot), visit);
}

// What only the writer writes is put right, and reported, whichever word it is.
TEST_F(FrameRingGarbage, TheWriterRestoresItsWords) {
  ring::Header& header = shared_->header();
  const auto restores = [&](auto& word, auto wrong) {
    const auto right = word.load();
    word.store(wrong);
    writer_->service();
    EXPECT_EQ(word.load(), right);
    return std::exchange(reports_, 0) > 0;
  };
  EXPECT_TRUE(restores(header.head, 77U));
  EXPECT_TRUE(restores(header.writer, WriterState::closed));
  EXPECT_TRUE(restores(header.writer, WriterState::gone));
  EXPECT_TRUE(restores(header.slot[0].control, std::uint64_t{0x1234'5678'0002'0000}));
  EXPECT_TRUE(restores(header.slot[2].control, ring::Control{0, ring::SlotState::writing, 0, 0}.pack()));
  header.description.slots = 64;
  writer_->service();
  EXPECT_EQ(header.description.slots, 3U);
  EXPECT_GT(std::exchange(reports_, 0), 0);
  writer_->service();
  EXPECT_EQ(reports_, 0) << "and all is well";
  EXPECT_TRUE(write_frame(*writer_, ++number_));
  FrameRingReader::Lease lease;
  ASSERT_EQ(read(lease), Next::frame);
  EXPECT_TRUE(intact(lease));
}

TEST_F(FrameRingGarbage, AReaderThatSeesWhatCannotBeStops) {
  const auto breaks = [&](auto damage) {
    SetUp();
    damage();
    FrameRingReader::Lease lease;
    Next next = read(lease);
    if (next == Next::frame) next = read(lease);
    return next == Next::broken && read(lease) == Next::broken;
  };
  EXPECT_TRUE(breaks([&] { memory_->header().index[2].store(std::uint64_t{2} << 32 | 64); })) << "a slot";
  EXPECT_TRUE(breaks([&] { memory_->header().index[2].store(std::uint64_t{3} << 32); })) << "another frame";
  EXPECT_TRUE(breaks([&] { memory_->header().head.store(0); })) << "backwards";
  EXPECT_TRUE(breaks([&] { memory_->header().readers[1].state.store(ReaderState::empty); })) << "its place";
  for (const auto damage :
       {+[](FrameRecord& record) { record.offset[2] = picture_bytes; },
        +[](FrameRecord& record) { record.offset[0] = 0xffff'ffff; },
        +[](FrameRecord& record) { record.stride[0] = 0x7fff'ffff; },
        +[](FrameRecord& record) { record.stride[1] = -1; }, +[](FrameRecord& record) { record.stride[1] = 0; },
        +[](FrameRecord& record) { record.format.width = 0x7fff'ffff; },
        +[](FrameRecord& record) { record.format.height = -2; },
        +[](FrameRecord& record) { record.format.pixels = static_cast<PixelFormat>(2); },
        +[](FrameRecord& record) { record.format.sample_aspect_den = 0; },
        +[](FrameRecord& record) { record.ready = ReadySignal::timeline; },
        +[](FrameRecord& record) { record.times.decoded = std::int64_t{-1} << 63; },
        +[](FrameRecord& record) { record.times.published = now_ns() + 60'000'000'000; },
        +[](FrameRecord& record) { *reinterpret_cast<std::uint32_t*>(&record.metadata) = 7; }}) {
    EXPECT_TRUE(breaks([&] { damage(memory_->header().slot[1].record); }));
  }
}

// Whoever gets a frame makes frames as large: of what no decoder gives, though it lay in the slot, nothing is made.
TEST(FrameRingFormats, NoneIsLargerThanADecoderGives) {
  constexpr std::uint64_t any_room = std::uint64_t{1} << 40;
  FrameRecord record;
  const auto fits = [&](int width, int height) {
    record.format.width = width;
    record.format.height = height;
    record.stride = {width, width, width};
    return is_possible(record, any_room);
  };
  EXPECT_TRUE(fits(16384, 16384));
  EXPECT_TRUE(fits(65535, 16));
  EXPECT_FALSE(fits(65535, 65535));
  EXPECT_FALSE(fits(65535, 8192));
  const auto opens = [](const FrameRingSpec& spec) {
    const auto ring = FrameRingMemory::create(spec);
    try {
      return reopen(*ring, FrameRingMemory::Role::reader) != nullptr;
    } catch (const Error&) {
      return false;
    }
  };
  const FrameFormat huge{.width = 65535, .height = 65535};
  EXPECT_TRUE(opens({.slots = 2, .slot_bytes = 4096}));
  EXPECT_FALSE(opens({.slots = 2, .slot_bytes = 4096, .expected = huge}));
  EXPECT_FALSE(opens({.slots = 2, .slot_bytes = 4096, .band_source = {huge, 0}}));
}

// A number that no filter enters breaks no ring: whoever asks for it gets nothing.
TEST_F(FrameRingGarbage, DataThatCannotBeAreNotThere) {
  memory_->header().slot[1].record.metadata.set(
      MotionScore{.moving = std::numeric_limits<float>::quiet_NaN(), .score = 0, .threshold = 1});
  FrameRingReader::Lease lease;
  ASSERT_EQ(read(lease), Next::frame);
  EXPECT_FALSE(lease.frame.metadata.bytes().empty());
  EXPECT_EQ(lease.frame.metadata.get<MotionScore>(), std::nullopt);
}

TEST_F(FrameRingGarbage, AReaderNobodySentIsTurnedOut) {
  shared_->header().readers[9].state = ReaderState::live;
  FrameRingObserver(shared_).turn_out_strangers(1U << 1);
  writer_->service();
  EXPECT_EQ(shared_->header().readers[9].state.load(), ReaderState::empty);
  EXPECT_EQ(shared_->header().readers[1].state.load(), ReaderState::live);
}

class PacketRingGarbage : public testing::Test {
 protected:
  static constexpr std::size_t capacity = 4096;
  static constexpr std::size_t metadata_bytes = 4 + sizeof(MotionScore);  // of each packet

  void SetUp() override {
    memory_ = PacketRingMemory::create(capacity, 1, 0);
    writer_ = std::make_unique<PacketRingWriter>(memory_);
    writer_->on_faulty_reader([this] { ++reports_; });
    shared_ = PacketRingMemory::open(duplicate(memory_->fd()));
    reader_ = std::make_unique<PacketRingReader>(shared_);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(push());
    ASSERT_EQ(read(*reader_), PacketRingReader::Next::packet);
    reader_->release_through(1);
  }

  bool push() {
    const std::vector<std::uint8_t> bytes(900, 7);
    PacketView packet = packet_of(1, bytes, true);
    packet.metadata.set(MotionScore{.moving = 0.5F});
    return writer_->push(packet, Clock::now(), never);
  }

  PacketRingReader::Next read(PacketRingReader& reader) {
    PacketView packet;
    std::uint64_t number = 0;
    const auto next = reader.next(packet, number, Clock::now());
    if (next != PacketRingReader::Next::packet) return next;
    const std::uint8_t* begin = shared_->bytes();
    const bool inside = &reader != reader_.get() || (packet.data.data() >= begin && packet.data.size() <= capacity &&
                                                     packet.data.data() + packet.data.size() <= begin + capacity);
    EXPECT_TRUE(inside);
    std::uint64_t sum = 0;
    for (const std::uint8_t byte : packet.data) sum += byte;
    EXPECT_LE(sum, capacity * 255U);
    return next;
  }

  // As one that decodes reads it.
  void replay() {
    ReplayReader reader(PacketRingMemory::open(duplicate(memory_->fd())));
    PacketView packet;
    std::uint64_t number = 0;
    for (int i = 0; i < 4 && reader.next(packet, number, Clock::now()) == ReplayReader::Next::packet; ++i) {
      reader.shown(number);
    }
    reader.all_shown();
    EXPECT_LE(reader.given_up(), packet_ring_entries);
  }

  std::shared_ptr<PacketRingMemory> memory_;
  std::shared_ptr<PacketRingMemory> shared_;
  std::unique_ptr<PacketRingWriter> writer_;
  std::unique_ptr<PacketRingReader> reader_;
  int reports_ = 0;
};

TEST_F(PacketRingGarbage, NobodyLeavesTheMemory) {
  const std::size_t first_entries = 64 * 4 + 3 * 128;  // control words, and the packets that are in it
  each_poke(0, first_entries, [this](std::size_t at, std::uint64_t value, std::size_t size) {
    SetUp();
    poke(memory_->fd(), at, value, size);
    read(*reader_);
    static_cast<void>(reader_->fill() + reader_->writer_waits());
    EXPECT_LE(reader_->fill(), 1.0);
    EXPECT_GE(reader_->fill(), 0.0);
    push();
    read(*reader_);
    reader_->release_through(3);
    for (int i = 0; i < 4; ++i) push();
    read(*reader_);
    PacketRingObserver observer(shared_);
    EXPECT_TRUE(is_possible_time(observer.last_dts().value_or(0)));
    static_cast<void>(observer.published());
    try {
      PacketRingReader successor(PacketRingMemory::open(duplicate(memory_->fd())));
      for (int i = 0; i < 4; ++i) read(successor);
      successor.release_through(4);
      push();
      replay();
    } catch (const Error&) {  // it does not say any more what it is
    }
    observer.mark_writer_gone();
    read(*reader_);
  });
}

// A ring of the next epoch goes on from what the observer reads.
TEST_F(PacketRingGarbage, ANextRingCanBeOpenedWhateverTheHead) {
  const std::size_t head_at = 64;  // the header's second line
  for (const std::uint64_t wrong : {~std::uint64_t{0}, std::uint64_t{1} << 62, std::uint64_t{1} << 63}) {
    auto ring = PacketRingMemory::create(capacity, 1, 5);
    for (std::uint64_t epoch = 2; epoch < 4; ++epoch) {
      poke(ring->fd(), head_at, wrong, 8);
      ring = PacketRingMemory::create(capacity, epoch, PacketRingObserver(ring).published());
      EXPECT_NO_THROW(PacketRingMemory::open(duplicate(ring->fd()))) << wrong;
    }
  }
}

// The second packet's metadata lie before its data.
TEST_F(PacketRingGarbage, AReaderStopsAtMetadataThatCannotBe) {
  const std::size_t size = metadata_bytes + 900;
  for (const std::uint8_t wrong : {std::uint8_t{13}, std::uint8_t{255}}) {
    SetUp();
    shared_->bytes()[size + 2] = wrong;  // the entry's own size
    EXPECT_EQ(read(*reader_), PacketRingReader::Next::broken);
    EXPECT_EQ(read(*reader_), PacketRingReader::Next::broken);
  }
}

// The room that a reader gives back is what it was given, and never given back twice.
TEST_F(PacketRingGarbage, TheWriterTakesBackNoMoreThanItWrote) {
  const std::size_t released_at = 64 * 2;  // the header's third line
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{5}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    SetUp();
    ASSERT_TRUE(push());  // it has seen that the first was given back
    reports_ = 0;
    poke(memory_->fd(), released_at, wrong, 8);
    while (push()) continue;
    EXPECT_EQ(reports_, 1) << wrong;
    EXPECT_EQ(read(*reader_), PacketRingReader::Next::packet) << "what was not given back is still there";
  }
}

std::string path_of(const RecordState& state) {
  const auto file = load_record_file(state);
  return file ? file->path : "";
}

TEST(RigPageGarbage, ARecordingsStateIsNumbersAndAPathThatEnds) {
  const RigPage page = RigPage::create(1);
  RecordState& state = page.publish(OutputId(0)).record;
  for (const std::uint32_t current : {0U, 1U, 2U, 3U, 0x7fff'ffffU, 0x8000'0000U, 0xffff'ffffU}) {
    state.current = current;
    for (RecordState::Copy& copy : state.copy) copy.file.path.fill('x');
    EXPECT_EQ(load_record_progress(state).has_value(), current == 1 || current == 2);
    EXPECT_EQ(path_of(state).size(), current == 1 || current == 2 ? state.copy[0].file.path.size() : 0) << "no end";
    for (RecordState::Copy& copy : state.copy) copy.file.path[5] = 0;
    EXPECT_EQ(path_of(state), current == 1 || current == 2 ? "xxxxx" : "");
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
