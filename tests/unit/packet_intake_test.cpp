// The two halves of a camera's ingest with a packet ring between them: whoever decodes may die at any frame, and its
// successor goes on without losing or doubling one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "app/control/thread_scope.h"
#include "app/master/packet_intake.h"
#include "app/rings/packet_feed.h"
#include "app/source/packet_clock.h"
#include "app/source/source_connection.h"
#include "core/test_pattern.h"
#include "ipc/decode_blocks.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"
#include "ipc/source_blocks.h"
#include "tests/integration/clips.h"
#include "tests/unit/ring_test_support.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using test::after;
using test::seconds;

constexpr std::size_t large_ring = std::size_t{8} << 20;
constexpr int most_deaths = 200;  // more than a clip has frames

IngestStart start_of(const fs::path& file) {
  IngestStart start;
  start.config.name = "cam";
  start.config.source = {.url = file.string(), .pace = Pace::fast};
  return start;
}

// Finds frames corrupt that came in some packets.
class StrictDecoder final : public Decoder {
 public:
  StrictDecoder(std::unique_ptr<Decoder> real, std::set<std::int64_t> damaged)
      : real_(std::move(real)), damaged_(std::move(damaged)) {}

  SlotNeeds needs() const override { return real_->needs(); }
  void write_to(std::shared_ptr<FrameRingWriter> ring) override { real_->write_to(std::move(ring)); }
  bool send(const AVPacket* packet, std::int64_t utc) override { return real_->send(packet, utc); }
  Receive receive(DecodedFrame& frame) override {
    const Receive received = real_->receive(frame);
    if (received == Receive::frame) frame.corrupt = damaged_.contains(frame.packet);
    return received;
  }
  void flush() override { real_->flush(); }

 private:
  std::unique_ptr<Decoder> real_;
  std::set<std::int64_t> damaged_;
};

// Reads a file into a packet ring, as fast as that takes it.
class SourceHalf {
 public:
  // `told_size`: of its frames, beforehand; 0: none; not given: the right one.
  SourceHalf(const fs::path& file, std::size_t capacity, std::optional<int> told_size = {})
      : page_(RigPage::create(1)),
        context_(start_of(file), page_.source(CameraId(0))),
        ring_(PacketRingMemory::create(capacity, 1, 0)),
        told_size_(told_size) {
    thread_ = std::jthread([this] { run(); });
  }
  ~SourceHalf() { context_.stop.stop(); }

  [[nodiscard]] std::shared_ptr<PacketRingMemory> ring() const {
    return PacketRingMemory::open(duplicate(ring_->fd()));
  }

 private:
  void run() {
    ThreadScope scope(context_.source.thread, "in:cam");
    context_.stop.attach(scope);
    SourceConnection source(context_);
    PacketClock clock(context_, source);
    PacketFeed feed(ring_, {.block = true, .interrupted = [this] { return context_.stop.stopped(); }});
    source.open();
    clock.begin_file();
    clock.connected();
    SourceStream stream = source.stream();
    const AvCodecParameters codec(avcodec_parameters_alloc());
    if (told_size_) {
      ASSERT_EQ(avcodec_parameters_copy(codec.get(), stream.codec), 0);
      codec->width = codec->height = *told_size_;
      stream.codec = codec.get();
    }
    feed.begin(stream);
    const AvPacket packet = make_av_packet();
    while (source.read(*packet) == ReadResult::packet) {
      clock.observe(*packet);
      clock.arrived(false);
      if (!feed.packet(*packet, clock.note(*packet))) break;
      av_packet_unref(packet.get());
    }
    feed.mark(RecordKind::end);
    feed.close();
  }

  RigPage page_;
  CameraContext context_;
  std::shared_ptr<PacketRingMemory> ring_;
  std::optional<int> told_size_;
  std::jthread thread_;
};

