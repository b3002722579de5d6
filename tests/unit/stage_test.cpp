// A camera's node in a worker without a GPU: what becomes of its frames in each of its outputs. The master and the
// publisher are this test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "app/config/stream_config.h"
#include "app/control/messages/run_node.h"
#include "app/worker/node.h"
#include "ipc/drop_causes.h"
#include "ipc/encode_block.h"
#include "ipc/rig_page.h"
#include "ipc/shared_block.h"
#include "stages/encoders/key_frame_grid.h"
#include "tests/unit/ring_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::after;
using test::eventually;
using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

constexpr std::int64_t step = 40'000'000;  // between two frames, ns

// Grey frames of one size in a ring of their own.
class Master {
 public:
  Master(int width, int height, std::uint64_t epoch = 1, std::uint64_t base = 0)
      : format_{.width = width, .height = height}, luma_(static_cast<std::uint32_t>(width * height)) {
    FrameRingSpec spec;
    spec.slot_bytes = (luma_ * 3 / 2 + 4095) / 4096 * 4096;
    spec.epoch = epoch;
    spec.base = base;
    writer_ = std::make_unique<FrameRingWriter>(FrameRingMemory::create(spec));
  }

  InputRing ring(double frame_rate = 25, int rotation = 0) const {
    const auto memory = test::reopen(writer_->memory(), FrameRingMemory::Role::reader);
    test::reserve_seat(memory, 0);
    return {memory, 0, frame_rate, rotation};
  }

  void publish(int number) {
    ASSERT_TRUE(writer_->wait_for_reader(after(30s), test::never));
    ASSERT_TRUE(writer_->wait_for_room(after(30s), test::never));
    std::optional<FrameRingWriter::Slot> slot;
    ASSERT_TRUE(eventually([&] { return (slot = writer_->claim()).has_value(); }));
    std::ranges::fill(slot->pixels.first(luma_), static_cast<std::uint8_t>(40 + number));
    std::ranges::fill(slot->pixels.subspan(luma_, luma_ / 2), std::uint8_t{128});
    FrameRecord record;
    record.format = format_;
    record.offset = {0, luma_, luma_ * 5 / 4};
    record.stride = {format_.width, format_.width / 2, format_.width / 2};
    record.times.pts = record.times.media_time = number * step;
    record.times.arrival = record.times.decoded = now_ns();
    ASSERT_EQ(writer_->publish(slot->index, record), FrameRingWriter::Published::yes);
    writer_->unpin(slot->index);
  }
  void publish(int first, int count) {
    for (int number = first; number < first + count; ++number) publish(number);
  }

  void close() { writer_->close(); }
  bool drained() {
    return eventually([this] { return writer_->drained(); });
  }

 private:
  FrameFormat format_;
  std::uint32_t luma_;
  std::unique_ptr<FrameRingWriter> writer_;
};

ResolvedOutput output(const std::string& name, const std::vector<FilterConfig>& filters = {}) {
  ResolvedOutput config;
  config.name = name;
  config.camera = name.substr(0, name.find('/'));
  config.filters = filters;
  return config;
}

std::vector<FilterConfig> to_size(int width, int height) {
  return {{"resize", {{"width", width}, {"height", height}}}};
}

class Worker {
 public:
  explicit Worker(const std::vector<ResolvedOutput>& outputs, DropPolicy drop_policy = DropPolicy::block)
      : page_(RigPage::create(4)) {
    OutputEvents events;
    events.on_packets = [this](OutputId output, const PacketRingMemory& ring, std::uint64_t,
                               const StreamParameters& parameters) {
      const std::lock_guard lock(mutex_);
      rings_[output].push_back({PacketRingMemory::open(duplicate(ring.fd())), parameters});
    };
    events.on_failed = [this](OutputId output, const std::string& reason) {
      const std::lock_guard lock(mutex_);
      failures_[output] = reason;
    };
    messages::RunNode start;
    start.inputs = {EdgeId(0)};
    start.name = outputs.front().camera;
    start.drop_policy = drop_policy;
    for (unsigned number = 0; number < outputs.size(); ++number) {
      messages::EncodedOutput& rendition = start.outputs.emplace_back();
      rendition.output = OutputId(number);
      rendition.config = outputs[number];
      rendition.drop_policy = drop_policy;
    }
    node_ = std::make_unique<Node>(start, Device{}, page_, events, [this] { done_ = true; });
  }

