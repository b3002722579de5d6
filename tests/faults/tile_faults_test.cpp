// A camera whose frames are filtered in bands by processes of their own: what comes out is what one node makes, and
// where a tile and the join are killed, nobody else notices, and every frame is accounted for.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>

#include "tests/faults/graph_rig.h"
#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_waits.h"
#include "tests/integration/times_in.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

struct Chain {
  const char* title;
  const char* filters;
};

constexpr int frames = 20;

const std::vector<Chain> chains{
    {"BlurAndSharpen", "{blur: {sigma: 2}}, {sharpen: {amount: 0.5}}"},
    {"Undistort", "{undistort: {k1: -0.1}}, sharpen"},
    {"Resize", "{resize: {width: 202, height: 154}}, {color: {contrast: 1.2}}"},
    {"Deinterlace", "deinterlace, {crop: {x: 10, y: 30, width: 200, height: 180}}"},
    {"DenoiseThenMotion", "denoise, motion"},
    {"WholeFramesAtTheJoin", "sharpen, {rotate: {angle: 90}}, motion"},
    {"WholeFramesFirst", "{rotate: {angle: 90}}, sharpen"},
    {"TooMuchToCompute",
     "{crop: {x: 0, y: 10, width: 200, height: 48}}, {blur: {sigma: 8}}, {blur: {sigma: 8}}, motion"},
    {"FewRows", "{crop: {x: 0, y: 10, width: 200, height: 18}}, color, {resize: {width: 64, height: 64}}"}};

// Each number of tiles must end in the same bytes. The encoder loses nothing, so that each sample counts.
TEST(Tiles, MakeWhatOneNodeMakes) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "scene.mkv", .width = 322, .height = 246, .frames = frames});
  const std::vector<std::string> tilings{"1", "2", "3", "[cpu:1, cpu:3, cpu:0, cpu:2]",
                                         "[cpu:0, cpu:0], encode: cpu:1"};
  std::string yaml = "http_address: off\nrtsp_address: off\nworkers: {count: 4}\ndefaults:\n  source: \"" +
                     (clips.path() / "scene.mkv").string() +
                     "\"\n  pace: fast\n  drop_policy: block\n  encode: {threads: 1, gop: 10, options: {qp: 0}}\n"
                     "  record: {path: \"{camera}.mp4\"}\ncameras:\n";
  for (const Chain& chain : chains) {
    const std::string filters = std::string("filters: [") + chain.filters + "]";
    yaml += std::string("  ") + chain.title + ": {" + filters + "}\n";
    for (std::size_t i = 0; i < tilings.size(); ++i)
      yaml +=
          "  " + (chain.title + std::to_string(i)) + ": {" + filters + ", placement: {tiles: " + tilings[i] + "}}\n";
  }
  RigRun rig(yaml);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  for (const Chain& chain : chains) {
    const std::string whole = chain.title;
    const auto packets = packets_of(rig.file(whole + ".mp4"));
    ASSERT_EQ(packets.size(), static_cast<std::size_t>(frames)) << whole;
    for (std::size_t i = 0; i < tilings.size(); ++i) {
      SCOPED_TRACE(whole + ", tiles " + tilings[i]);
      const std::string name = whole + std::to_string(i);
      EXPECT_TRUE(packets_of(rig.file(name + ".mp4")) == packets);
      const auto camera = rig.camera(name);
      EXPECT_EQ(camera.at("frames").at("dropped"), nlohmann::json::object()) << camera;
      EXPECT_EQ(camera.at("frames").at("encoded"), frames) << camera;
      EXPECT_EQ(camera.value("motion", nlohmann::json()), rig.camera(whole).value("motion", nlohmann::json()));
    }
  }
}

