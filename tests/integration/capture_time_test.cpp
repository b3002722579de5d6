// When frames were taken, as a recording's index and its timeline have it: by the camera's sender reports, or by when
// their last packets arrived.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/ffmpeg.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/coded_units.h"
#include "tests/unit/producer_times.h"
#include "tests/unit/rtp_camera.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using std::chrono::microseconds;

constexpr std::int64_t frame = 40'000;  // us
constexpr std::int64_t bound = 2000;    // us; the index has milliseconds

// Of a packet of an MP4 file, or of a unit with start codes: what is in no header.
std::string slices_of(const std::vector<std::string>& nal_units) {
  std::string slices;
  for (const std::string& nal : nal_units) {
    const int type = nal[0] & 0x1f;
    if (type == 1 || type == 5) slices += nal;
  }
  return slices;
}

std::string first_slices(const std::filesystem::path& file) {
  AVFormatContext* context = nullptr;
  av_check(avformat_open_input(&context, file.c_str(), nullptr, nullptr), file);
  const AvInput input(context);
  const AvPacket packet = make_av_packet();
  av_check(av_read_frame(input.get(), packet.get()), file);
  const std::string data(packet->data, packet->data + packet->size);
  std::vector<std::string> units;
  for (std::size_t at = 0; at + 4 < data.size();) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8U | static_cast<unsigned char>(data[at + i]);
    units.push_back(data.substr(at + 4, size));
    at += 4 + size;
  }
  return slices_of(units);
}

// "2026-11-21T10:15:30.250Z", in us since 1970.
std::int64_t us_of(const std::string& utc) {
  tm time{};
  const char* const fraction = ::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  return std::int64_t{::timegm(&time)} * 1'000'000 + std::llround(std::strtod(fraction, nullptr) * 1e6);
}

class CaptureTime : public testing::TestWithParam<int> {};

TEST_P(CaptureTime, OfEachFileIsThatOfItsFirstFrame) {
  const std::vector<CodedUnit> units = coded_units({.count = 250, .gop = 25, .b_frames = GetParam()});
  std::atomic<std::int64_t> begun{0};  // us; the frame with number 0 was taken then
  const auto time_of = [](const CodedUnit& unit) { return static_cast<std::uint32_t>(unit.number * 3600); };
  RtpCamera camera({video_media("H264")}, [&](RtpLine& line) {
    begun = utc_now_ns() / 1000;
    const auto start = Clock::now();
    for (std::size_t i = 0; i < units.size(); ++i) {
      std::this_thread::sleep_until(start + microseconds(static_cast<std::int64_t>(i) * frame));
      if (i % 25 == 0 && !line.report(0, begun + units[i].number * frame, time_of(units[i]))) return;
      if (!line.frame(0, rtp_payloads("libx264", units[i].data), time_of(units[i]))) return;
    }
    line.wait_for_end();
  });
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  cam:\n    source: \"" +
             camera.url() +
             "\"\n    rtsp_transport: tcp\n    encode: {codec: copy}\n"
             "    record: {path: \"cam/%s.mp4\", segment_duration: 2s}\n");
  const auto ends = [&] {
    std::vector<json> lines;
    std::ifstream file(rig.file("cam/cam.index.jsonl"));
    for (std::string line; std::getline(file, line);)
      if (json::parse(line).at("event") == "end") lines.push_back(json::parse(line));
    return lines;
  };
  ASSERT_TRUE(eventually([&] { return ends().size() >= 3; })) << rig.log();
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  for (const json& end : ends()) {
    const std::string file = std::filesystem::path(end.at("file").get<std::string>()).filename();
    const std::string slices = first_slices(rig.file("cam") / file);
    const auto unit =
        std::ranges::find_if(units, [&](const CodedUnit& u) { return slices_of(nal_units(u.data)) == slices; });
    ASSERT_NE(unit, units.end()) << end;
    EXPECT_EQ(end.at("clock"), "camera") << end;
    EXPECT_NEAR(static_cast<double>(us_of(end.at("start"))), static_cast<double>(begun + unit->number * frame), bound)
        << end;
  }
}

// It hangs up after every 12 frames, and counts from somewhere else in its next connection.
TEST(CaptureTimeWithoutReports, IsWhenEachFrameArrivedAlsoAfterReconnections) {
  constexpr std::int64_t slow = 200'000;  // us, from frame to frame
  constexpr std::size_t connections = 3;
  const std::vector<CodedUnit> units = coded_units({.count = 12, .gop = 4});
  const std::int64_t begun = utc_now_ns() / 1000;
  std::mutex mutex;
  std::vector<std::int64_t> sent;  // us; of each frame
  std::size_t served = 0;
  RtpCamera camera({video_media("H264")}, [&](RtpLine& line) {
    {
      const std::lock_guard lock(mutex);
      if (served++ >= connections) return line.wait_for_end();
    }
    const std::int64_t first = (utc_now_ns() / 1000 - begun) / slow + 1;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const std::int64_t taken = begun + (first + static_cast<std::int64_t>(i)) * slow;
      const auto time = static_cast<std::uint32_t>(first * 700'000 + static_cast<std::int64_t>(i) * 18'000);
      std::this_thread::sleep_for(microseconds(taken - utc_now_ns() / 1000));
      if (!line.frame(0, rtp_payloads("libx264", units[i].data), time)) return;
      const std::lock_guard lock(mutex);
      sent.push_back(taken);
    }
  });
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  cam:\n    source: \"" +
             camera.url() +
             "\"\n    rtsp_transport: tcp\n    retry_max: 1s\n    encode: {codec: copy}\n"
             "    record: {path: \"cam.mkv\"}\n");
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return served > connections;
  })) << rig.log();
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const VideoFile video = read_video(rig.file("cam.mkv"));
  ASSERT_EQ(video.pictures.size(), sent.size()) << rig.log();
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const auto passed = static_cast<double>(video.pictures[i].pts - video.pictures[0].pts) / 1000;
    EXPECT_NEAR(passed, static_cast<double>(sent[i] - sent[0]), slow / 2.0) << i << rig.log();
  }
  std::ifstream index(rig.file("cam.index.jsonl"));
  std::string line;
  ASSERT_TRUE(std::getline(index, line)) << rig.log();
  EXPECT_NEAR(static_cast<double>(us_of(json::parse(line).at("start"))), static_cast<double>(sent[0]), slow / 2.0)
      << line;
}

