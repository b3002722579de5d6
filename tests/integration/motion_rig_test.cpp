// Motion in rigs that run: its score where users look for it, and recordings by motion of what is encoded and of what
// is only copied, as ffprobe and ffmpeg see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "core/error.h"
#include "tests/integration/frame_hashes.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/command_output.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

std::vector<std::string> lines_of(const std::string& command) {
  std::vector<std::string> lines;
  std::istringstream output(output_of(command));
  for (std::string line; std::getline(output, line);) lines.push_back(line);
  return lines;
}

// Nothing moves in it but a white box, from the 3rd to the 5th of 12 seconds. A key frame a second.
class MotionRig : public testing::Test {
 protected:
  MotionRig() {
    const std::string command =
        "ffmpeg -v error -f lavfi -i color=gray:s=320x240:r=25:d=12 -f lavfi -i color=white:s=40x40:r=25:d=12 "
        "-filter_complex \"overlay=x='20+50*(t-3)':y=100:enable='between(t,3,5)'\" -c:v libx264 -preset veryfast "
        "-bf 2 -g 25 -keyint_min 25 -sc_threshold 0 -pix_fmt yuv420p '" +
        clip().string() + "'";
    if (std::system(command.c_str()) != 0) throw Error("ffmpeg made no clip");
  }
  [[nodiscard]] fs::path clip() const { return clips_.path() / "clip.mp4"; }

  // `keys`: of the camera, with its `encode`.
  [[nodiscard]] std::string rig(const std::string& keys) const {
    return "cameras:\n  dock:\n    source: \"" + clip().string() +
           "\"\n    record: {path: '%s.mp4', when: motion, before: 1s, after: 2s}\n" + keys;
  }

  TemporaryFolder clips_;
};

// The files of a folder that end so.
std::vector<fs::path> files_in(const fs::path& folder, const std::string& ending) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ending) files.push_back(entry.path());
  return files;
}

struct FoundPacket {
  bool key = false;
  double pts = 0;
};

std::vector<FoundPacket> packets_of(const fs::path& file) {
  std::vector<FoundPacket> packets;
  for (const std::string& line : lines_of("ffprobe -v error -select_streams v:0 -show_entries packet=pts_time,flags "
                                          "-of csv=p=0 '" +
                                          file.string() + "'")) {
    const auto comma = line.find(',');
    packets.push_back({line.find('K', comma) != std::string::npos, std::stod(line)});
  }
  return packets;
}

std::vector<std::string> events_in(const fs::path& file) {
  std::vector<std::string> events;
  std::istringstream text(read_text(file));
  for (std::string line; std::getline(text, line);) events.push_back(json::parse(line).at("event"));
  return events;
}

// 0: there is no such line.
double value_in(const std::string& metrics, const std::string& name) {
  std::smatch found;
  const std::regex line("\n" + name + "\\{camera=\"dock\",output=\"main\"\\} ([0-9.e+-]+)\n");
  return std::regex_search(metrics, found, line) ? std::stod(found[1]) : 0;
}

class MotionIsSeen : public MotionRig, public testing::WithParamInterface<const char*> {};

// By the owner in the status and on the terminal, by Prometheus, and in the report.
TEST_P(MotionIsSeen, WhileItIsThere) {
  const auto port = static_cast<std::uint16_t>(free_port());
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  RigRun run(
      "http_address: \"127.0.0.1:" + std::to_string(port) + "\"\nrtsp_address: off\n" +
      rig(std::string("    loop: true\n    filters: [{motion: {sensitivity: 60}}]\n    encode: ") + GetParam() + "\n"));
  json motion;
  std::string table, metrics;
  // One after the other: the box may come or go in between.
  const auto is_so = [](bool moves, double percent, double threshold) {
    return threshold > 0 && (moves ? percent >= threshold : percent == 0);
  };
  const auto status_says = [&](bool moves) {
    const Answer answer = ask({"status", "--json", "--url", url});
    if (answer.status != 0) return false;
    motion = json::parse(answer.output).at("cameras").at("dock").value("motion", json::object());
    return is_so(moves, motion.value("score_percent", -1.0), motion.value("threshold_percent", 0.0)) &&
           motion.value("events", 0) >= (moves ? 1 : 0);
  };
  const auto metrics_say = [&](bool moves) {
    metrics = ask(port, "GET /metrics").body;
    return metrics.find("campipe_motion_score_ratio") != std::string::npos &&
           is_so(moves, 100 * value_in(metrics, "campipe_motion_score_ratio"),
                 100 * value_in(metrics, "campipe_motion_threshold_ratio"));
  };
  const auto table_says = [&](bool moves) {
    table = ask({"status", "--url", url}).output;
    return moves ? std::regex_search(table, std::regex("motion (?!0 )[0-9.]+ % \\(from 0\\.[0-9]+ %\\)"))
                 : table.find("motion 0 % (from ") != std::string::npos;
  };
  for (const bool moves : {false, true}) {
    ASSERT_TRUE(eventually([&] { return status_says(moves); })) << motion << run.log();
    ASSERT_TRUE(eventually([&] { return metrics_say(moves); })) << metrics << run.log();
    ASSERT_TRUE(eventually([&] { return table_says(moves); })) << table << run.log();
  }
  EXPECT_NEAR(100 * value_in(metrics, "campipe_motion_threshold_ratio"), motion.at("threshold_percent"), 1e-6);
  EXPECT_GE(value_in(metrics, "campipe_motion_events_total"), 1);
  const bool is_decoded = metrics.find("campipe_queue_size_frames{camera=\"dock\"}") != std::string::npos;
  EXPECT_EQ(is_decoded, std::string(GetParam()).find("copy") == std::string::npos) << metrics;
  // The box is 1600 of 76800 samples; what it was on, and what it is on now, has changed too.
  EXPECT_GT(motion.at("largest_percent"), 0.5);
  EXPECT_LT(motion.at("largest_percent"), 7);
  run.signal(SIGINT);
  ASSERT_EQ(run.wait(), 0) << run.log();
  const json reported = run.camera("dock").at("motion");
  EXPECT_EQ(reported.at("threshold_percent"), motion.at("threshold_percent"));
  EXPECT_GE(reported.at("largest_percent"), motion.at("largest_percent"));
  EXPECT_GE(reported.at("events"), 1);
  EXPECT_FALSE(reported.contains("score_percent"));
}

