// Rings that GPUs fill and read, between real processes: every kind of memory, both ready signals, one GPU and two.
// Nothing may be read before it is filled or filled while it is read, no death may lose a slot, and no memory stays.
//
//   gpu_ring_test --latency     prints what a hand-over costs (gpu_ring_latency.cpp)
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string_view>
#include <tuple>

#include "ipc/gpu_pixels.h"
#include "tests/faults/peer_process.h"
#include "tests/gpu/gpu_ring_latency.h"
#include "tests/gpu/gpu_ring_peer.h"
#include "tests/gpu/gpu_ring_work.h"

namespace campipe::test {
namespace {

using Role = FrameRingMemory::Role;
using Next = FrameRingReader::Next;

constexpr std::uint64_t frames = 300;
constexpr auto fill_time = microseconds(300);
constexpr std::int64_t memory_tolerance = 8 << 20;

// two_gpus_seen_alone: the reader sees only its own, as a worker does.
enum class Placement : std::uint8_t { one_gpu, two_gpus, two_gpus_seen_alone };

std::string name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::cuda_vmm:
      return "vmm";
    case MemoryKind::cuda_legacy:
      return "legacy";
    case MemoryKind::cuda_fabric:
      return "fabric";
    default:
      return "host";
  }
}

std::string name_of(ReadySignal ready) { return ready == ReadySignal::timeline ? "timeline" : "event"; }

std::string name_of(Placement placement) {
  return placement == Placement::one_gpu ? "one_gpu" : placement == Placement::two_gpus ? "two_gpus" : "two_seen_alone";
}

// Why there is no fabric memory; empty: there is.
std::string fabric_problem(const Device& gpu) {
  try {
    GpuPixels::create(MemoryKind::cuda_fabric, gpu, 1);
    return {};
  } catch (const GpuError& error) {
    return error.what();
  }
}

std::int64_t free_memory(const Device& gpu) {
  use_gpu(gpu);
  std::size_t free = 0;
  std::size_t total = 0;
  cuda_check(cudaMemGetInfo(&free, &total), "memory");
  return static_cast<std::int64_t>(free);
}

// Notes how much memory the GPUs have, and expects as much at the end.
class MemoryWatch {
 public:
  explicit MemoryWatch(const std::vector<Device>& gpus) {
    for (const Device& gpu : gpus) before_.emplace_back(gpu, free_memory(gpu));
  }
  void expect_all_back() const {
    for (const auto& [gpu, before] : before_) {
      const auto is_back = [was = before, of = gpu] { return std::abs(free_memory(of) - was) <= memory_tolerance; };
      EXPECT_TRUE(eventually(is_back)) << (before - free_memory(gpu)) / 1024 << " KiB are missing on "
                                       << to_string(gpu);
    }
  }

 private:
  std::vector<std::pair<Device, std::int64_t>> before_;
};

// A ring of a process that writes it, as its supervisor sees it.
struct WrittenRing {
  std::unique_ptr<Peer> writer;
  std::shared_ptr<FrameRingMemory> memory;
};

using Case = std::tuple<MemoryKind, ReadySignal, Placement>;

class GpuRing : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::tie(memory_kind_, ready_, placement_) = GetParam();
    gpus_ = visible_gpus();
    if (gpus_.empty()) GTEST_SKIP() << "this machine has no NVIDIA GPU";
    if (placement_ != Placement::one_gpu && gpus_.size() < 2) GTEST_SKIP() << "this machine has one GPU";
    if (memory_kind_ == MemoryKind::cuda_fabric) {
      const std::string problem = fabric_problem(gpus_[0]);
      if (!problem.empty()) GTEST_SKIP() << problem;
    }
    watch_ = std::make_unique<MemoryWatch>(gpus_);
  }
  void TearDown() override {
    if (watch_) watch_->expect_all_back();
  }

  [[nodiscard]] std::string writer_gpu() const { return to_string(gpus_[0]); }
  [[nodiscard]] std::string reader_gpu() const { return to_string(gpus_[placement_ == Placement::one_gpu ? 0 : 1]); }
  [[nodiscard]] std::string seen() const { return placement_ == Placement::two_gpus_seen_alone ? "own" : "all"; }

  [[nodiscard]] WrittenRing start_writer(microseconds fill, std::uint64_t last) const {
    WrittenRing ring;
    ring.writer = std::make_unique<Peer>(
        own_program, std::vector<std::string>{"gpu-writer", word_of(memory_kind_), word_of(ready_), writer_gpu(),
                                              std::to_string(fill.count()), std::to_string(last)});
    auto message = ring.writer->receive();
    if (!message || message->fds.empty()) throw Error("the writer sent no ring");
    ring.memory = open_ring(std::move(*message), Role::observer);
    return ring;
  }

  // Comes back when frames are published for it.
  [[nodiscard]] std::unique_ptr<Peer> start_reader(const WrittenRing& ring, unsigned place, bool blocking) const {
    auto reader = std::make_unique<Peer>(
        own_program, std::vector<std::string>{"gpu-reader", std::to_string(place), blocking ? "block" : "drop",
                                              reader_gpu(), seen()});
    hand_over(*reader, ring, place);
    return reader;
  }

  static void hand_over(Peer& reader, const WrittenRing& ring, unsigned place) {
    const FrameRingObserver observer(ring.memory);
    EXPECT_TRUE(reader.channel().send("ring", {}, descriptors_of(*ring.memory)));
    EXPECT_TRUE(eventually([&] { return observer.reader_state(place) == ReaderState::live; }, patience));
  }

  static void expect_end(Peer& peer, const std::string& who) {
    EXPECT_TRUE(peer.wait_gone(seconds(40)).has_value() && peer.ended_well()) << who;
  }

  MemoryKind memory_kind_{};
  ReadySignal ready_{};
  Placement placement_{};
  std::vector<Device> gpus_;
  std::unique_ptr<MemoryWatch> watch_;
};

