// A live camera that goes away and comes back, by a source that plays a file and fails when it is told to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>

#include "app/ingest.h"
#include "core/test_pattern.h"
#include "ipc/frame_ring_layout.h"
#include "tests/integration/clips.h"
#include "tests/unit/ring_test_support.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Kind = SourceError::Kind;

// What one connection does: plays `file`, and after so many packets fails.
struct Connection {
  fs::path file;  // empty: opening fails
  int packets = 20;
  Kind failure = Kind::lost;
};

class FailingSource final : public Source {
 public:
  FailingSource(std::unique_ptr<Source> real, const Connection& plan) : real_(std::move(real)), plan_(plan) {}
  const SourceStream& stream() const override { return real_->stream(); }
  ReadResult read(AVPacket& packet) override {
    if (plan_.packets-- == 0) throw SourceError(plan_.failure, "it went away");
    return real_->read(packet);
  }
  void rewind() override { real_->rewind(); }
  void seek(std::int64_t pts) override { real_->seek(pts); }

 private:
  std::unique_ptr<Source> real_;
  Connection plan_;
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
    if (plan.file.empty()) throw SourceError(plan.failure, "it cannot be opened");
    config.url = plan.file.string();
    return std::make_unique<FailingSource>(open_source(config, interrupt), plan);
  }

  Ingest::Events events() {
    Ingest::Events events;
    events.on_ring = [this](const FrameRingMemory& ring, const SourceStream&, const std::string&) {
      const std::lock_guard lock(mutex_);
      rings_.push_back(test::reopen(ring, FrameRingMemory::Role::reader));
    };
    events.on_gpu_lost = [](const std::string&) {};
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

  // Reads until `pictures` have come.
  void read(std::size_t pictures) {
    std::size_t ring = 0;
    while (times_.size() < pictures) {
      ASSERT_TRUE(test::eventually([&] {
        const std::lock_guard lock(mutex_);
        return rings_.size() > ring;
      }));
      FrameRingReader reader(rings_[ring++], 0);
      reader.attach(false, 8);
      FrameRingReader::Lease lease;
      while (times_.size() < pictures &&
             reader.next(lease, test::after(test::seconds(10))) == FrameRingReader::Next::frame) {
        EXPECT_TRUE(times_.empty() || lease.times.pts > times_.back().pts);
        times_.push_back(lease.times);
        sizes_.push_back(lease.picture.view.format.width);
      }
    }
  }

  RigPage page_ = RigPage::create(1);
  Ingest::Start start_;
  fs::path folder_;
  std::mutex mutex_;
  std::vector<Connection> plans_;
  std::vector<Clock::time_point> opened_;
  std::vector<std::string> states_;
  std::vector<std::shared_ptr<FrameRingMemory>> rings_;
  std::vector<FrameTimes> times_;
  std::vector<int> sizes_;
  std::string failure_;
  std::atomic<bool> over_{false};
};

TEST_F(IngestReconnect, GoesOnInTheSameRingAndTellsEachStateOnce) {
  const fs::path file = make({.name = "a.mp4"});
  plans_ = {{file}, {}, {}, {file, 1000}};
  {
    Ingest ingest(start_, page_, events());
    read(30);
    ingest.stop();
    EXPECT_TRUE(test::eventually([&] { return over_.load(); }));
  }
  EXPECT_EQ(rings_.size(), 1U);
  EXPECT_EQ(failure_, "");
  EXPECT_THAT(states_, testing::ElementsAre("running", "it went away", "it cannot be opened", "running"));
  ASSERT_EQ(opened_.size(), 4U);
}

TEST_F(IngestReconnect, CountsTheTimeThatItWasAway) {
  const fs::path file = make({.name = "a.mp4"});
  start_.config.retry_interval = std::chrono::milliseconds(300);
  start_.config.retry_max = std::chrono::milliseconds(300);
  plans_ = {{file}, {file, 1000}};
  Ingest ingest(start_, page_, events());
  read(25);
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < times_.size(); ++i) longest = std::max(longest, times_[i].pts - times_[i - 1].pts);
  EXPECT_GE(longest, 240'000'000);
}

TEST_F(IngestReconnect, BeginsAnotherRingForOtherPictures) {
  plans_ = {{make({.name = "a.mp4"})}, {make({.name = "b.mp4", .width = 192, .height = 128}), 1000}};
  Ingest ingest(start_, page_, events());
  read(30);
  EXPECT_EQ(rings_.size(), 2U);
  EXPECT_EQ(sizes_.back(), 192);
  EXPECT_NE(sizes_.front(), 192);
}

TEST_F(IngestReconnect, DoesNotHammerACameraThatWantsAnotherPassword) {
  start_.config.retry_max = std::chrono::milliseconds(400);
  plans_ = {{"", 0, Kind::unauthorized}};
  Ingest ingest(start_, page_, events());
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
  start_.config.retry_interval = start_.config.retry_max = std::chrono::seconds(60);
  plans_ = {{}};
  Ingest ingest(start_, page_, events());
  ASSERT_TRUE(test::eventually([&] {
    const std::lock_guard lock(mutex_);
    return !states_.empty();
  }));
  ingest.stop();
  EXPECT_TRUE(test::eventually([&] { return over_.load(); }, test::seconds(5)));
  EXPECT_EQ(failure_, "");
}

}  // namespace
}  // namespace campipe
