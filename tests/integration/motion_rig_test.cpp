// Motion in rigs that run: its score where users look for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <regex>

#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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
  const auto look = [&](bool moves) {
    return eventually([&] {
      const Answer answer = ask({"status", "--json", "--url", url});
      if (answer.status != 0) return false;
      motion = json::parse(answer.output).at("cameras").at("dock").value("motion", json::object());
      metrics = ask(port, "GET /metrics").body;
      table = ask({"status", "--url", url}).output;
      const double threshold = motion.value("threshold_percent", 0.0);
      const auto is_so = [&](double score) { return threshold > 0 && (moves ? score >= threshold : score == 0); };
      return is_so(motion.value("score_percent", -1.0)) && motion.value("events", 0) >= (moves ? 1 : 0) &&
             metrics.find("campipe_motion_score_ratio") != std::string::npos &&
             is_so(100 * value_in(metrics, "campipe_motion_score_ratio")) &&
             (table.find("motion 0 % (from ") != std::string::npos) == !moves;
    });
  };
  ASSERT_TRUE(look(false)) << motion << table << metrics << run.log();
  ASSERT_TRUE(look(true)) << motion << table << metrics << run.log();
  EXPECT_THAT(table, testing::ContainsRegex("motion [0-9.]+ % \\(from 0\\.[0-9]+ %\\)"));
  EXPECT_NEAR(100 * value_in(metrics, "campipe_motion_threshold_ratio"), motion.at("threshold_percent"), 1e-6);
  EXPECT_GE(value_in(metrics, "campipe_motion_events_total"), 1);
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

INSTANTIATE_TEST_SUITE_P(Streams, MotionIsSeen, testing::Values("{gop: 1s, bitrate: 1M}"));

TEST_F(MotionRig, WhereNobodyLooksForItNothingIsSaidOfIt) {
  RigRun run("cameras:\n  dock:\n    source: \"" + clip().string() + "\"\n    pace: fast\n    encode: {codec: copy}\n");
  ASSERT_EQ(run.wait(), 0) << run.log();
  EXPECT_FALSE(run.camera("dock").contains("motion"));
}

}  // namespace
}  // namespace campipe::test