// A camera that takes a frame each `step` us from `begun` (UTC, us) on, and says so with every 25th.
std::unique_ptr<RtpCamera> camera_with_clock(const std::vector<CodedUnit>& units, std::int64_t begun,
                                             std::int64_t step) {
  return std::make_unique<RtpCamera>(std::vector{video_media("H264")}, [&units, begun, step](RtpLine& line) {
    const std::int64_t first = (utc_now_ns() / 1000 - begun) / step + 1;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const std::int64_t number = first + static_cast<std::int64_t>(i);
      const std::int64_t taken = begun + number * step;
      const auto time = static_cast<std::uint32_t>(number * step * 9 / 100);
      std::this_thread::sleep_for(microseconds(taken - utc_now_ns() / 1000));
      if (i % 25 == 0 && !line.report(0, taken, time)) return;
      if (!line.frame(0, rtp_payloads("libx264", units[i].data), time)) return;
    }
    line.wait_for_end();
  });
}

std::string pair_of(const RtpCamera& left, const RtpCamera& right, const std::string& keys) {
  const auto member = [](const std::string& name, const RtpCamera& camera) {
    return "  " + name + ": {source: \"" + camera.url() + "\", rtsp_transport: tcp, encode: {codec: h264, gop: 1s}, " +
           "record: {path: \"" + name + ".mp4\"}}\n";
  };
  return "http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n" + member("left", left) +
         member("right", right) + "sync_groups:\n  pair: {cameras: [left, right], " + keys + "}\n";
}

// Two cameras without a common trigger: the second one takes its frames 9 ms after the first, and the middle between
// two sets lies between them.
TEST(CaptureTimeOfASet, IsTheSameInTheFilesOfAllMembers) {
  constexpr std::int64_t apart = 9000;  // us
  const std::vector<CodedUnit> units = coded_units({.count = 500, .gop = 25});
  const std::int64_t begun = utc_now_ns() / 1000 / frame * frame + 16'000;
  const auto left = camera_with_clock(units, begun, frame);
  const auto right = camera_with_clock(units, begun + apart, frame);
  RigRun rig(pair_of(*left, *right, "rate: 25, tolerance: 20ms"));
  const auto times_of = [&](const std::string& name) { return producer_times(bytes_of(rig.file(name + ".mp4"))); };
  ASSERT_TRUE(eventually([&] {
    return std::filesystem::exists(rig.file("left.mp4")) && std::filesystem::exists(rig.file("right.mp4")) &&
           times_of("left").size() >= 8 && times_of("right").size() >= 8;
  })) << rig.log();
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const auto lefts = times_of("left");
  const auto rights = times_of("right");
  std::size_t compared = 0;
  for (const ProducerTime& time : lefts) {
    const auto same = std::ranges::find_if(
        rights, [&](const ProducerTime& other) { return std::abs(other.shown - time.shown) < 1e-4; });
    if (same == rights.end()) continue;
    ++compared;
    EXPECT_NEAR(static_cast<double>(same->utc - time.utc), 0, 1e6) << time.shown << rig.log();
  }
  EXPECT_GE(compared + 2, lefts.size());
  // In the middle between the two cameras' clocks, once both have sent their reports for a while.
  const double off = std::fmod(static_cast<double>(lefts.back().utc / 1000 - begun), frame);
  EXPECT_NEAR(off, apart / 2.0, 2 * bound) << rig.log();
}

// Slow ones, of which one takes its frames shortly before the middle between two sets, and the other one behind it: of
// one set, the one's frame comes nearly a set later than the other's.
TEST(SlowSets, AreCompleteAlsoWhereTheirFramesLieOnBothSidesOfTheMiddle) {
  constexpr std::int64_t slow = 200'000;  // us
  const std::vector<CodedUnit> units = coded_units({.count = 40, .gop = 5});
  const std::int64_t begun = utc_now_ns() / 1000 / slow * slow;
  const auto left = camera_with_clock(units, begun + 90'000, slow);
  const auto right = camera_with_clock(units, begun + 110'000, slow);
  RigRun rig(pair_of(*left, *right, "rate: 5, tolerance: 200ms"));
  const auto seconds_in = [&](const std::string& name) {
    return std::filesystem::exists(rig.file(name)) ? producer_times(bytes_of(rig.file(name))).size() : 0;
  };
  ASSERT_TRUE(eventually([&] { return seconds_in("left.mp4") >= 4 && seconds_in("right.mp4") >= 4; })) << rig.log();
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  for (const std::string camera : {"left", "right"}) {
    const json frames = rig.camera(camera).at("frames");
    EXPECT_LT(4 * frames.at("dropped").value("late", 0), frames.at("decoded").get<int>()) << camera << rig.log();
  }
}

INSTANTIATE_TEST_SUITE_P(BFrames, CaptureTime, testing::Values(0, 2),
                         [](const auto& count) { return std::to_string(count.param); });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
