// Cameras whose clocks run at another rate than they say, each in the same rig: where the frames and the sound of a
// recording lie, by when the camera sent them.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <sstream>
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

struct Recorded {
  std::vector<std::int64_t> pictures;  // us
  std::vector<std::int64_t> heard;
  int sounds = 0;  // packets of sound that were sent
};

class ClockRates {
 public:
  // `keys`: of the camera, in lines.
  void add(const std::string& name, const Sending& sending, const std::string& keys = "") {
    Sent& sent = sent_.emplace_back();
    sent.source = std::make_unique<RtpCamera>(
        sending.sound > 0 ? std::vector<std::string>{video_media("H264"), "m=audio 0 RTP/AVP 0\r\n"}
                          : std::vector<std::string>{video_media("H264")},
        [sending, &sent](RtpLine& line) { play(sending, line, sent); });
    add_camera(name, sent.source->url(), "    rtsp_transport: tcp\n" + keys);
  }

  // Of other protocols nobody knows when what was read for the analysis had come: its own times say it.
  void add_transport_stream(const std::string& name, const std::string& keys) {
    constexpr unsigned video_pid = 256;
    make_clip(folder_.path(), {.name = "clip.ts", .frames = frames, .gop = 10, .rate = 10});
    Sent& sent = sent_.emplace_back();
    const std::vector<std::string> parts = ts_frames(read_text(folder_.path() / "clip.ts"), video_pid);
    ASSERT_EQ(parts.size(), static_cast<std::size_t>(frames));
    sent.server = std::make_unique<Server>([parts, &sent](int fd, const std::atomic<bool>& over) {
      const auto start = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i < parts.size(); ++i) {
        std::this_thread::sleep_until(start + microseconds(static_cast<std::int64_t>(i) * frame));
        if (!send_all(fd, parts[i])) return;
      }
      sent.all = true;
      stay_silent(fd, over);
    });
    add_camera(name, "tcp://127.0.0.1:" + std::to_string(sent.server->port()), keys);
  }

  // Runs the rig until all that the cameras send is in their recordings.
  void record() {
    RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" + cameras_);
    ASSERT_TRUE(eventually([&] {
      return std::ranges::all_of(sent_, [](const Sent& sent) { return sent.all.load(); });
    })) << rig.log();
    // What was sent has come when the next frame would be late.
    std::this_thread::sleep_for(microseconds(3 * frame));
    rig.signal(SIGTERM);
    ASSERT_EQ(rig.wait(), 0) << rig.log();
    log_ = rig.log();
    auto sent = sent_.begin();
    for (const std::string& name : names_) {
      Recorded& recorded = recorded_[name];
      for (const ShownPicture& picture : read_video(rig.file(name + ".mkv")).pictures)
        recorded.pictures.push_back(picture.pts / 1000);
      recorded.sounds = (sent++)->sounds;
      if (recorded.sounds == 0) continue;
      for (const double time : sound_times(rig.file(name + ".mkv"))) recorded.heard.push_back(std::llround(time * 1e6));
    }
  }

  [[nodiscard]] const Recorded& of(const std::string& name) const { return recorded_.at(name); }
  // Behind the time in which it was learned, each frame lies where it was sent, seen from the last one.
  void expect_even(const std::string& name, std::int64_t from) const {
    const std::vector<std::int64_t>& pictures = of(name).pictures;
    ASSERT_GE(pictures.size(), static_cast<std::size_t>(frames - 5)) << name << ": " << log_;
    const std::int64_t last = pictures.back();
    const auto expected = static_cast<std::size_t>(frames - from / frame);
    for (std::size_t i = pictures.size() - std::min(expected, pictures.size()); i < pictures.size(); ++i)
      EXPECT_NEAR(static_cast<double>(last - pictures[i]), static_cast<double>((pictures.size() - 1 - i) * frame),
                  bound)
          << name << ' ' << i << ": " << log_;
  }
  // Lines about that camera with that text.
  void expect_logged(const std::string& name, const std::string& text, int times) const {
    std::istringstream lines(log_);
    int found = 0;
    for (std::string line; std::getline(lines, line);)
      found += line.find(' ' + name + ": ") != std::string::npos && line.find(text) != std::string::npos ? 1 : 0;
    EXPECT_EQ(found, times) << name << ": " << text << '\n' << log_;
  }

 private:
  struct Sent {
    std::atomic<bool> all{false};
    std::atomic<int> sounds{0};
    std::unique_ptr<RtpCamera> source;  // these use the others
    std::unique_ptr<Server> server;
  };

  static void play(const Sending& sending, RtpLine& line, Sent& sent) {
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
    sent.sounds = sound;
    sent.all = true;
    line.wait_for_end();
  }

  void add_camera(const std::string& name, const std::string& url, const std::string& keys) {
    names_.push_back(name);
    cameras_ += "  " + name + ":\n    source: \"" + url + "\"\n    encode: {codec: copy}\n" + keys +
                "    record: {path: \"{camera}.mkv\"}\n";
  }

  TemporaryFolder folder_;
  std::list<Sent> sent_;
  std::vector<std::string> names_;  // as they were sent
  std::string cameras_;
  std::map<std::string, Recorded> recorded_;
  std::string log_;
};

