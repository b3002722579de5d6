// Cameras whose clocks run at another rate than they say, in a whole rig: where the frames and the sound of a recording
// lie, by when the camera sent them.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/ts_frames.h"
#include "tests/unit/coded_units.h"
#include "tests/unit/rtp_camera.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using std::chrono::microseconds;

constexpr std::int64_t frame = 100'000;  // us
constexpr int frames = 130;
constexpr std::int64_t learned = 40 * frame;   // us
constexpr std::int64_t analyzed = 90 * frame;  // likewise, with 5 s of analysis before
// us: a reader on a busy machine is late by less, and a clock that is believed wrongly is out by seconds. How exact
// times are is shown in virtual time: media_clock_test, first_arrivals_test.
constexpr std::int64_t bound = 500'000;
constexpr int sound_rate = 8000;
constexpr int samples = 160;

// Frames at an even 10 a second, and sound that is sampled at `sound` times its rate; what is sent ends together.
struct Sending {
  std::function<std::uint32_t(int)> time;  // of a frame: what its packets say
  double sound = 0;                        // none
};

class ClockRate : public testing::Test {
 protected:
  static RtpCamera camera(const Sending& sending, std::atomic<int>& sounds, std::atomic<bool>& sent) {
    std::vector<std::string> media{video_media("H264")};
    if (sending.sound > 0) media.emplace_back("m=audio 0 RTP/AVP 0\r\n");
    return {media, [sending, &sounds, &sent](RtpLine& line) {
              const std::vector<CodedUnit> units = coded_units({.count = frames, .gop = 10});
              const double packet = sending.sound > 0 ? samples * 1e6 / (sound_rate * sending.sound) : 0;
              const auto start = std::chrono::steady_clock::now();
              int sound = 0;
              for (int i = 0; i < frames;) {
                const bool is_frame = sending.sound == 0 || static_cast<double>(i * frame) <= sound * packet;
                const auto due = is_frame ? i * frame : std::llround(sound * packet);
                std::this_thread::sleep_until(start + microseconds(due));
                if (!is_frame) {
                  const auto time = static_cast<std::uint32_t>(sound++ * samples);
                  if (!line.packet(1, std::string(samples, '\xff'), time, false)) return;
                  continue;
                }
                const std::string& unit = units[static_cast<std::size_t>(i)].data;
                if (!line.frame(0, rtp_payloads("libx264", unit), sending.time(i))) return;
                ++i;
              }
              sounds = sound;
              sent = true;
              line.wait_for_end();
            }};
  }

  // The rig, until all that the camera sends is in its recording.
  void record(const Sending& sending, const std::string& keys = "") {
    std::atomic<bool> sent{false};
    const RtpCamera source = camera(sending, sounds_, sent);
    record(source.url(), sent, "    rtsp_transport: tcp\n" + keys, sending.sound > 0);
  }
  void record(const std::string& url, const std::atomic<bool>& sent, const std::string& keys, bool with_sound) {
    RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  cam:\n    source: \"" + url +
               "\"\n    encode: {codec: copy}\n" + keys + "    record: {path: \"cam.mkv\"}\n");
    ASSERT_TRUE(eventually([&] { return sent.load(); })) << rig.log();
    // What was sent has come when the next frame would be late.
    std::this_thread::sleep_for(microseconds(3 * frame));
    rig.signal(SIGTERM);
    ASSERT_EQ(rig.wait(), 0) << rig.log();
    log_ = rig.log();
    for (const ShownPicture& picture : read_video(rig.file("cam.mkv")).pictures)
      pictures_.push_back(picture.pts / 1000);
    if (with_sound) {
      for (const double time : sound_times(rig.file("cam.mkv"))) heard_.push_back(std::llround(time * 1e6));
    }
  }
  // Behind the time in which it was learned, each frame lies where it was sent, seen from the last one.
  void expect_even(std::int64_t from) {
    ASSERT_GE(pictures_.size(), static_cast<std::size_t>(frames - 5));
    const std::int64_t last = pictures_.back();
    const auto expected = static_cast<std::size_t>(frames - from / frame);
    for (std::size_t i = pictures_.size() - std::min(expected, pictures_.size()); i < pictures_.size(); ++i)
      EXPECT_NEAR(static_cast<double>(last - pictures_[i]), static_cast<double>((pictures_.size() - 1 - i) * frame),
                  bound)
          << i << ": " << log_;
  }
  [[nodiscard]] int logged(const std::string& text) const {
    int found = 0;
    for (auto at = log_.find(text); at != std::string::npos; at = log_.find(text, at + 1)) ++found;
    return found;
  }

  std::string log_;
  std::vector<std::int64_t> pictures_;  // us
  std::vector<std::int64_t> heard_;
  std::atomic<int> sounds_{0};
};

