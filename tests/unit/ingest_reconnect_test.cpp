// A live camera that goes away and comes back, by a source that plays a file and fails when it is told to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <span>
#include <thread>

#include "core/test_pattern.h"
#include "ipc/counter_table.h"
#include "ipc/decode_blocks.h"
#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"
#include "ipc/frame_ring_layout.h"
#include "ipc/rig_page.h"
#include "ipc/source_blocks.h"
#include "tests/integration/clips.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/ring_test_support.h"
#include "tests/unit/whole_ingest.h"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Kind = SourceError::Kind;

constexpr std::int64_t one_second = 1'000'000'000;

// What one connection does: plays `file`, and after so many packets fails.
struct Connection {
  fs::path file;  // empty: opening fails
  int packets = 20;
  Kind failure = Kind::lost;
  std::chrono::milliseconds opening{0};  // takes so long
  bool in_bursts = false;
  int damage_every = 0;  // packets; 0: none
  int shown_late = -1;   // the packet that is to be shown 13 hours after it is decoded
  bool in_time = false;  // it gives each packet when its time has come, as a camera
};

// Their headers stay, as where a network loses a part.
void damage(AVPacket& packet) {
  av_check(av_packet_make_writable(&packet), "a packet");
  const std::span data(packet.data, static_cast<std::size_t>(packet.size));
  const std::size_t begin = data.size() / 3;
  for (std::size_t i = begin; i < 2 * begin; ++i) data[i] = static_cast<std::uint8_t>(37 * i + 11);
}

class FailingSource final : public Source {
 public:
  FailingSource(std::unique_ptr<Source> real, const Connection& plan)
      : real_(std::move(real)), plan_(plan), stream_(real_->stream()) {
    stream_.in_bursts = plan.in_bursts;
  }
  const SourceStream& stream() const override { return stream_; }
  ReadResult read(AVPacket& packet) override {
    if (plan_.packets-- == 0) throw SourceError(plan_.failure, "it went away");
    const ReadResult result = real_->read(packet);
    const int count = ++count_;
    if (result != ReadResult::packet) return result;
    if (plan_.damage_every > 0 && count % plan_.damage_every == 0) damage(packet);
    const auto ticks = [&](std::int64_t ns) { return av_rescale_q(ns, nanoseconds, stream_.time_base); };
    if (count == plan_.shown_late) packet.pts = packet.dts + ticks(13 * 3600 * one_second);
    if (plan_.in_time) {
      const std::int64_t time = av_rescale_q(packet.dts - stream_.start, stream_.time_base, nanoseconds);
      std::this_thread::sleep_until(begin_ + std::chrono::nanoseconds(time));
    }
    return result;
  }
  void rewind() override { real_->rewind(); }
  void seek(std::int64_t pts) override { real_->seek(pts); }

 private:
  std::unique_ptr<Source> real_;
  Connection plan_;
  SourceStream stream_;
  int count_ = 0;
  Clock::time_point begin_ = Clock::now();
};

// Decodes, until it is made to fail.
class FailingDecoder final : public Decoder {
 public:
  struct Plan {
    bool no_memory = false;             // for a ring of another size
    bool throws = false;                // whatever it is given
    std::chrono::milliseconds work{0};  // that each packet takes
  };
  FailingDecoder(std::unique_ptr<Decoder> real, const Plan& plan) : real_(std::move(real)), plan_(plan) {}

  SlotNeeds needs() const override {
    SlotNeeds needs = real_->needs();
    if (changed_) needs.bytes = std::size_t{1} << 50;  // more than a process can map
    return needs;
  }
  void write_to(std::shared_ptr<FrameRingWriter> ring) override { real_->write_to(std::move(ring)); }
  bool send(const AVPacket* packet, std::int64_t utc) override {
    EXPECT_FALSE(changed_) << "it has no ring to write to";
    if (plan_.throws) throw std::runtime_error("a filter that fails");
    std::this_thread::sleep_for(plan_.work);
    return real_->send(packet, utc);
  }
  Receive receive(DecodedFrame& picture) override {
    EXPECT_FALSE(changed_) << "it has no ring to write to";
    const Receive received = real_->receive(picture);
    changed_ = received == Receive::changed && plan_.no_memory;
    return received;
  }
  void flush() override { real_->flush(); }

