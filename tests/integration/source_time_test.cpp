// Time that passed stays in the file. A rig serves the test pattern by RTSP, as a camera does; between it and the rig
// that records lies a network that stalls and breaks. The numbers in the frames say when each was made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/rig_waits.h"
#include "tests/integration/tcp_relay.h"
#include "tests/integration/test_camera.h"
#include "tests/integration/times_in.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t frame = 40 * ms;
constexpr std::int64_t bound = 200 * ms;
constexpr std::uintmax_t some = 20'000;  // bytes of a recording: about a second

class SourceTime : public testing::Test {
 protected:
  // `keys`: of both cameras that are recorded, lines.
  void begin(const std::string& keys) {
    ASSERT_TRUE(eventually([&] { return camera_.log().find("rtsp://") != std::string::npos; })) << camera_.log();
    const std::string source = "rtsp://127.0.0.1:" + std::to_string(relay_.port()) + "/cam";
    const auto camera = [&](const std::string& name, const std::string& encode) {
      return "  " + name + ":\n    source: \"" + source + "\"\n    rtsp_transport: tcp\n    record: {path: " + name +
             ".mp4}\n    encode: " + encode + "\n" + keys;
    };
    rig_ = std::make_unique<RigRun>(
        "http_address: off\nrtsp_address: off\n"
        "defaults: {retry_interval: 100ms, retry_max: 500ms}\nworkers: {count: 1}\ncameras:\n" +
        camera("decoded", "{gop: 10, bitrate: 1M}") + camera("copied", "{codec: copy}"));
  }

  void wait_for_more() {
    for (const std::string file : {"decoded.mp4", "copied.mp4"}) {
      ASSERT_TRUE(rig_->wait_for_growth(file, rig_->size(file) + some)) << rig_->log();
    }
  }

  // Both cameras were away, and are there again; before that so often.
  void wait_for_reconnection(std::size_t before) {
    const auto times = [&](const std::string& text) { return times_in(rig_->log(), text); };
    for (const std::string name : {"decoded", "copied"}) {
      ASSERT_TRUE(eventually([&] { return times(name + ": delivers again") > before; })) << rig_->log();
    }
  }

  void stall(milliseconds time) {
    relay_.pause();
    std::this_thread::sleep_for(time);
    relay_.resume();
  }

  void end() {
    rig_->signal(SIGTERM);
    ASSERT_EQ(rig_->wait(), 0) << rig_->log();
  }

  // By how far the times of a file's frames lie from when they were made, counted from the first; the last `seconds`.
  static std::int64_t largest_error(const VideoFile& video, double seconds = 1e6) {
    std::int64_t largest = 0;
    const std::vector<std::int64_t> times = times_of(video);
    const std::vector<std::int64_t> numbers = numbers_of(video);
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (numbers[i] < 0 || static_cast<double>(times.back() - times[i]) > seconds * 1e9) continue;
      largest = std::max(largest, std::abs(times[i] - (numbers[i] - numbers[0]) * frame));
    }
    return largest;
  }

  // Since 1970, of a time such as "2026-11-21T10:15:30.250Z".
  static double seconds_of(const std::string& utc) {
    tm time{};
    const char* const fraction = ::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
    return static_cast<double>(::timegm(&time)) + std::strtod(fraction, nullptr);
  }

  void expect_no_correction(const std::string& name) {
    const auto camera = rig_->camera(name);
    for (const auto& [kind, count] : camera.at("source").at("timestamps_corrected").items()) {
      EXPECT_EQ(count, 0) << name << " " << kind << rig_->log();
    }
  }

  const int port_ = free_port();
  RigRun camera_{"http_address: off\nrtsp_address: \"127.0.0.1:" + std::to_string(port_) +
                 "\"\nworkers: {count: 1}\ncameras:\n  cam:\n    source: "
                 "\"test://pattern?width=320&height=240&rate=25\"\n    encode: {gop: 10, bitrate: 1M}\n"};
  TcpRelay relay_{port_};
  std::unique_ptr<RigRun> rig_;
};

TEST_F(SourceTime, StallsOfTheNetworkLeaveIt) {
  begin("    read_timeout: 20s\n");
  wait_for_more();
  for (const milliseconds length : {milliseconds(400), milliseconds(2500), milliseconds(6000)}) {
    stall(length);
    wait_for_more();
  }
  end();
  for (const std::string name : {"decoded", "copied"}) {
    const VideoFile video = read_video(rig_->file(name + ".mp4"));
    EXPECT_LE(largest_error(video), bound) << name << rig_->log();
    EXPECT_EQ(rig_->camera(name).at("reconnects"), 0) << rig_->log();
    EXPECT_GE(rig_->camera(name).at("source").at("largest_lag_ms"), 4000);
    expect_no_correction(name);
  }
}

// What was read to learn what the stream is had arrived before it was read.
TEST_F(SourceTime, TheIndexTellsWhenTheFileBeginsOnTheClock) {
  RigWaits camera_waits(camera_);
  begin("");
  RigWaits waits(*rig_);
  wait_for_more();
  end();
  const double late = camera_waits.seconds() + waits.seconds();
  for (const std::string name : {"decoded", "copied"}) {
    std::ifstream index(rig_->file(name + ".index.jsonl"));
    std::string line;
    while (std::getline(index, line) && json::parse(line).at("event") != "end") {
    }
    const json end = json::parse(line);
    const double lasted = seconds_of(end.at("end")) - seconds_of(end.at("start"));
    EXPECT_NEAR(lasted, end.at("duration_s").get<double>(), 0.2 + late) << name << " " << line << rig_->log();
  }
}