// What outlives whoever decodes, as the supervisor knows it.
struct Progress {
  RigPage page = RigPage::create(1);
  std::uint64_t epoch = 1;
  std::uint64_t base = 0;
  std::optional<std::int64_t> pts;
  std::optional<std::int64_t> packet;
  std::uint64_t given_up = 0;
  std::uint64_t lost = 0;
};

std::uint64_t unpublished(const RigPage& page) {
  std::uint64_t frames = 0;
  for (const auto& count : page.edge_writer(EdgeId(0), master_process).unpublished) frames += count;
  return frames;
}

// Frames that a reader got, in its order, over all that have decoded.
class Reader {
 public:
  void read(const std::shared_ptr<FrameRingMemory>& ring) {
    FrameRingReader reader(ring, 0);
    test::reserve_seat(ring, 0);
    reader.attach(true, 8);
    for (;;) {
      FrameRingReader::Lease lease;
      const auto next = reader.next(lease, after(seconds(20)));
      ASSERT_NE(next, FrameRingReader::Next::timeout);
      if (next != FrameRingReader::Next::frame) return;
      const auto code = read_pattern(lease.frame.view);
      ASSERT_TRUE(code);
      numbers.push_back(code->number);
      times.push_back(lease.times.pts);
      EXPECT_EQ(lease.number, numbers.size()) << "over all epochs";
    }
  }

  std::vector<std::uint32_t> numbers;
  std::vector<std::int64_t> times;
};

// Decodes what is in a packet ring until so many frames have been published, and is gone then as if it was killed: it
// closes and gives back nothing.
class DecodingHalf {
 public:
  // Frames that came in packets of `damaged` are corrupt.
  // `skips`: not what the one before has tried.
  DecodingHalf(std::shared_ptr<PacketRingMemory> packets, Progress& progress, std::uint64_t frames,
               const std::set<std::int64_t>& damaged = {}, bool skips = false)
      : packets_(std::move(packets)), progress_(progress), frames_(frames), skips_(skips) {
    start_.open_decoder = [damaged](const SourceStream& stream, const DecoderOptions& options) {
      return std::make_unique<StrictDecoder>(open_decoder(stream, options), damaged);
    };
    start_.on_corrupt = OnCorrupt::skip;
    start_.replays = true;
    start_.name = "cam";
    start_.drop_policy = DropPolicy::block;
    start_.queue_size = 4;
    start_.epoch = progress.epoch;
    start_.base = progress.base;
    start_.resume = progress.pts;
    start_.resume_packet = progress.packet;
  }

  void run(Reader& reader) {
    std::jthread thread([this] { decode(); });
    while (const auto ring = next_ring()) reader.read(ring);
  }

 private:
  void decode() {
    ThreadScope scope(progress_.page.decode(start_.camera, master_process).thread, "dec:cam");
    StopSignal stop;
    stop.attach(scope);
    {
      const auto on_ring = [this](const FrameRingMemory& ring, const SourceStream&, const std::string&) {
        end_ring();
        ++progress_.epoch;
        ring_ = test::reopen(ring, FrameRingMemory::Role::reader);
        const std::lock_guard lock(mutex_);
        rings_.push_back(ring_);
        changed_.notify_one();
      };
      Decoding decoding(start_, progress_.page, stop, on_ring);
      const std::uint64_t dropped = unpublished(progress_.page);
      PacketIntake intake(packets_, decoding);
      if (skips_) intake.skip_tried();
      for (;;) {
        if (decoding.given() + unpublished(progress_.page) - dropped >= frames_) break;
        const auto next = intake.next(after(seconds(20)));
        EXPECT_NE(next, PacketIntake::Next::timeout);
        EXPECT_NE(next, PacketIntake::Next::broken);
        if (next != PacketIntake::Next::packet) break;
      }
      progress_.given_up += intake.given_up();
      progress_.lost += intake.lost();
    }
    end_ring();
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_one();
  }

  void end_ring() {
    if (!ring_) return;
    FrameRingObserver observer(ring_);
    progress_.base = observer.published();
    if (const auto pts = observer.last_pts()) progress_.pts = pts;
    if (const auto packet = observer.last_packet()) progress_.packet = packet;
    observer.mark_writer_gone();
  }