// The first one that gets a ring would have frames that the others have not, were they not known to come.
TEST(TiledCamera, WaitsForAllItsTilesBeforeItsFirstFrame) {
  std::string yaml =
      "http_address: off\nrtsp_address: off\nworkers: {count: 3}\ndefaults:\n  filters: [sharpen]\ncameras:\n"
      "  other: {source: \"test://pattern?width=320&height=240&rate=30\", record: {path: other.mp4}}\n";
  RigRun rig(yaml, {.failpoints = "supervisor.offered@tiled=wait1"});
  ASSERT_TRUE(rig.wait_for_growth("other.mp4", 2000)) << rig.log();
  yaml +=
      "  tiled:\n    source: \"test://pattern?width=320&height=240&rate=30&frames=60\"\n    pace: fast\n"
      "    drop_policy: block\n    record: {path: tiled.mp4}\n    placement: {tiles: [cpu:0, cpu:1], encode: cpu:2}\n";
  std::ofstream(rig.file("rig.yaml")) << yaml;
  rig.signal(SIGHUP);
  ASSERT_TRUE(rig.wait_for_growth("tiled.mp4", 2000)) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_TRUE(rig.camera("tiled").at("frames").at("dropped").empty()) << rig.camera("tiled");
}

// A source that is turned is not tiled where a filter needs whole frames in the middle then; the next connection is.
TEST(TiledSource, MayBeTurnedAndBeginAgain) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "0.mp4", .width = 162, .height = 122, .frames = 25});
  const std::string upright = (clips.path() / "0.mp4").string();
  const std::string turned = (clips.path() / "turned.mp4").string();
  const std::string turn = "ffmpeg -v error -y -i '" + upright + "' -c copy -metadata:s:v rotate=90 '" + turned + "'";
  ASSERT_EQ(std::system(turn.c_str()), 0);  // NOLINT(cert-env33-c): what is run is written above
  std::string yaml =
      "http_address: off\nrtsp_address: off\nworkers: {count: 3}\ndefaults:\n  drop_policy: block\n"
      "  pace: fast\n  filters: [sharpen, {blur: {sigma: 1}}]\n"
      "  encode: {threads: 1, gop: 10, options: {qp: 0}}\n  record: {path: \"{camera}.mp4\"}\ncameras:\n";
  for (const auto& [name, file] : {std::pair{"upright", upright}, std::pair{"turned", turned}}) {
    yaml += std::string("  ") + name + ": {source: \"" + file + "\"}\n";
    yaml += std::string("  ") + name + "3: {source: \"" + file + "\", placement: {tiles: 3}}\n";
  }
  RigRun rig(yaml);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  for (const std::string name : {"upright", "turned"}) {
    EXPECT_EQ(packets_of(rig.file(name + ".mp4")).size(), 25U);
    EXPECT_TRUE(packets_of(rig.file(name + "3.mp4")) == packets_of(rig.file(name + ".mp4"))) << name << rig.log();
  }
}

// Camera a has tiles in workers 0 and 1, joined in worker 2; b is in worker 3 alone.
std::string tile_rig(const std::string& policy, int number) {
  return graph_rig(policy, 16, number, "{tiles: [cpu:0, cpu:1], encode: cpu:2}");
}

nlohmann::json status_of(const RigRun& rig, int port) {
  const std::string token = read_text(rig.file("state/token-" + std::to_string(port)));
  const std::string rights = "Authorization: Bearer " + token + "\r\n";
  return nlohmann::json::parse(ask(static_cast<std::uint16_t>(port), "GET /api/v1/status", rights).body);
}

// Frames of camera a that had been decoded by a status, which is made once a second, with or without that process.
std::int64_t decoded_when(const RigRun& rig, int port, pid_t process, bool runs) {
  std::int64_t decoded = -1;
  EXPECT_TRUE(eventually([&] {
    const auto status = status_of(rig, port);
    const auto is_it = [&](const auto& one) { return one.value("pid", 0) == process; };
    if (std::ranges::any_of(status.at("processes"), is_it) != runs) return false;
    decoded = status.at("cameras").at("a").at("frames").at("decoded");
    return true;
  })) << rig.log();
  return decoded;
}