TEST_F(SourceTime, TheCamerasClockCountsWhereItIsToCount) {
  ASSERT_TRUE(eventually([&] { return camera_.log().find("rtsp://") != std::string::npos; })) << camera_.log();
  const int port = free_port();
  const std::string source =
      "{rtsp_transport: tcp, source: \"rtsp://127.0.0.1:" + std::to_string(relay_.port()) + "/cam\"";
  const RigRun rig("http_address: 127.0.0.1:" + std::to_string(port) +
                   "\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  theirs: " + source + "}\n  ours: " + source +
                   ", use_absolute_timestamp: false}\n");
  const auto clock_of = [&](const std::string& name) -> std::string {
    const Reply reply = ask(static_cast<std::uint16_t>(port), "GET /api/v1/cameras/" + name);
    return reply.status == 200 ? json::parse(reply.body).at("source_health").at("capture_clock") : "";
  };
  ASSERT_TRUE(eventually([&] { return rig.log().find("watch at") != std::string::npos; })) << rig.log();
  // Sender reports come every few seconds, to both at once.
  ASSERT_TRUE(eventually([&] { return clock_of("theirs") == "camera"; })) << rig.log();
  EXPECT_EQ(clock_of("ours"), "arrival");
}

// Its sender reports tell the time of day for timestamps of before.
TEST_F(SourceTime, ACameraWhoseClockJumpsLeavesTheIndexOnTheClock) {
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  TestCamera jumpy;
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  cam:\n    source: \"" +
             jumpy.url() + "\"\n    rtsp_transport: tcp\n    record: {path: \"cam/%s.mp4\", segment_duration: 2s}\n");
  const auto index = [&](const std::string& event) {
    std::vector<json> lines;
    std::ifstream file(rig.file("cam/cam.index.jsonl"));
    for (std::string line; std::getline(file, line);) {
      if (json::parse(line).at("event") == event) lines.push_back(json::parse(line));
    }
    return lines;
  };
  for (const char* jump : {"clock -3600", "clock 3600"}) {
    const std::size_t before = index("end").size();
    ASSERT_TRUE(eventually([&] { return index("end").size() > before; })) << rig.log();
    jumpy.command(jump);
    ASSERT_TRUE(eventually([&] { return index("end").size() > before + 2; })) << rig.log();
  }
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const std::vector<json> ends = index("end");
  const double first = seconds_of(ends.front().at("start"));
  double recorded = 0;
  for (const json& end : ends) {
    EXPECT_NEAR(seconds_of(end.at("start")) - first, recorded, 3) << end << rig.log();
    EXPECT_NEAR(seconds_of(end.at("end")) - seconds_of(end.at("start")), end.at("duration_s").get<double>(), 1) << end;
    recorded += end.at("duration_s").get<double>();
  }
}

TEST_F(SourceTime, ReconnectionsLeaveIt) {
  begin("    read_timeout: 2s\n");
  wait_for_more();
  relay_.pause();
  relay_.cut();
  std::this_thread::sleep_for(milliseconds(1500));
  relay_.resume();
  wait_for_reconnection(0);
  wait_for_more();
  relay_.cut();
  wait_for_reconnection(1);
  wait_for_more();
  stall(milliseconds(1500));
  wait_for_more();
  end();
  for (const std::string name : {"decoded", "copied"}) {
    const VideoFile video = read_video(rig_->file(name + ".mp4"));
    EXPECT_LE(largest_error(video, 0.5), bound) << name << rig_->log();
    EXPECT_GE(rig_->camera(name).at("reconnects"), 2) << rig_->log();
  }
}

class SlowWorker : public SourceTime, public testing::WithParamInterface<std::string> {};

// It takes longer for a frame than the camera does.
TEST_P(SlowWorker, LeavesIt) {
  begin("    read_timeout: 20s\n");
  wait_for_more();
  const std::string filters = is_sanitized ? "[{resize: {width: 480, height: 270}}, {blur: {sigma: 5}}]"
                                           : "[{resize: {width: 1920, height: 1080}}, {blur: {sigma: 20}}]";
  RigRun slow(
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  slow:\n    source: \"rtsp://127.0.0.1:" +
      std::to_string(relay_.port()) + "/cam\"\n    rtsp_transport: tcp\n    read_timeout: 20s\n    drop_policy: " +
      GetParam() + "\n    queue_size: 2\n    filters: " + filters + "\n    record: {path: slow.mp4}\n");
  ASSERT_TRUE(slow.wait_for_growth("slow.mp4", 8 * some)) << slow.log();
  slow.signal(SIGTERM);
  ASSERT_EQ(slow.wait(), 0) << slow.log();
  EXPECT_LE(largest_error(read_video(slow.file("slow.mp4"))), bound) << slow.log();
  end();
}

INSTANTIATE_TEST_SUITE_P(Policies, SlowWorker, testing::Values("drop", "block"),
                         [](const auto& policy) { return policy.param; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