  Node& node() { return *node_; }
  void finish() {
    node_->input().finish();
    ASSERT_TRUE(eventually([this] { return done_.load(); }, 60s));
  }

  std::string failure(unsigned output) {
    const std::lock_guard lock(mutex_);
    return failures_[OutputId(output)];
  }
  std::vector<StreamParameters> streams(unsigned output) {
    const std::lock_guard lock(mutex_);
    std::vector<StreamParameters> streams;
    for (const auto& ring : rings_[OutputId(output)]) streams.push_back(ring.second);
    return streams;
  }
  // The times of all packets of an output that were not taken, in frames.
  std::vector<std::int64_t> packets(unsigned output) { return read(output, false); }
  // Likewise of the key frames.
  std::vector<std::int64_t> key_frames(unsigned output) { return read(output, true); }
  // Of an output's first packet ring, which is there.
  PacketRingReader reader(unsigned output) {
    const std::lock_guard lock(mutex_);
    return PacketRingReader(rings_[OutputId(output)].at(0).first);
  }
  Audience& audience(unsigned output) { return page_.shared(OutputId(output)).audience; }
  std::uint64_t dropped(unsigned output, DropCause cause) {
    return counter(page_.encode(OutputId(output), page_.own()).dropped, cause);
  }

 private:
  std::vector<std::int64_t> read(unsigned output, bool only_keys) {
    const std::lock_guard lock(mutex_);
    std::vector<std::int64_t> times;
    for (const auto& ring : rings_[OutputId(output)]) {
      PacketRingReader reader(ring.first);
      PacketView packet;
      std::uint64_t number = 0;
      while (reader.next(packet, number, Clock::now()) == PacketRingReader::Next::packet) {
        if (packet.key || !only_keys) times.push_back(packet.times.pts / step);
      }
    }
    return times;
  }

  RigPage page_;
  std::mutex mutex_;
  std::map<OutputId, std::vector<std::pair<std::shared_ptr<PacketRingMemory>, StreamParameters>>> rings_;
  std::map<OutputId, std::string> failures_;
  std::atomic<bool> done_{false};
  std::unique_ptr<Node> node_;
};

// All of one ring's frames through a camera with these outputs.
void run(Worker& worker, int count) {
  Master master(320, 240);
  worker.node().input().add(EdgeId(0), master.ring());
  master.publish(0, count);
  master.close();
  worker.finish();
  EXPECT_TRUE(master.drained()) << "a slot was not given back";
}

TEST(Stage, MakesEachOutputFromTheSamePictures) {
  ResolvedOutput small = output("dock/small", to_size(160, 120));
  small.encode.codec = "mjpeg";
  ResolvedOutput reordered = output("dock/late");
  reordered.encode.latency = Latency::normal;
  Worker worker({output("dock"), small, reordered});
  run(worker, 40);
  for (unsigned camera = 0; camera < 3; ++camera) {
    EXPECT_EQ(worker.failure(camera), "");
    EXPECT_EQ(worker.packets(camera).size(), 40U);
    ASSERT_EQ(worker.streams(camera).size(), 1U);
    EXPECT_EQ(worker.streams(camera)[0].format.width, camera == 1 ? 160 : 320);
    EXPECT_EQ(worker.streams(camera)[0].codec, camera == 1 ? "mjpeg" : "h264");
  }
}