// A camera that counts milliseconds, and says it were 90 kHz.
std::uint32_t milliseconds_of(int i) { return static_cast<std::uint32_t>(1000 + i * 100); }

TEST(ClockRate, FramesAndSoundLieWhereTheyAreSent) {
  ClockRates rates;
  const std::string arrival = "    timestamps: arrival\n";
  rates.add("useless", {.time = milliseconds_of});
  rates.add("still", {.time = [](int i) { return static_cast<std::uint32_t>(1000 + i); }});
  // From the first packet on: what libavformat would analyze has no length.
  rates.add("one_time", {.time = [](int) { return 1000U; }});
  // It stamps 15 frames a second, and sends 10.
  rates.add("fast", {.time = [](int i) { return static_cast<std::uint32_t>(i * 6000); }});
  rates.add("by_arrival", {.time = milliseconds_of}, arrival);
  rates.add_transport_stream("by_arrival_ts", arrival);
  // Its sound is counted from elsewhere, and begins with the frames.
  rates.add("by_arrival_sound",
            {.time = [](int i) { return static_cast<std::uint32_t>(700'000 + i * 100); }, .sound = 1}, arrival);
  // Sound without sender reports.
  const auto right = [](int i) { return static_cast<std::uint32_t>(i * 9000); };
  rates.add("slow_sound", {.time = right, .sound = 0.9});
  rates.add("fast_sound", {.time = right, .sound = 1.1});
  ASSERT_NO_FATAL_FAILURE(rates.record());

  rates.expect_even("useless", learned);
  rates.expect_logged("useless", "times are those of arrival", 1);
  rates.expect_even("still", learned);
  rates.expect_logged("still", "its clock stands still", 1);
  rates.expect_even("one_time", analyzed);
  rates.expect_logged("one_time", "its clock stands still", 1);
  rates.expect_even("fast", learned);
  rates.expect_logged("fast", "of the rate that it says; its timestamps are corrected by that", 1);
  // Those that came during the analysis, too.
  for (const std::string name : {"by_arrival", "by_arrival_ts", "by_arrival_sound"}) rates.expect_even(name, 0);
  rates.expect_logged("by_arrival", "clock", 0);
  {
    const Recorded& recorded = rates.of("by_arrival_sound");
    ASSERT_FALSE(recorded.heard.empty());
    EXPECT_NEAR(static_cast<double>(recorded.heard.front()), static_cast<double>(recorded.pictures.front()), bound / 2)
        << recorded.heard.size() << " of " << recorded.sounds;
    EXPECT_NEAR(static_cast<double>(recorded.heard.back()), static_cast<double>(recorded.pictures.back()), bound);
  }
  for (const std::string name : {"slow_sound", "fast_sound"}) {
    SCOPED_TRACE(name);
    const bool slow = name == "slow_sound";
    rates.expect_even(name, 10 * frame);
    const Recorded& recorded = rates.of(name);
    // What a fast clock had run ahead lies on sound that was recorded already.
    EXPECT_GE(recorded.heard.size(), static_cast<std::size_t>(recorded.sounds - (slow ? 20 : 80)));
    ASSERT_FALSE(recorded.heard.empty());
    EXPECT_NEAR(static_cast<double>(recorded.heard.back()), static_cast<double>(recorded.pictures.back()), bound);
    rates.expect_logged(name, "the clock of its sound runs at " + std::string(slow ? "0.9" : "1."), 1);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