 private:
  std::unique_ptr<Decoder> real_;
  Plan plan_;
  bool changed_ = false;
};

class IngestReconnect : public testing::Test {
 protected:
  IngestReconnect() {
    std::string name = (fs::temp_directory_path() / "campipe-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw system_error("cannot make " + name, errno);
    folder_ = name;
    page_.barrier().add(0);
    page_.barrier().arrive(0, 0);
    start_.config.name = "cam";
    start_.config.source.url = "rtsp://camera/stream";
    start_.config.drop_policy = DropPolicy::drop;
    start_.config.retry_interval = std::chrono::milliseconds(20);
    start_.config.retry_max = std::chrono::milliseconds(100);
    start_.open_source = [this](const SourceConfig& config, const Source::Interrupt& interrupt) {
      return open(config, interrupt);
    };
  }
  ~IngestReconnect() override {
    std::error_code error;
    fs::remove_all(folder_, error);
  }

  fs::path make(const test::ClipSpec& clip) {
    test::make_clip(folder_, clip);
    return folder_ / clip.name;
  }

  std::unique_ptr<Source> open(SourceConfig config, const Source::Interrupt& interrupt) {
    const std::lock_guard lock(mutex_);
    opened_.push_back(Clock::now());
    const Connection plan = plans_.at(std::min(opened_.size() - 1, plans_.size() - 1));
    std::this_thread::sleep_for(plan.opening);
    if (plan.file.empty()) throw SourceError(plan.failure, "it cannot be opened");
    config.url = plan.file.string();
    return std::make_unique<FailingSource>(open_source(config, interrupt), plan);
  }

  test::WholeIngestEvents events() {
    test::WholeIngestEvents events;
    events.on_ring = [this](const FrameRingMemory& ring, const SourceStream&, const std::string&) {
      const std::lock_guard lock(mutex_);
      rings_.push_back(test::reopen(ring, FrameRingMemory::Role::reader));
    };
    events.on_over = [this](const std::string& failure) {
      failure_ = failure;
      over_ = true;
    };
    events.on_state = [this](bool delivers, const std::string& reason) {
      const std::lock_guard lock(mutex_);
      states_.push_back(delivers ? "running" : reason);
    };
    return events;
  }

  std::vector<std::string> states() {
    const std::lock_guard lock(mutex_);
    return states_;
  }

  std::size_t rings() {
    const std::lock_guard lock(mutex_);
    return rings_.size();
  }

  std::shared_ptr<FrameRingMemory> ring_at(std::size_t number) {
    const std::lock_guard lock(mutex_);
    return rings_.at(number);
  }

  // Reads until `frames` have come.
  void read(std::size_t pictures) {
    std::size_t number = 0;
    while (times_.size() < pictures) {
      ASSERT_TRUE(test::eventually([&] { return rings() > number; }));
      const auto ring = ring_at(number++);
      test::reserve_seat(ring, 0);
      FrameRingReader reader(ring, 0);
      reader.attach(false, 8);
      FrameRingReader::Lease lease;
      while (times_.size() < pictures &&
             reader.next(lease, test::after(test::seconds(10))) == FrameRingReader::Next::frame) {
        EXPECT_TRUE(times_.empty() || lease.times.pts > times_.back().pts);
        times_.push_back(lease.times);
        sizes_.push_back(lease.frame.view.format.width);
      }
    }
  }

  // Of the first ring, until all packets of the first connection are accounted for: who decodes them may be far behind
  // who reads them. `work`: that each frame takes.
  void read_to_the_end(bool blocking, std::chrono::milliseconds work = {}) {
    ASSERT_TRUE(test::eventually([&] { return rings() > 0; }));
    const auto ring = ring_at(0);
    test::reserve_seat(ring, 0);
    FrameRingReader reader(ring, 0);
    reader.attach(blocking, 8);
    FrameRingReader::Lease lease;
    const auto packets = static_cast<std::uint64_t>(plans_.front().packets);
    const Deadline deadline = test::after(test::seconds(60));
    while (times_.size() + dropped() + unpublished() < packets) {
      ASSERT_LT(Clock::now(), deadline) << times_.size() << " frames, and " << dropped() << " dropped";
      if (reader.next(lease, test::after(std::chrono::milliseconds(100))) != FrameRingReader::Next::frame) continue;
      times_.push_back(lease.times);
      std::this_thread::sleep_for(work);
    }
    EXPECT_NE(reader.next(lease, test::after(std::chrono::milliseconds(100))), FrameRingReader::Next::frame);
  }

  // One after the other; the last one's plan stays.
  void plan_decoders(const std::vector<FailingDecoder::Plan>& plans) {
    decoding_.open_decoder = [this, plans](const SourceStream& stream,
                                           const DecoderOptions& options) -> std::unique_ptr<Decoder> {
      const auto plan = plans.at(std::min(decoders_.fetch_add(1), plans.size() - 1));
      return std::make_unique<FailingDecoder>(open_decoder(stream, options), plan);
    };
  }
  // Packets go to an output that nobody reads, and motion is looked for in them.
  void copy_with_motion() {
    start_.decode = false;
    start_.copies = {{.output = OutputId(0), .filters = {{"motion", complete_parameters(known_filter("motion"), {})}}}};
  }
  [[nodiscard]] std::uint64_t copied() { return page_.copy(OutputId(0)).latency.counts().total(); }

  std::uint64_t lost() {
    return counter(page_.edge_writer(EdgeId(0), master_process).unpublished, DropCause::worker_lost);
  }
  std::uint64_t unpublished() {
    std::uint64_t sum = 0;
    for (const auto& frames : page_.edge_writer(EdgeId(0), master_process).unpublished) sum += frames;
    return sum;
  }
  std::uint64_t dropped() { return FrameRingObserver(ring_at(0)).frames_of(0).recalled; }

  RigPage page_ = RigPage::create(1);
  IngestStart start_;
  DecodingStart decoding_;
  fs::path folder_;
  std::mutex mutex_;
  std::vector<Connection> plans_;
  std::vector<Clock::time_point> opened_;
  std::vector<std::string> states_;
  std::vector<std::shared_ptr<FrameRingMemory>> rings_;
  std::vector<FrameTimes> times_;
  std::vector<int> sizes_;
  std::atomic<std::size_t> decoders_{0};
  std::string failure_;
  std::atomic<bool> over_{false};
};

TEST_F(IngestReconnect, GoesOnInTheSameRingAndTellsEachStateOnce) {
  const fs::path file = make({.name = "a.mp4"});
  plans_ = {{file}, {}, {}, {.file = file, .packets = 1000, .in_time = true}};
  {
    test::WholeIngest ingest(start_, decoding_, page_, events());
    read(30);
    ingest.stop();
    EXPECT_TRUE(test::eventually([&] { return over_.load(); }));
  }
  EXPECT_EQ(rings(), 1U);
  EXPECT_EQ(failure_, "");
  EXPECT_THAT(states(), testing::ElementsAre("running", "it went away", "it cannot be opened", "running"));
  ASSERT_EQ(opened_.size(), 4U);
}

TEST_F(IngestReconnect, CountsTheTimeThatItWasAway) {
  const fs::path file = make({.name = "a.mp4"});
  start_.config.retry_interval = std::chrono::milliseconds(300);
  start_.config.retry_max = std::chrono::milliseconds(300);
  // Paced as a camera's frames come: what comes all at once would have been taken before.
  plans_ = {{.file = file, .in_bursts = true}, {.file = file, .packets = 1000, .in_bursts = true}};
  test::WholeIngest ingest(start_, decoding_, page_, events());
  read(25);
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < times_.size(); ++i) longest = std::max(longest, times_[i].pts - times_[i - 1].pts);
  EXPECT_GE(longest, 240'000'000);
}

