// A worker that is too slow for its camera: with policy `drop` frames are lost, told, and the rest is recent.
#include <gtest/gtest.h>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"

namespace campipe::test {
namespace {

TEST(DropPolicy, LosesPicturesOfTheSlowCameraAndNobodyElses) {
  RigRun rig(
      "workers: {count: 2}\ncameras:\n"
      "  slow:\n    source: \"test://pattern?width=1280&height=720&rate=50&frames=150\"\n"
      "    drop_policy: drop\n    queue_size: 2\n    filters: [{blur: {sigma: 20}}, {resize: {width: 640, height: "
      "360}}]\n"
      "    encode: {preset: veryslow}\n    record: {path: slow.mp4}\n"
      "  quick:\n    source: \"test://pattern?width=320&height=240&rate=50&frames=150\"\n    record: {path: "
      "quick.mp4}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");

  const auto slow = rig.camera("slow");
  EXPECT_EQ(slow.at("frames").at("decoded"), 150);
  EXPECT_GE(slow.at("frames").at("dropped").value("queue_full", 0), 10) << slow;
  EXPECT_EQ(slow.at("frames").at("dropped").size(), 1U) << slow;
  EXPECT_EQ(read_video(rig.file("slow.mp4")).pictures.size(), slow.at("frames").at("recorded").get<std::size_t>());
  // Before a frame are at most those of its queue and the one that the worker has.
  const auto& stages = slow.at("stages_ms");
  const double work = stages.at("filter").at("p99").get<double>() + stages.at("encode").at("p99").get<double>();
  EXPECT_LE(slow.at("latency_ms").at("p95").get<double>(), 4 * work + 100) << slow;

  EXPECT_EQ(rig.camera("quick").at("frames").at("recorded"), 150);
  EXPECT_EQ(rig.camera("quick").at("frames").at("dropped").size(), 0U);
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("quick.mp4")), true), "");
}

// The same with `block`: slower than the frames' own times, but whole.
TEST(DropPolicy, BlockWaitsInstead) {
  RigRun rig(
      "cameras:\n  slow:\n    source: \"test://pattern?width=320&height=240&rate=500&frames=60\"\n"
      "    queue_size: 1\n    filters: [{blur: {sigma: 8}}]\n    encode: {preset: slow}\n"
      "    record: {path: slow.mp4}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.camera("slow").at("frames").at("recorded"), 60);
  EXPECT_EQ(rig.camera("slow").at("frames").at("dropped").size(), 0U);
}

}  // namespace
}  // namespace campipe::test
