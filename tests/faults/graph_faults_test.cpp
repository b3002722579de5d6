// A camera whose stages run in processes of their own: what comes out is what one node makes, and whichever process is
// killed or stopped, frames flow again within two seconds, nobody else notices, and every frame is accounted for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "tests/faults/graph_rig.h"
#include "tests/integration/clips.h"
#include "tests/integration/test_camera.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using std::chrono::seconds;

constexpr auto filters =
    "    filters: [{sharpen: {amount: 0.5}}, motion, {blur: {sigma: 1}}, {color: {contrast: 1.1}}]\n";

// Each way through the same frames must end in the same bytes.
TEST(Stages, MakeWhatOneNodeMakes) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "scene.mp4", .frames = 60});
  const std::string source = "    source: \"" + (clips.path() / "scene.mp4").string() +
                             "\"\n    pace: fast\n    drop_policy: block\n    encode: {threads: 1, gop: 10}\n"
                             "    record: {path: \"{camera}.mp4\"}\n" +
                             filters;
  RigRun rig(
      "http_address: off\nrtsp_address: off\nworkers: {count: 3}\ncameras:\n"
      "  one:\n" +
      source + "  two:\n" + source +
      "    placement: {filter: [cpu:0], encode: cpu:1}\n"
      "  many:\n" +
      source +
      "    placement: {filter: [cpu:0, cpu:1, cpu:2, cpu:0], encode: cpu:1}\n"
      "  others:\n" +
      source +
      "    placement: {filter: [cpu:2, cpu:2, cpu:1, cpu:1], encode: cpu:0}\n"
      "    outputs: {small: {filters: [{resize: {width: 160, height: 120}}], record: {path: small.mp4}}}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  const auto packets = packets_of(rig.file("one.mp4"));
  ASSERT_EQ(packets.size(), 60U);
  for (const char* name : {"two", "many", "others"}) {
    EXPECT_TRUE(packets_of(rig.file(std::string(name) + ".mp4")) == packets) << name;
    const auto camera = rig.camera(name);
    EXPECT_EQ(camera.at("frames").at("dropped"), nlohmann::json::object()) << camera;
    EXPECT_EQ(camera.at("frames").at("decoded"), 60) << camera;
    EXPECT_TRUE(camera.contains("motion")) << "what a filter of an earlier node finds, comes with the frame";
    EXPECT_EQ(camera.at("motion"), rig.camera("one").at("motion")) << name;
  }
  EXPECT_EQ(packets_of(rig.file("small.mp4")).size(), 60U);
}

// The last stage bounds the rig, so that the first one waits for it, for as long as that takes for a frame.
TEST(Stages, AreNotTimedWhileTheyWait) {
  constexpr int frames = is_sanitized ? 20 : 100;
  RigRun rig(
      "http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n  cam:\n"
      "    source: \"test://pattern?width=640&height=360&rate=25&frames=" +
      std::to_string(frames) +
      "\"\n    pace: fast\n    drop_policy: block\n    queue_size: 2\n    filters: [sharpen, denoise]\n"
      "    placement: {filter: [cpu:0, cpu:1]}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const auto report = rig.report();
  const double each = 1000 * report.at("duration_s").get<double>() / frames;  // ms, at least what the last stage takes
  EXPECT_LT(rig.camera("cam").at("stages_ms").at("filter").at("p50").get<double>(), 1.5 * each) << report;
}

// What the first stage makes meanwhile is not for nobody: nobody has died.
TEST(Stages, WaitForTheNextOneAtFirst) {
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  const TestCamera camera;
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n  cam:\n    source: \"" +
                 camera.url() +
                 "\"\n    queue_size: 32\n    filters: [sharpen, sharpen]\n"
                 "    placement: {filter: [cpu:0, cpu:1]}\n    record: {path: cam.mp4}\n",
             {.failpoints = "worker.opening_ring@1=wait1"});
  ASSERT_TRUE(rig.wait_for_growth("cam.mp4", 20'000)) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(rig.camera("cam").at("frames").at("dropped"), nlohmann::json::object()) << rig.camera("cam");
}

TEST(Stages, FollowASourceThatBeginsAgain) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "0.mp4", .width = 160, .height = 120, .frames = 25});
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n  cam:\n    source: \"" +
             (clips.path() / "0.mp4").string() +
             "\"\n    pace: fast\n    loop: true\n    filters: [{resize: {width: 320, height: 240}}]\n"
             "    placement: {filter: [cpu:0], encode: cpu:1}\n    record: {path: cam.mp4}\n");
  ASSERT_TRUE(rig.wait_for_growth("cam.mp4", 20'000)) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  const VideoFile recording = read_video(rig.file("cam.mp4"));
  EXPECT_EQ(recording.width, 320);
  EXPECT_GT(recording.pictures.size(), 25U) << "it begins again at its end";
}

// Camera a is filtered by worker 0, then by worker 1, and encoded by worker 2; b is on worker 3 alone.
std::string stage_rig(const std::string& policy, int frames) {
  return graph_rig(policy, 32, frames, "{filter: [cpu:0, cpu:1], encode: cpu:2}");
}

class StruckStage : public testing::TestWithParam<Blows> {};

TEST_P(StruckStage, FramesFlowAgainWithinTwoSeconds) {
  RigRun rig(stage_rig("drop", 0));
  expect_recovery(rig, GetParam().blows);
}

INSTANTIATE_TEST_SUITE_P(
    By, StruckStage,
    testing::Values(Blows{"Kills",
                          {{"first", {"worker 0"}},
                           {"middle", {"worker 1"}},
                           {"last", {"worker 2"}},
                           {"all of them", {"worker 0", "worker 1", "worker 2"}}}},
                    Blows{"Stops",
                          {{"first", {"worker 0"}, SIGSTOP},
                           {"middle", {"worker 1"}, SIGSTOP},
                           {"last", {"worker 2"}, SIGSTOP},
                           {"first and last killed", {"worker 0", "worker 2"}}}},
                    Blows{"KillsOfOthers", {{"master and middle", {"master", "worker 1"}}, {"other", {"worker 3"}}}}),
    [](const auto& one) { return one.param.title; });

// Policy `block`: the source waits, so only what the dead processes had in their hands is lost.
TEST(KilledStage, CostsOnlyWhatItHadInHands) {
  RigRun rig(stage_rig("block", 200));
  ASSERT_TRUE(wait_for_flow(rig, 2)) << rig.log();
  strike(rig, {"", {"worker 1"}});
  ASSERT_TRUE(wait_for_flow(rig, 1)) << rig.log();
  strike(rig, {"", {"worker 0"}});
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  const auto camera = rig.camera("a");
  EXPECT_EQ(camera.at("frames").at("decoded"), 200) << camera;
  EXPECT_EQ(camera.at("frames").at("encoded").get<std::uint64_t>() + dropped(camera, "worker_lost"), 200U) << camera;
  EXPECT_LE(dropped(camera, "worker_lost"), 100U) << camera;
  EXPECT_EQ(camera.at("worker_restarts"), 2) << camera;
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("b.mp4")), true), "");
  EXPECT_EQ(rig.camera("b").at("frames").at("recorded"), 200);
}