// Key frames lie on a grid of it, which is therefore the same for the next master: here of one whose clock is an hour
// off.
TEST_F(IngestReconnect, MediaTimeIsUtcAndGoesOnWithTheNextMaster) {
  plans_ = {{.file = make({.name = "a.mp4"}), .packets = 1000, .in_time = true}};
  const std::int64_t begin = utc_now_ns();
  const auto expect_steady = [&](std::int64_t from_utc) {
    std::int64_t offset = times_.front().media_time - times_.front().pts;
    for (const FrameTimes& times : times_) {
      const std::int64_t now = times.media_time - times.pts;
      EXPECT_LE(std::abs(now - offset), 40'000'000 / 200 + 1) << "slewed";
      offset = now;
    }
    EXPECT_GE(times_.front().media_time, from_utc - one_second);
    EXPECT_LE(times_.back().media_time, from_utc + (utc_now_ns() - begin) + one_second);
  };
  const auto run = [this] {
    test::WholeIngest ingest(start_, decoding_, page_, events());
    read(20);
    ingest.stop();
    EXPECT_TRUE(test::eventually([&] { return over_.load(); }));
  };
  ASSERT_NO_FATAL_FAILURE(run());
  expect_steady(begin);

  constexpr std::int64_t off = -3600 * one_second;
  const std::int64_t offset = times_.back().media_time - times_.back().pts + off;
  page_.source(CameraId(0)).health.media_offset += off;
  start_.resume = times_.back().pts;
  decoding_.epoch = 2;
  decoding_.base = 20;
  over_ = false;
  times_.clear();
  rings_.clear();
  ASSERT_NO_FATAL_FAILURE(run());
  expect_steady(begin + off);
  EXPECT_GE(times_.front().pts, *start_.resume);
  EXPECT_NEAR(static_cast<double>(times_.front().media_time - times_.front().pts), static_cast<double>(offset), 10e6);
}