TEST(Stage, AnOutputWithARateLeavesOutTheOthersAndCountsThem) {
  ResolvedOutput slow = output("dock/slow");
  slow.rate = 10;
  Worker worker({output("dock"), slow});
  run(worker, 50);
  EXPECT_EQ(worker.packets(0).size(), 50U);
  EXPECT_EQ(worker.dropped(0, DropCause::rate), 0U);
  EXPECT_THAT(worker.packets(1).size(), AllOf(Ge(19U), Le(21U)));
  EXPECT_EQ(worker.packets(1).size() + worker.dropped(1, DropCause::rate), 50U);
  EXPECT_EQ(worker.streams(1).at(0).frame_rate, 10);
}

TEST(Stage, AnOutputThatFailsIsCountedAndLeavesTheOthersWhole) {
  const ResolvedOutput broken =
      output("dock/broken", {{"crop", {{"x", 1000}, {"y", 0}, {"width", 64}, {"height", 64}}}});
  Worker worker({output("dock"), broken, output("dock/small", to_size(160, 120))});
  run(worker, 30);
  EXPECT_THAT(worker.failure(1), HasSubstr("crop"));
  EXPECT_EQ(worker.dropped(1, DropCause::filter_failed) + worker.dropped(1, DropCause::encoder_failed), 30U);
  for (const unsigned camera : {0U, 2U}) {
    EXPECT_EQ(worker.failure(camera), "");
    EXPECT_EQ(worker.packets(camera).size(), 30U);
  }
}

// The camera comes back with frames of another size.
// As the publisher does: gives the room of the next packet back. False: there is none until the deadline.
bool take(PacketRingReader& reader, Deadline deadline) {
  PacketView packet;
  std::uint64_t number = 0;
  if (reader.next(packet, number, deadline) != PacketRingReader::Next::packet) return false;
  reader.release_through(number);
  return true;
}

// The publisher takes the second output's packets, and none of the first's until `behind` of them did not fit.
TEST(Stage, AnOutputWhosePacketsAreNotTakenHoldsNoOther) {
  constexpr int behind = 25;
  constexpr int rest = 20;
  constexpr int full = static_cast<int>(packet_ring_entries);
  ResolvedOutput stuck = output("dock");
  stuck.encode.gop = 10;
  ResolvedOutput small = output("dock/small", to_size(32, 32));
  Worker worker({stuck, small}, DropPolicy::drop);
  Master master(64, 64);
  worker.node().input().add(EdgeId(0), master.ring());
  master.publish(0);
  ASSERT_TRUE(eventually([&] { return !worker.streams(1).empty(); }));
  PacketRingReader others = worker.reader(1);
  ASSERT_TRUE(take(others, after(10s)));
  const auto publish = [&](int first, int count) {
    for (int number = first; number < first + count; ++number) {
      master.publish(number);
      ASSERT_TRUE(take(others, after(10s))) << "frame " << number;
    }
  };
  ASSERT_NO_FATAL_FAILURE(publish(1, full + behind - 1));
  EXPECT_EQ(worker.dropped(0, DropCause::publisher_slow), static_cast<std::uint64_t>(behind));
  PacketRingReader late = worker.reader(0);
  for (int number = 0; number < full; ++number) ASSERT_TRUE(take(late, Clock::now())) << "packet " << number;

  ASSERT_NO_FATAL_FAILURE(publish(full + behind, rest));
  master.close();
  worker.finish();
  const std::vector<std::int64_t> after_gap = worker.packets(0);
  ASSERT_FALSE(after_gap.empty()) << "it goes on once there is room";
  EXPECT_EQ(after_gap.front(), worker.key_frames(0).at(0)) << "what follows a gap begins with a key frame";
  const std::uint64_t lost = worker.dropped(0, DropCause::publisher_slow);
  EXPECT_EQ(full + after_gap.size() + lost, static_cast<std::size_t>(full + behind + rest));
  EXPECT_EQ(worker.dropped(1, DropCause::publisher_slow), 0U);
  EXPECT_EQ(worker.failure(0), "");
}