// Four cameras, each over up to four workers in an order that the seed gives, by stage or in one to four tiles.
std::string random_rig(std::mt19937& random) {
  const auto place = [&] { return "cpu:" + std::to_string(random() % 4); };
  const auto places = [&](unsigned number) {
    std::string list = place();
    while (--number > 0) list += ", " + place();
    return list;
  };
  std::string yaml =
      "http_address: off\nrtsp_address: off\nworkers: {count: 4}\ndefaults:\n  queue_size: 16\n"
      "  encode: {gop: 10, bitrate: 500k}\n  source: \"test://pattern?width=160&height=120&rate=25\"\n"
      "  record: {path: \"{camera}.mp4\"}\n  filters: [{sharpen: {amount: 0.2}}, {color: {contrast: 1.05}}, motion]\n"
      "cameras:\n";
  for (const char* name : {"a", "b", "c", "d"}) {
    yaml += std::string("  ") + name + ": {drop_policy: " + (random() % 2 == 0 ? "drop" : "block") + ", placement: {" +
            (random() % 2 == 0 ? "filter: [" + places(3) : "tiles: [" + places(1 + random() % 4)) +
            "], encode: " + place() + "}}\n";
  }
  return yaml;
}

std::size_t descriptors_of(pid_t pid) {
  const std::filesystem::directory_iterator entries("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

class RandomGraph : public testing::TestWithParam<unsigned> {};

// Whatever is killed in whatever order, every frame is accounted for, and nothing is left.
TEST_P(RandomGraph, BalancesAfterTenKills) {
  const char* const given = std::getenv("CAMPIPE_TEST_SEED");
  const auto seed = given != nullptr ? static_cast<unsigned>(std::stoul(given)) : std::random_device()() + GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  int kills = 0;
  std::mt19937 random(seed);
  const std::string yaml = random_rig(random);
  SCOPED_TRACE(yaml);
  RigRun rig(yaml);
  for (const char* file : {"a.mp4", "b.mp4", "c.mp4", "d.mp4"})
    ASSERT_TRUE(rig.wait_for_growth(file, 1500)) << rig.log();
  const std::size_t descriptors = descriptors_of(rig.supervisor());
  const std::vector<std::string> roles{"worker 0", "worker 1", "worker 2", "worker 3", "source", "master", "publisher"};
  for (int attempt = 0; kills < 10 && attempt < 100; ++attempt) {
    // Mostly workers. One that no camera needs does not run.
    const std::string& role = roles[random() % 8 < 6 ? random() % 4 : random() % roles.size()];
    const auto pid = rig.find(role);
    if (!pid) continue;
    ::kill(*pid, SIGKILL);
    ++kills;
    if (random() % 2 == 0) rig.successor_of(role, *pid);
    const auto now = Clock::now();
    const std::chrono::milliseconds pause(random() % 300);
    eventually([&] { return Clock::now() - now > pause; });  // the next kill falls anywhere, restarts included
  }
  for (const char* file : {"a.mp4", "b.mp4", "c.mp4", "d.mp4"})
    ASSERT_TRUE(rig.wait_for_growth(file, rig.size(file))) << file << '\n' << rig.log();
  EXPECT_TRUE(eventually([&] { return descriptors_of(rig.supervisor()) <= descriptors; }))
      << "the supervisor has " << descriptors_of(rig.supervisor()) << " descriptors, and had " << descriptors;
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "") << rig.log();
  EXPECT_TRUE(rig.processes().empty());
  std::cout << "seed " << seed << ": " << kills << " kills\n";
}

INSTANTIATE_TEST_SUITE_P(Of, RandomGraph, testing::Range(0U, 2U));

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