TEST_F(IngestReconnect, BeginsAnotherRingForOtherPictures) {
  plans_ = {{make({.name = "a.mp4"})}, {make({.name = "b.mp4", .width = 192, .height = 128}), 1000}};
  test::WholeIngest ingest(start_, decoding_, page_, events());
  read(30);
  EXPECT_EQ(rings(), 2U);
  EXPECT_EQ(sizes_.back(), 192);
  EXPECT_NE(sizes_.front(), 192);
}

// What the stream's description says of the first connection is out of date when its second one says the same.
TEST_F(IngestReconnect, BeginsAnotherRingForTheOldPicturesAfterAChangeInMidStream) {
  const fs::path large = make({.name = "large.ts", .frames = 20});
  const fs::path small = make({.name = "small.ts", .width = 192, .height = 128, .frames = 20});
  const fs::path both = folder_ / "both.ts";
  std::ofstream(both, std::ios::binary) << std::ifstream(large, std::ios::binary).rdbuf()
                                        << std::ifstream(small, std::ios::binary).rdbuf();
  plans_ = {{both, 40}, {large, 1000}};
  test::WholeIngest ingest(start_, decoding_, page_, events());
  read(60);
  EXPECT_EQ(lost(), 0U);
  EXPECT_EQ(rings(), 3U);
  EXPECT_EQ(sizes_.front(), 320);
  EXPECT_EQ(std::ranges::count(sizes_, 192), 20);
  EXPECT_EQ(sizes_.back(), 320);
}