  std::shared_ptr<FrameRingMemory> next_ring() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_ || !rings_.empty(); });
    if (rings_.empty()) return nullptr;
    auto ring = rings_.front();
    rings_.pop_front();
    return ring;
  }

  DecodingStart start_;
  std::shared_ptr<PacketRingMemory> packets_;
  Progress& progress_;
  std::uint64_t frames_;
  bool skips_;
  std::shared_ptr<FrameRingMemory> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<FrameRingMemory>> rings_;
  bool over_ = false;
};

struct Outcome {
  std::vector<std::uint32_t> numbers;
  std::vector<std::int64_t> times;
  Progress progress;
  int deaths = 0;
};

// `life`: frames that each one publishes or drops that decodes, one after the other.
Outcome decode(const fs::path& file, std::size_t capacity, std::uint64_t life,
               const std::set<std::int64_t>& damaged = {}) {
  SourceHalf source(file, capacity);
  Reader reader;
  Outcome outcome;
  for (std::uint64_t before = 0;; ++outcome.deaths) {
    DecodingHalf(source.ring(), outcome.progress, life, damaged).run(reader);
    const std::uint64_t frames = reader.numbers.size() + unpublished(outcome.progress.page);
    if (frames < before + life || testing::Test::HasFatalFailure()) break;
    if (outcome.deaths == most_deaths) {
      ADD_FAILURE() << "it does not get on: something is counted again and again";
      break;
    }
    before = frames;
  }
  outcome.numbers = reader.numbers;
  outcome.times = reader.times;
  return outcome;
}

std::vector<std::uint32_t> numbers(std::uint32_t to) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t number = 0; number < to; ++number) all.push_back(number);
  return all;
}