TEST(Stage, AnEncoderGoesOnWhereItsPicturesStayTheSame) {
  Worker worker({output("dock"), output("dock/small", to_size(160, 120))});
  Master first(320, 240);
  worker.node().input().add(EdgeId(0), first.ring());
  first.publish(0, 10);
  first.close();
  Master second(640, 480, 2, 10);
  worker.node().input().add(EdgeId(0), second.ring());
  second.publish(10, 10);
  second.close();
  worker.finish();
  ASSERT_EQ(worker.streams(0).size(), 2U);
  EXPECT_EQ(worker.streams(0)[1].format.width, 640);
  EXPECT_EQ(worker.streams(1).size(), 1U);
  for (const unsigned camera : {0U, 1U}) EXPECT_EQ(worker.packets(camera).size(), 20U);
  EXPECT_TRUE(first.drained() && second.drained());
}

TEST(Stage, AnEncoderGoesOnThroughSmallChangesOfTheFrameRateOnly) {
  Worker worker({output("dock")});
  int number = 0;
  std::uint64_t epoch = 0;
  for (const double rate : {25.0, 24.0, 0.0, 27.0, 30.0}) {
    Master master(320, 240, ++epoch, static_cast<std::uint64_t>(number));
    worker.node().input().add(EdgeId(0), master.ring(rate));
    master.publish(number, 3);
    number += 3;
    master.close();
    ASSERT_TRUE(master.drained());
  }
  worker.finish();
  ASSERT_EQ(worker.streams(0).size(), 2U);
  EXPECT_EQ(worker.streams(0)[1].frame_rate, 30);
  EXPECT_EQ(worker.packets(0).size(), 15U);
}

TEST(Stage, WhoComesToWatchGetsAKeyFrameUnlessThereIsARecentOne) {
  ResolvedOutput dock = output("dock");
  dock.encode.gop = 60s;
  dock.encode.options = {{"sc_threshold", "0"}};
  Worker worker({dock});
  Master master(320, 240);
  worker.node().input().add(EdgeId(0), master.ring());
  const auto publish = [&](int first, int count) {
    master.publish(first, count);
    return master.drained();
  };
  ASSERT_TRUE(publish(0, 30));
  for (const auto& [first, count] : {std::pair{30, 5}, {35, 25}, {60, 5}}) {
    worker.audience(0).arrivals += 3;
    ASSERT_TRUE(publish(first, count));
  }
  master.close();
  worker.finish();
  EXPECT_THAT(worker.key_frames(0), testing::ElementsAre(0, 30, 60));
}

// Key frames of a time lie at the same frames in all outputs, and those for viewers move none.
TEST(Stage, KeyFramesForViewersLeaveTheOthersWhereTheyAre) {
  ResolvedOutput dock = output("dock");
  dock.encode.gop = 1s;
  dock.encode.options = {{"sc_threshold", "0"}};
  ResolvedOutput small = output("dock/small", to_size(32, 32));
  small.encode = dock.encode;
  Worker worker({dock, small});
  Master master(64, 64);
  worker.node().input().add(EdgeId(0), master.ring());
  const std::int64_t shift = key_frame_shift("dock", 1s).count();
  const int first = static_cast<int>((shift + step - 1'000'001) / step);  // the first frame that is not 1 ms before it
  ASSERT_GT(first, 0);
  master.publish(0, first + 15);
  ASSERT_TRUE(master.drained());
  worker.audience(0).arrivals += 1;
  master.publish(first + 15, 45);
  master.close();
  worker.finish();
  EXPECT_THAT(worker.key_frames(0), testing::ElementsAre(0, first, first + 15, first + 25, first + 50));
  EXPECT_THAT(worker.key_frames(1), testing::ElementsAre(0, first, first + 25, first + 50));
}