// The frames that come behind the change would not lie within the slots of before.
TEST_F(IngestReconnect, BeginsAnewWhereThereIsNoMemoryForLargerPictures) {
  const fs::path small = make({.name = "small.ts", .width = 192, .height = 128, .frames = 20});
  const fs::path large = make({.name = "large.ts", .width = 640, .height = 480, .frames = 20});
  const fs::path both = folder_ / "both.ts";
  std::ofstream(both, std::ios::binary) << std::ifstream(small, std::ios::binary).rdbuf()
                                        << std::ifstream(large, std::ios::binary).rdbuf();
  plans_ = {{both, 1000}, {large, 1000}};
  plan_decoders({{.no_memory = true}, {}});
  test::WholeIngest ingest(start_, decoding_, page_, events());
  read(35);
  EXPECT_EQ(sizes_.front(), 192);
  EXPECT_EQ(sizes_.back(), 640);
  EXPECT_THAT(states(), testing::Contains(HasSubstr("memory")));
  EXPECT_EQ(states().front(), "running");
}

TEST_F(IngestReconnect, APictureThatIsShownHoursLaterDoesNotMoveTheTimeline) {
  plans_ = {{.file = make({.name = "a.mp4", .frames = 50}), .packets = 1000, .shown_late = 20}};
  test::WholeIngest ingest(start_, decoding_, page_, events());
  read(50);
  EXPECT_LT(times_.back().pts, 12 * one_second);
  EXPECT_LT(times_.back().duration, 12 * one_second);
}

// What looks for motion fails: the copy goes on in the same connection.
TEST_F(IngestReconnect, MotionThatFailsEndsNoCopy) {
  copy_with_motion();
  plan_decoders({{.throws = true}});
  plans_ = {{.file = make({.name = "a.mp4", .frames = 50}), .packets = 50}, {}};
  test::WholeIngest ingest(start_, decoding_, page_, events());
  ASSERT_TRUE(test::eventually([&] {
    const std::lock_guard lock(mutex_);
    return states_.size() >= 2;
  }));
  EXPECT_EQ(copied(), 50U);
  EXPECT_TRUE(test::eventually([&] { return decoders_ == 1; }));
  EXPECT_EQ(states()[1], "it went away");
}

// Three times slower than the camera sends.
TEST_F(IngestReconnect, MotionThatIsTooSlowHoldsUpNoCopy) {
  copy_with_motion();
  plan_decoders({{.work = std::chrono::milliseconds(120)}});
  plans_ = {{.file = make({.name = "a.mp4", .frames = 350}), .packets = 350, .in_time = true}, {}};
  const test::Stopwatch watch;
  test::WholeIngest ingest(start_, decoding_, page_, events());
  ASSERT_TRUE(test::eventually([&] { return copied() == 350; }, test::seconds(120)));
  EXPECT_LT(watch.elapsed(), test::seconds(14 + 6));
  EXPECT_LT(page_.source(CameraId(0)).health.largest_lag, 6 * one_second);
  EXPECT_EQ(decoders_, 1U);
}

// The time that a camera takes that does not answer is no good connection.
TEST_F(IngestReconnect, WaitsLongerEachTimeForACameraThatIsSlowToFail) {
  start_.config.retry_interval = std::chrono::milliseconds(100);
  start_.config.retry_max = std::chrono::milliseconds(800);
  plans_ = {{.file = "", .failure = Kind::timed_out, .opening = std::chrono::milliseconds(1000)}};
  test::WholeIngest ingest(start_, decoding_, page_, events());
  ASSERT_TRUE(test::eventually([&] {
    const std::lock_guard lock(mutex_);
    return opened_.size() == 5;
  }));
  const std::lock_guard lock(mutex_);
  EXPECT_GE(opened_[4] - opened_[3], std::chrono::milliseconds(1000 + 640));
}

TEST_F(IngestReconnect, PacesEachConnectionThatDeliversInBurstsByItself) {
  const fs::path file = make({.name = "a.mp4"});
  plans_ = {{.file = file, .packets = 50, .in_bursts = true}, {.file = file, .packets = 1000, .in_bursts = true}};
  const test::CpuWaits waits;
  test::WholeIngest ingest(start_, decoding_, page_, events());
  read(80);
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < times_.size(); ++i) {
    longest = std::max(longest, times_[i].arrival - times_[i - 1].arrival);
  }
  EXPECT_LT(std::chrono::nanoseconds(longest), std::chrono::milliseconds(1500) + waits.so_far());
  EXPECT_GT(times_[79].arrival - times_[51].arrival, 900'000'000);
}