// One that died again and again is away for two seconds. Meanwhile the other one is back, and the source must not go on
// for that alone: the join would wait for parts that nobody makes. So nothing is lost but what was decoded before.
TEST(KilledTile, IsWaitedForWhileAnotherOneComesBack) {
  const int port = free_port();
  const TemporaryFolder flags;
  const auto held = flags.path() / "held";
  const std::string off = "http_address: off";
  std::string yaml = tile_rig("block", 0);
  yaml.replace(yaml.find(off), off.size(), "http_address: \"127.0.0.1:" + std::to_string(port) + "\"");
  RigRun rig(yaml, {.failpoints = "child.starting@worker 1=hold" + held.string()});
  ASSERT_TRUE(wait_for_flow(rig, 2)) << rig.log();
  constexpr int deaths = 5;
  pid_t worker = rig.pid_of("worker 1");
  for (int death = 1; death < deaths; ++death) {
    ::kill(worker, SIGKILL);
    worker = rig.successor_of("worker 1", worker);
    ASSERT_TRUE(wait_for_flow(rig, 2)) << rig.log();
  }
  const pid_t other = rig.pid_of("worker 0");
  decoded_when(rig, port, worker, true);
  std::ofstream{held};
  ::kill(worker, SIGKILL);
  const std::int64_t decoded = decoded_when(rig, port, worker, false);
  ::kill(other, SIGKILL);
  // One may have been on its way to the ring.
  EXPECT_LE(decoded_when(rig, port, rig.successor_of("worker 0", other), true), decoded + 1) << rig.log();
  std::filesystem::remove(held);
  ASSERT_TRUE(wait_for_flow(rig, 3)) << rig.log();
  EXPECT_TRUE(eventually([&] { return frames_in_hands(status_of(rig, port).at("cameras").at("a")) <= few_in_hands; }))
      << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(times_in(rig.log(), "worker 1 died"), static_cast<std::size_t>(deaths)) << rig.log();
  // Else the other one's queues fill with parts that nobody joins: two of 16 frames.
  const auto numbers = numbers_of(read_video(rig.file("a.mp4")));
  for (std::size_t i = 1; i < numbers.size(); ++i)
    EXPECT_TRUE(numbers[i] == numbers[i - 1] + 1 || numbers[i] <= decoded + 1)
        << numbers[i] << " after " << numbers[i - 1] << ", the source waited from " << decoded << " on\n"
        << rig.camera("a") << rig.log();
}

// Whoever is not named in a change notices nothing of it, and nothing is counted twice.
TEST(TiledCamera, ChangesItsTilesWhileTheRigRuns) {
  const auto rig_of = [](const std::string& placement) {
    std::string yaml = tile_rig("drop", 0);
    const std::string tiled = "{tiles: [cpu:0, cpu:1], encode: cpu:2}";
    return yaml.replace(yaml.find(tiled), tiled.size(), placement);
  };
  RigRun rig(tile_rig("drop", 0));
  RigWaits waits(rig);
  ASSERT_TRUE(wait_for_flow(rig, 2)) << rig.log();
  std::size_t wanted = 0;
  for (const char* placement :
       {"{encode: cpu:1}", "{tiles: 3}", "{tiles: [cpu:3, cpu:2]}", "{filter: [cpu:0, cpu:1]}"}) {
    std::ofstream(rig.file("rig.yaml")) << rig_of(placement);
    rig.signal(SIGHUP);
    ++wanted;
    ASSERT_TRUE(eventually([&] { return times_in(rig.log(), "a: changed") == wanted; })) << placement << rig.log();
    ASSERT_TRUE(rig.wait_for_growth("b.mp4", rig.size("b.mp4"))) << rig.log();
  }
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("b.mp4")), !was_late(rig.camera("b"))), "");
  EXPECT_EQ(check_late_only(rig.camera("b"), 25, waits), "");
  EXPECT_GT(rig.camera("a").at("frames").at("encoded"), 0);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