TEST(Stage, WhatIsEncodedOnDemandIsOnlyWhileSomebodyWatches) {
  ResolvedOutput browser = output("dock/browser");
  browser.on_demand = true;
  Worker worker({output("dock"), browser});
  Master master(320, 240);
  worker.node().input().add(EdgeId(0), master.ring());
  master.publish(0, 10);
  ASSERT_TRUE(master.drained());
  EXPECT_TRUE(worker.streams(1).empty());
  EXPECT_EQ(worker.dropped(1, DropCause::unwatched), 10U);
  int number = 10;
  for (const std::size_t times : {1U, 2U}) {
    worker.audience(1).watches = 1;
    master.publish(number, 10);
    number += 10;
    ASSERT_TRUE(master.drained());
    EXPECT_EQ(worker.streams(1).size(), times);
    worker.audience(1).watches = 0;
    const std::uint64_t before = worker.dropped(1, DropCause::unwatched);
    // At their pace: the packets of the other output stay in its ring.
    for (auto due = Clock::now(); worker.dropped(1, DropCause::unwatched) == before; due += 40ms) {
      std::this_thread::sleep_until(due);
      master.publish(number++);
      ASSERT_LT(number, 1000);
    }
  }
  master.close();
  worker.finish();
  EXPECT_EQ(worker.packets(0).size(), static_cast<std::size_t>(number));
  EXPECT_EQ(worker.packets(1).size() + worker.dropped(1, DropCause::unwatched), static_cast<std::uint64_t>(number));
}

TEST(Stage, TurnsPicturesUpright) {
  Worker worker({output("dock"), output("dock/small", to_size(160, 120))});
  int number = 0;
  for (const int rotation : {90, 0}) {
    Master master(320, 240, rotation == 90 ? 1 : 2, static_cast<std::uint64_t>(number));
    worker.node().input().add(EdgeId(0), master.ring(25, rotation));
    master.publish(number, 5);
    number += 5;
    master.close();
    ASSERT_TRUE(master.drained());
  }
  worker.finish();
  ASSERT_EQ(worker.streams(0).size(), 2U);
  EXPECT_EQ(worker.streams(0)[0].format.width, 240);
  EXPECT_EQ(worker.streams(0)[0].format.height, 320);
  EXPECT_EQ(worker.streams(0)[1].format.width, 320);
  EXPECT_EQ(worker.streams(1).size(), 1U) << "it is resized to the same size";
}

TEST(Stage, WritesSnapshotsOfWhatTheFiltersMake) {
  std::string folder = (std::filesystem::temp_directory_path() / "campipe-stage-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ResolvedOutput config = output("dock", to_size(160, 120));
  config.snapshot = SnapshotConfig{folder + "/{camera}.jpg", 10ms};
  Worker worker({config});
  run(worker, 5);
  EXPECT_GT(std::filesystem::file_size(folder + "/dock.jpg"), 100U);
  std::filesystem::remove_all(folder);
}

std::vector<int> taken(double rate, const std::vector<std::int64_t>& times) {
  RateLimit limit(rate);
  std::vector<int> numbers;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (limit.takes(times[i])) numbers.push_back(static_cast<int>(i));
  }
  return numbers;
}

std::vector<std::int64_t> at_rate(double rate, int count) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < count; ++i) times.push_back(static_cast<std::int64_t>(i * 1000 / rate) * 1'000'000);
  return times;
}

TEST(RateLimit, TakesEvenlyAndNoMoreThanItSays) {
  EXPECT_EQ(taken(0, at_rate(25, 50)).size(), 50U);
  EXPECT_EQ(taken(25, at_rate(25, 50)).size(), 50U);
  EXPECT_EQ(taken(60, at_rate(25, 50)).size(), 50U);
  EXPECT_EQ(taken(30, at_rate(30, 300)).size(), 300U) << "whole milliseconds";
  EXPECT_EQ(taken(25, at_rate(30, 300)).size(), 250U);
  EXPECT_EQ(taken(1, at_rate(25, 100)), (std::vector<int>{0, 25, 50, 75}));
  EXPECT_EQ(taken(12.5, at_rate(25, 6)), (std::vector<int>{0, 2, 4}));
}

TEST(RateLimit, DoesNotMakeUpForAGap) {
  std::vector<std::int64_t> times = at_rate(25, 10);
  for (const std::int64_t time : at_rate(25, 10)) times.push_back(time + 60'000'000'000);
  EXPECT_EQ(taken(12.5, times), (std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