TEST_P(GpuRing, EveryPictureIsWholeWhenItIsReadAndUntilItIsGivenBack) {
  WrittenRing ring = start_writer(fill_time, frames);
  const auto blocking = start_reader(ring, 0, true);
  const auto dropping = start_reader(ring, 1, false);
  ASSERT_FALSE(HasFailure());
  ASSERT_TRUE(ring.writer->channel().send("go", {}));
  expect_end(*ring.writer, "the writer");
  expect_end(*blocking, "the blocking reader");
  expect_end(*dropping, "the dropping reader");
  expect_sound(blocking->journal(), true, "the blocking reader");
  expect_sound(dropping->journal(), false, "the dropping reader");
  EXPECT_EQ(blocking->delivered(), frames);
  EXPECT_EQ(last_number(blocking->journal()), frames);
  EXPECT_EQ(last_number(dropping->journal()), frames);
}

// The writer's end shows that no slot was lost: it claims all of them.
TEST_P(GpuRing, GoesOnWhenAReaderIsKilledAtWork) {
  WrittenRing ring = start_writer(fill_time, 1'000'000);
  FrameRingObserver observer(ring.memory);
  const auto survivor = start_reader(ring, 0, false);
  ASSERT_FALSE(HasFailure());
  ASSERT_TRUE(ring.writer->channel().send("go", {}));
  std::uint64_t last_of_previous = 0;
  for (int round = 0; round < 3; ++round) {
    const auto mortal = start_reader(ring, 1, false);
    ASSERT_TRUE(eventually([&] { return mortal->delivered() >= 30; }));
    const std::uint64_t before = observer.published();
    const std::int64_t gone = mortal->kill();
    EXPECT_GT(observer.published(), before) << "the writer waits for the dead";
    observer.mark_reader_gone(1);
    ASSERT_TRUE(eventually([&] { return observer.reader_state(1) == ReaderState::empty; }));
    ASSERT_TRUE(eventually([&] { return last_number(survivor->journal()) > before + 50; }));
    EXPECT_LE(longest_gap(survivor->journal(), gone), 1'000'000'000);
    EXPECT_GT(first_number(mortal->journal()), last_of_previous) << "delivered twice";
    expect_sound(mortal->journal(), false, "the killed reader");
    last_of_previous = last_number(mortal->journal());
  }
  ASSERT_TRUE(ring.writer->channel().send("stop", {}));
  expect_end(*ring.writer, "the writer");
  expect_end(*survivor, "the survivor");
  expect_sound(survivor->journal(), false, "the survivor");
  EXPECT_EQ(last_number(survivor->journal()), observer.published());
}

TEST_P(GpuRing, AReaderLearnsWhetherItCanGoOnWhenTheWriterWasKilledBeforeAFillWasComplete) {
  WrittenRing ring = start_writer(seconds(30), 1'000'000);
  Peer waiter(own_program, {"gpu-waiter", reader_gpu(), seen()});
  hand_over(waiter, ring, 0);
  ASSERT_FALSE(HasFailure());
  ASSERT_TRUE(ring.writer->channel().send("go", {}));
  const auto waiting = waiter.receive();
  ASSERT_TRUE(waiting && waiting->type == "waiting");
  ring.writer->kill();
  FrameRingObserver(ring.memory).mark_writer_gone();
  const auto told = waiter.receive();
  ASSERT_TRUE(told && told->type == "released");
  EXPECT_EQ(told->body.at("released").get<bool>(), ready_ == ReadySignal::timeline);
  if (ready_ == ReadySignal::timeline) {
    EXPECT_TRUE(told->body.at("pending").get<bool>());
    EXPECT_TRUE(told->body.at("went_on").get<bool>()) << "released, and waits all the same";
  }
  std::cout << "after the writer's death: " << told->body.dump() << '\n';
  expect_end(waiter, "the reader");
}

INSTANTIATE_TEST_SUITE_P(Of, GpuRing,
                         testing::Combine(testing::Values(MemoryKind::host, MemoryKind::cuda_vmm,
                                                          MemoryKind::cuda_legacy, MemoryKind::cuda_fabric),
                                          testing::Values(ReadySignal::ipc_event, ReadySignal::timeline),
                                          testing::Values(Placement::one_gpu, Placement::two_gpus,
                                                          Placement::two_gpus_seen_alone)),
                         [](const testing::TestParamInfo<Case>& of) {
                           return name_of(std::get<0>(of.param)) + "_" + name_of(std::get<1>(of.param)) + "_" +
                                  name_of(std::get<2>(of.param));
                         });

// ---- what one process can see

class GpuRingAlone : public testing::TestWithParam<ReadySignal> {
 protected:
  void SetUp() override {
    const auto gpus = visible_gpus();
    if (gpus.empty()) GTEST_SKIP() << "this machine has no NVIDIA GPU";
    gpu_ = gpus[0];
    use_gpu(gpu_);
  }

  [[nodiscard]] FrameRingSpec spec(MemoryKind kind, unsigned slots) const {
    return {.slots = slots, .slot_bytes = gpu_slot_bytes, .memory = kind, .device = gpu_, .ready = GetParam()};
  }

  Device gpu_;
};

TEST_P(GpuRingAlone, ASlotIsNotClaimedBeforeItsLastFillIsComplete) {
  FrameRingWriter writer(FrameRingMemory::create(spec(MemoryKind::cuda_vmm, 2)));
  const CudaStream stream = make_cuda_stream();
  const auto slot = writer.claim();
  ASSERT_TRUE(slot);
  enqueue_fill(*slot, 1, milliseconds(200), stream.get());
  writer.filled(slot->index, stream.get());
  const Deadline filled = after(milliseconds(200));
  writer.unpin(slot->index);  // as after a frame that nobody wants
  const auto other = writer.claim();
  ASSERT_TRUE(other);
  EXPECT_NE(other->index, slot->index);
  EXPECT_FALSE(writer.claim());
  EXPECT_LT(Clock::now(), filled) << "claiming waited for the GPU";
  std::optional<FrameRingWriter::Slot> again;
  ASSERT_TRUE(eventually([&] { return (again = writer.claim()).has_value(); }));
  EXPECT_EQ(again->index, slot->index);
}

TEST_P(GpuRingAlone, RingsComeAndGoWithoutLeavingMemory) {
  for (const MemoryKind kind : {MemoryKind::host, MemoryKind::cuda_vmm, MemoryKind::cuda_legacy}) {
    FrameRingMemory::create(spec(kind, 64));  // whatever the first one of a process costs
    const MemoryWatch watch({gpu_});
    for (int round = 0; round < 20; ++round) FrameRingMemory::create(spec(kind, 64));
    watch.expect_all_back();
  }
}

INSTANTIATE_TEST_SUITE_P(With, GpuRingAlone, testing::Values(ReadySignal::ipc_event, ReadySignal::timeline),
                         [](const auto& of) { return name_of(of.param); });

// What the CPU decoded, for filters on a GPU: nothing to wait for, and given back behind the copy.
TEST(GpuReaderOfACpuRing, CopiesWhatTheCpuWrote) {
  const auto gpus = visible_gpus();
  if (gpus.empty()) GTEST_SKIP() << "this machine has no NVIDIA GPU";
  FrameRingWriter writer(FrameRingMemory::create({.slots = 4, .slot_bytes = picture_bytes}));
  const auto memory = FrameRingMemory::open(duplicate(writer.memory().control_fd()),
                                            duplicate(writer.memory().pixel_fd()), Role::reader, gpus[0]);
  FrameRingReader reader(memory, 0);
  reserve_seat(memory, 0);
  reader.attach(true, 2);
  use_gpu(gpus[0]);
  const CudaStream stream = make_cuda_stream();
  const DeviceBytes on_device = allocate_on_device(picture_bytes);
  const PinnedBytes back = allocate_pinned(picture_bytes);
  for (std::uint64_t number = 1; number <= 50; ++number) {
    ASSERT_TRUE(writer.wait_for_room(after(seconds(5)), never));
    ASSERT_TRUE(eventually([&] { return write_frame(writer, number); }));
    FrameRingReader::Lease lease;
    ASSERT_EQ(reader.next(lease, after(seconds(5))), Next::frame);
    EXPECT_EQ(lease.ready, ReadySignal::immediate);
    reader.use_on(stream.get(), lease);
    const auto pixels = bytes_of(lease);
    cuda_check(cudaMemcpyAsync(on_device.get(), pixels.data(), pixels.size(), cudaMemcpyDefault, stream.get()), "copy");
    lease = {};
    cuda_check(cudaMemcpyAsync(back.get(), on_device.get(), picture_bytes, cudaMemcpyDefault, stream.get()), "back");
    const CudaEvent through = make_event();
    record(through, stream);
    ASSERT_TRUE(comes(through, seconds(5)));
    EXPECT_TRUE(has_pattern({back.get(), picture_bytes}, number)) << "frame " << number;
  }
  EXPECT_TRUE(eventually([&] { return writer.drained(); }));
}

}  // namespace
}  // namespace campipe::test

int main(int count, char** values) {
  using namespace campipe::test;
  if (std::string_view(values[0]) == "ring_peer") return peer_main(count, values, run_gpu_ring_peer);
  if (count == 2 && std::string_view(values[1]) == "--latency") return print_latency();
  testing::InitGoogleTest(&count, values);
  return RUN_ALL_TESTS();
}