// All at once, as after a stall.
TEST_F(IngestReconnect, ABurstIsTakenInAsFastAsTheWorkerCan) {
  plans_ = {{.file = make({.name = "a.mp4"}), .packets = 60}, {}};
  test::WholeIngest ingest(start_, decoding_, page_, events());
  read_to_the_end(false, std::chrono::milliseconds(4));
  EXPECT_EQ(times_.size(), 60U);
  EXPECT_EQ(dropped(), 0U);
}

TEST_F(IngestReconnect, AWorkerThatIsTooSlowHoldsTheSourceUpForAShortTimeOnly) {
  plans_ = {{.file = make({.name = "a.mp4", .frames = 400}), .packets = 400}, {}};
  test::WholeIngest ingest(start_, decoding_, page_, events());
  read_to_the_end(false, std::chrono::milliseconds(50));
  EXPECT_GT(dropped(), 200U);
  EXPECT_EQ(times_.size() + dropped(), 400U);
}

struct Damaged {
  std::uint64_t skipped = 0;
  std::uint64_t counted = 0;
};

class IngestDamage : public IngestReconnect {
 protected:
  // All frames of a clip, each fifth of them damaged.
  Damaged play(OnCorrupt on_corrupt) {
    start_.config.on_corrupt = on_corrupt;
    start_.config.drop_policy = DropPolicy::block;
    plans_ = {{.file = make({.name = "a.ts", .encoder = "mpeg2video"}), .packets = 60, .damage_every = 5}, {}};
    test::WholeIngest ingest(start_, decoding_, page_, events());
    read_to_the_end(true);
    const EdgeWriterBlock& edge = page_.edge_writer(EdgeId(0), master_process);
    return {edge.unpublished.at(static_cast<std::size_t>(DropCause::corrupt)),
            page_.source(CameraId(0)).counters.of(Counter::corrupt_packets) +
                page_.decode(CameraId(0), master_process).counters.of(Counter::corrupt_packets)};
  }
};

TEST_F(IngestDamage, IsShownAndCounted) {
  const Damaged damaged = play(OnCorrupt::show);
  EXPECT_EQ(times_.size(), 60U);
  EXPECT_EQ(damaged.skipped, 0U);
  EXPECT_GE(damaged.counted, 6U);
  EXPECT_LE(damaged.counted, 12U);
}

TEST_F(IngestDamage, IsSkippedWhereThatIsWanted) {
  const Damaged damaged = play(OnCorrupt::skip);
  EXPECT_GE(damaged.skipped, 6U);
  EXPECT_EQ(times_.size() + damaged.skipped, 60U);
  EXPECT_EQ(damaged.counted, damaged.skipped);
}

TEST_F(IngestReconnect, DoesNotHammerACameraThatWantsAnotherPassword) {
  start_.config.retry_max = std::chrono::milliseconds(400);
  plans_ = {{"", 0, Kind::unauthorized}};
  test::WholeIngest ingest(start_, decoding_, page_, events());
  ASSERT_TRUE(test::eventually([&] {
    const std::lock_guard lock(mutex_);
    return opened_.size() == 3;
  }));
  const std::lock_guard lock(mutex_);
  EXPECT_GE(opened_[1] - opened_[0], std::chrono::milliseconds(320));
  EXPECT_GE(opened_[2] - opened_[1], std::chrono::milliseconds(320));
  EXPECT_EQ(states_.size(), 1U);
}

TEST_F(IngestReconnect, EndsAtOnceWhileItWaits) {
  start_.config.retry_interval = start_.config.retry_max = std::chrono::hours(1);
  plans_ = {{}};
  test::WholeIngest ingest(start_, decoding_, page_, events());
  ASSERT_TRUE(test::eventually([&] {
    const std::lock_guard lock(mutex_);
    return !states_.empty();
  }));
  ingest.stop();
  EXPECT_TRUE(test::eventually([&] { return over_.load(); }));
  EXPECT_EQ(failure_, "");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