INSTANTIATE_TEST_SUITE_P(Streams, MotionIsSeen, testing::Values("{gop: 1s, bitrate: 1M}", "{codec: copy}"));

TEST_F(MotionRig, WhereNobodyLooksForItNothingIsSaidOfIt) {
  RigRun run("cameras:\n  dock:\n    source: \"" + clip().string() + "\"\n    pace: fast\n    encode: {codec: copy}\n");
  ASSERT_EQ(run.wait(), 0) << run.log();
  EXPECT_FALSE(run.camera("dock").contains("motion"));
}

// Whatever is recorded of it. A camera's filter is one place to look for motion, however many outputs take its frames.
TEST_F(MotionRig, EventsComeWhereverAFilterLooksForMotion) {
  const std::string camera = ":\n    source: \"" + clip().string() + "\"\n    pace: fast\n    filters: [motion]\n";
  const std::string small =
      "    outputs: {small: {filters: [{resize: {width: 160, height: 120}}], encode: {gop: 1s}}}\n";
  RigRun run("cameras:\n  always" + camera + "    encode: {gop: 1s}\n    record: {path: always.mp4, after: 2s}\n" +
             small + "  unrecorded" + camera + "    encode: {gop: 1s}\n  copied" + camera +
             "    encode: {codec: copy}\n    record: {path: copied.mp4, after: 2s}\n  passed" + camera +
             "    encode: {codec: copy}\n");
  ASSERT_EQ(run.wait(), 0) << run.log();
  std::map<std::string, std::vector<json>> events;
  std::istringstream text(read_text(run.file("events.jsonl")));
  for (std::string line; std::getline(text, line);) {
    const json event = json::parse(line);
    EXPECT_EQ(event.at("output"), "main");
    events[event.at("camera")].push_back(event);
  }
  ASSERT_THAT(events, SizeIs(4));
  for (const auto& [name, lines] : events) {
    ASSERT_THAT(lines, SizeIs(2)) << name;
    EXPECT_EQ(lines[0].at("event"), "motion_begin");
    EXPECT_EQ(lines[1].at("event"), "motion_end");
    const bool records = name == "always" || name == "copied";
    for (const json& line : lines) EXPECT_EQ(line.at("file"), records ? name + ".mp4" : "");
    EXPECT_EQ(run.camera(name).at("motion").at("events"), 1);
    EXPECT_NE(run.log().find(name + ": motion begins"), std::string::npos) << run.log();
    EXPECT_NE(run.log().find(name + ": motion is over"), std::string::npos) << run.log();
  }
  EXPECT_FALSE(run.camera("always").at("outputs").at("small").at("motion").contains("events"));
}

// The camera's decoder is nobody's, or another output's.
class CopiedMotion : public MotionRig, public testing::WithParamInterface<const char*> {};

TEST_P(CopiedMotion, IsRecordedAsItCame) {
  RigRun run(rig(std::string("    pace: fast\n    filters: [motion]\n    encode: {codec: copy}\n") + GetParam()));
  ASSERT_EQ(run.wait(), 0) << run.log();
  EXPECT_EQ(check_accounting(run.report()), "");
  const json camera = run.camera("dock");
  EXPECT_EQ(camera.at("frames").at("decoded"), 300);
  EXPECT_EQ(camera.at("frames").at("encoded"), 300);
  EXPECT_EQ(camera.at("encoder"), "copy");
  EXPECT_EQ(camera.at("motion").at("events"), 1);
  EXPECT_GT(camera.at("motion").at("largest_percent"), 0.5);
  EXPECT_THAT(events_in(run.file("events.jsonl")), ElementsAre("motion_begin", "motion_end"));

  const auto files = files_in(run.folder(), ".mp4");
  ASSERT_THAT(files, SizeIs(1));
  const auto packets = packets_of(files[0]);
  ASSERT_FALSE(packets.empty());
  EXPECT_TRUE(packets.front().key);
  // From the last key frame that is a second before the box comes, which is that of the 2nd second or the one before
  // it, to two seconds after it has gone.
  const std::vector<std::string> all = video_hashes(clip()), recorded = video_hashes(files[0]);
  ASSERT_EQ(recorded.size(), packets.size());
  const auto begin = std::search(all.begin(), all.end(), recorded.begin(), recorded.end());
  ASSERT_NE(begin, all.end()) << "the packets are the source's, byte for byte";
  const auto first = begin - all.begin();
  EXPECT_THAT(first, testing::AnyOf(25, 50));
  const double end = (static_cast<double>(first) + static_cast<double>(packets.size())) / 25;
  EXPECT_GE(end, 6.8);
  EXPECT_LE(end, 8.2);
}

INSTANTIATE_TEST_SUITE_P(Decoders, CopiedMotion,
                         testing::Values("",
                                         "    outputs: {small: {filters: [{resize: {width: 160, height: 120}}], "
                                         "encode: {codec: h264, bitrate: 500k}}}\n"));

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