class PacketIntakes : public testing::Test {
 protected:
  fs::path make(const test::ClipSpec& clip) {
    test::make_clip(folder_.path(), clip);
    return folder_.path() / clip.name;
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(PacketIntakes, ADeathLosesAndDoublesNoFrame) {
  std::vector<test::ClipSpec> clips = test::clips_to_begin_anew_in();
  clips.push_back({.name = "stream.ts", .b_frames = 2});
  clips.push_back({.name = "refreshes.ts", .refreshes = true});
  clips.push_back({.name = "refreshes.mp4", .refreshes = true});
  for (const test::ClipSpec& clip : clips) {
    if (!test::can_encode(clip.encoder)) continue;
    const fs::path file = make(clip);
    const Outcome undisturbed = decode(file, large_ring, 1000);
    ASSERT_EQ(undisturbed.numbers, numbers(60)) << clip.name;
    for (const std::uint64_t life : {1, 2, 7, 13, 31, 59}) {
      SCOPED_TRACE(clip.name + ", each lives for " + std::to_string(life) + " frames");
      const Outcome outcome = decode(file, large_ring, life);
      EXPECT_GT(outcome.deaths, 0);
      EXPECT_EQ(outcome.numbers, undisturbed.numbers);
      EXPECT_EQ(outcome.times, undisturbed.times);
      EXPECT_EQ(outcome.progress.given_up, 0U);
      EXPECT_EQ(outcome.progress.lost, 0U);
    }
  }
}

// A frame that is dropped is counted, and not once more when it is decoded again.
TEST_F(PacketIntakes, ADeathCountsNoDropTwice) {
  for (const test::ClipSpec& clip : {test::ClipSpec{.name = "plain.mp4"}, {.name = "b.mp4", .b_frames = 3}}) {
    const fs::path file = make(clip);
    const std::set<std::int64_t> damaged{3, 4, 5, 12, 20, 30, 31, 40, 59};
    const Outcome undisturbed = decode(file, large_ring, 1000, damaged);
    ASSERT_EQ(undisturbed.numbers.size() + damaged.size(), 60U) << clip.name;
    ASSERT_EQ(unpublished(undisturbed.progress.page), damaged.size());
    for (const std::uint64_t life : {1, 2, 3, 4, 5, 7, 13}) {
      SCOPED_TRACE(clip.name + ", each lives for " + std::to_string(life) + " frames");
      const Outcome outcome = decode(file, large_ring, life, damaged);
      EXPECT_GT(outcome.deaths, 3);
      EXPECT_EQ(outcome.numbers, undisturbed.numbers);
      EXPECT_EQ(outcome.times, undisturbed.times);
      EXPECT_EQ(unpublished(outcome.progress.page), damaged.size());
    }
  }
}

// As of a camera over MPEG-TS that was connected to in the midst of a group of pictures.
TEST_F(PacketIntakes, AKeyFrameTellsTheSizeThatTheSourceDoesNot) {
  SourceHalf source(make({.name = "stream.ts"}), large_ring, 0);
  Reader reader;
  Progress progress;
  DecodingHalf(source.ring(), progress, 1000).run(reader);
  EXPECT_EQ(reader.numbers, numbers(60));
}

// The size has changed since the source was opened. Who begins now makes no ring for frames of the old one.
TEST_F(PacketIntakes, AKeyFrameIsBelievedRatherThanTheSource) {
  SourceHalf source(make({.name = "stream.ts"}), large_ring, 64);
  Reader reader;
  Progress progress;
  const std::uint64_t first = progress.epoch;
  DecodingHalf(source.ring(), progress, 1000).run(reader);
  EXPECT_EQ(reader.numbers, numbers(60));
  EXPECT_EQ(progress.epoch, first + 1) << "one ring";
}

// What one has crashed at is not decoded again, nor what refers to it.
TEST_F(PacketIntakes, WhatWasTriedCanBeLeftOut) {
  SourceHalf source(make({.name = "plain.mp4", .gop = 12}), large_ring);
  Reader reader;
  Progress progress;
  DecodingHalf(source.ring(), progress, 20).run(reader);
  ASSERT_EQ(reader.numbers, numbers(20));
  DecodingHalf(source.ring(), progress, 1000, {}, true).run(reader);
  auto expected = numbers(60);
  expected.erase(expected.begin() + 20, expected.begin() + 24);
  EXPECT_EQ(reader.numbers, expected);
  EXPECT_EQ(unpublished(progress.page), 4U);
}

TEST_F(PacketIntakes, ThePatternGoesThroughItToo) {
  const fs::path pattern("test://pattern?width=320&height=240&rate=25&frames=40");
  for (const std::uint64_t life : {7, 1000}) EXPECT_EQ(decode(pattern, large_ring, life).numbers, numbers(40)) << life;
}

// Without a death a ring that is too small loses nothing; with one, frames up to the next key frame.
TEST_F(PacketIntakes, AGroupThatIsLargerThanTheRingCostsFramesOnlyWithADeath) {
  const fs::path file = make({.name = "long.mp4", .frames = 120, .gop = 60});
  const std::size_t small_ring = fs::file_size(file) / 4;
  const Outcome undisturbed = decode(file, small_ring, 1000);
  EXPECT_EQ(undisturbed.numbers, numbers(120));
  EXPECT_GT(undisturbed.progress.given_up, 0U);

  const Outcome outcome = decode(file, small_ring, 40);
  EXPECT_GT(outcome.progress.lost, 0U);
  EXPECT_EQ(outcome.numbers.size() + unpublished(outcome.progress.page), 120U) << "each is counted once";
  ASSERT_GT(outcome.numbers.size(), 40U);
  std::vector<std::uint32_t> gaps;
  for (std::size_t i = 1; i < outcome.numbers.size(); ++i) {
    ASSERT_GT(outcome.numbers[i], outcome.numbers[i - 1]);
    if (outcome.numbers[i] != outcome.numbers[i - 1] + 1) gaps.push_back(outcome.numbers[i]);
  }
  EXPECT_THAT(gaps, testing::Each(testing::ResultOf([](std::uint32_t number) { return number % 60; }, 0)));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