// The camera counts milliseconds, and says it were 90 kHz.
TEST_F(ClockRate, FramesLieWhereTheyArriveWhereTheClockIsUseless) {
  record({.time = [](int i) { return static_cast<std::uint32_t>(1000 + i * 100); }});
  expect_even(learned);
  EXPECT_EQ(logged("times are those of arrival"), 1) << log_;
}

TEST_F(ClockRate, FramesLieWhereTheyArriveWhereTheClockStandsStill) {
  record({.time = [](int i) { return static_cast<std::uint32_t>(1000 + i); }});
  expect_even(learned);
  EXPECT_EQ(logged("its clock stands still"), 1) << log_;
}

// From the first packet on: what libavformat would analyze has no length.
TEST_F(ClockRate, FramesLieWhereTheyArriveWhereAllHaveOneTime) {
  record({.time = [](int) { return 1000U; }});
  expect_even(analyzed);
  EXPECT_EQ(logged("its clock stands still"), 1) << log_;
}

// It stamps 15 frames a second, and sends 10.
TEST_F(ClockRate, IsLearned) {
  record({.time = [](int i) { return static_cast<std::uint32_t>(i * 6000); }});
  expect_even(learned);
  EXPECT_EQ(logged("of the rate that it says; its timestamps are corrected by that"), 1) << log_;
}

TEST_F(ClockRate, ByArrivalFromTheBeginningWhereThatIsConfigured) {
  record({.time = [](int i) { return static_cast<std::uint32_t>(1000 + i * 100); }}, "    timestamps: arrival\n");
  expect_even(0);  // those that came during the analysis, too
  EXPECT_EQ(logged("clock"), 0) << log_;
}

// Of other protocols nobody knows when what was read for the analysis had come: its own times say it.
TEST_F(ClockRate, ByArrivalFromTheBeginningOverOtherProtocolsToo) {
  constexpr unsigned video_pid = 256;
  const TemporaryFolder folder;
  make_clip(folder.path(), {.name = "clip.ts", .frames = frames, .gop = 10, .rate = 10});
  const std::vector<std::string> parts = ts_frames(read_text(folder.path() / "clip.ts"), video_pid);
  ASSERT_EQ(parts.size(), static_cast<std::size_t>(frames));
  std::atomic<bool> sent{false};
  const Server sender([&](int fd, const std::atomic<bool>& over) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::this_thread::sleep_until(start + microseconds(static_cast<std::int64_t>(i) * frame));
      if (!send_all(fd, parts[i])) return;
    }
    sent = true;
    stay_silent(fd, over);
  });
  record("tcp://127.0.0.1:" + std::to_string(sender.port()), sent, "    timestamps: arrival\n", false);
  expect_even(0);
}

// Its sound is counted from elsewhere, and begins with the frames.
TEST_F(ClockRate, ByArrivalItsSoundBeginsWithTheFrames) {
  record({.time = [](int i) { return static_cast<std::uint32_t>(700'000 + i * 100); }, .sound = 1},
         "    timestamps: arrival\n");
  expect_even(0);
  ASSERT_FALSE(heard_.empty());
  EXPECT_NEAR(static_cast<double>(heard_.front()), static_cast<double>(pictures_.front()), bound / 2)
      << heard_.size() << " of " << sounds_ << log_;
  EXPECT_NEAR(static_cast<double>(heard_.back()), static_cast<double>(pictures_.back()), bound) << log_;
}

// Sound without sender reports.
TEST_F(ClockRate, SoundStaysWithTheFrames) {
  for (const double rate : {0.9, 1.1}) {
    pictures_.clear();
    heard_.clear();
    record({.time = [](int i) { return static_cast<std::uint32_t>(i * 9000); }, .sound = rate});
    expect_even(10 * frame);
    // What a fast clock had run ahead lies on sound that was recorded already.
    EXPECT_GE(heard_.size(), static_cast<std::size_t>(sounds_ - (rate < 1 ? 20 : 80))) << log_;
    ASSERT_FALSE(heard_.empty());
    EXPECT_NEAR(static_cast<double>(heard_.back()), static_cast<double>(pictures_.back()), bound) << rate << log_;
    EXPECT_EQ(logged("the clock of its sound runs at " + std::string(rate < 1 ? "0.9" : "1.")), 1) << log_;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
