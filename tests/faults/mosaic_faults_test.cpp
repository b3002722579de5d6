// Mosaics of real rigs: each cell shows its camera, whatever becomes of the others; whichever process is killed or
// stopped, the mosaic goes on in time, and cameras and mosaics come and go without one another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "tests/faults/fault_rig.h"
#include "tests/faults/supervision_rig.h"
#include "tests/integration/clips.h"
#include "tests/integration/mosaic_video.h"
#include "tests/integration/rig_waits.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr double rate = 10;
constexpr double promised_recovery = 2.0 * sanitizer_slowdown;  // s
const std::vector<FrameRegion> quarters{{0, 0, 160, 120}, {160, 0, 160, 120}, {0, 120, 160, 120}, {160, 120, 160, 120}};

std::string head(const std::string& http) {
  return "http_address: " + http +
         "\nrtsp_address: off\nworkers: {count: 3}\nbalance: off\n"
         "defaults: {queue_size: 32, drop_policy: drop, encode: {gop: 5, bitrate: 500k}, gpu: cpu}\n";
}

std::string pattern(const std::string& name, const std::string& more = "") {
  return "  " + name + ": {source: \"test://pattern?width=160&height=120&rate=10\", record: {path: " + name + ".mp4}" +
         more + "}\n";
}

// Its cells are `quarters`.
std::string mosaic(const std::string& name, const std::string& more = "",
                   const std::string& layout = "[[a, 0, 0, 160, 120], [b, 160, 0, 160, 120], [c, 0, 120, 160, 120]]") {
  return "  " + name + ": {layout: " + layout +
         ", width: 320, height: 240, rate: 10, gpu: cpu, background: [0, 0, 255], record: {path: " + name +
         ".mp4}, encode: {gop: 5, bitrate: 1M}" + more + "}\n";
}

// a runs on worker 0, b on worker 1, c on worker 2, the mosaic on worker 0 or, behind four cameras, on worker 1.
std::string mosaic_rig(const std::string& http = "off") {
  return head(http) + "cameras:\n" + pattern("a") + pattern("b", ", filters: [{color: {saturation: 0}}]") +
         pattern("c") + pattern("d") + "mosaics:\n" + mosaic("main");
}

bool wait_for_flow(RigRun& rig, std::initializer_list<const char*> names, int fragments = 2) {
  for (; fragments > 0; --fragments) {
    for (const std::string name : names) {
      if (!rig.wait_for_growth(name + ".mp4", rig.size(name + ".mp4"))) return false;
    }
  }
  return true;
}

void end(RigRun& rig) {
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_TRUE(rig.processes().empty());
}

// None of its frames is missing but those that its worker, without a CPU, was late for.
void expect_untouched(RigRun& rig, RigWaits& waits, const std::string& name) {
  SCOPED_TRACE(name);
  const auto camera = rig.camera(name);
  EXPECT_EQ(check_pattern_recording(read_video(rig.file(name + ".mp4")), !was_late(camera)), "");
  EXPECT_EQ(check_late_only(camera, rate, waits), "");
}

std::size_t frames_with(const std::vector<MosaicFrame>& frames, std::size_t cell) {
  return static_cast<std::size_t>(
      std::ranges::count_if(frames, [cell](const MosaicFrame& f) { return f.cells[cell].code.has_value(); }));
}

TEST(Mosaic, ShowsEachCameraInItsCell) {
  RigRun rig(mosaic_rig());
  RigWaits waits(rig);
  ASSERT_TRUE(wait_for_flow(rig, {"main", "a", "b", "c"}, 3)) << rig.log();
  end(rig);
  for (const char* name : {"a", "b", "c", "d"}) expect_untouched(rig, waits, name);
  const auto frames = read_mosaic(rig.file("main.mp4"), quarters);
  EXPECT_EQ(check_mosaic(frames, rate, !was_late(rig.camera("main"))), "");
  const auto camera = rig.camera("main");
  EXPECT_EQ(camera.at("frames").at("decoded"), frames.size()) << "its ticks";
  EXPECT_EQ(camera.at("frames").at("recorded"), frames.size());
  const MosaicFrame& last = frames.back();
  for (const std::size_t cell : {0U, 1U, 2U}) {
    EXPECT_GT(frames_with(frames, cell), frames.size() / 2) << cell;
    EXPECT_TRUE(last.cells[cell].code) << cell;
    EXPECT_LE(longest_standstill(frames, cell), 1.0 + waits.seconds()) << cell;
  }
  EXPECT_GT(last.cells[0].colour, 20);
  EXPECT_LT(last.cells[1].colour, 4) << "as its camera's filters make it";
  EXPECT_GT(last.cells[2].colour, 20);
  EXPECT_FALSE(last.cells[3].code);
  EXPECT_GT(last.cells[3].colour, 60) << "the background is blue";
}

// Worker 1 has b, too.
TEST(StruckMosaic, GoesOnInTime) {
  RigRun rig(mosaic_rig());
  RigWaits all_waits(rig);
  ASSERT_TRUE(wait_for_flow(rig, {"main", "a", "b", "c"})) << rig.log();
  RigWaits waits(rig);
  strike(rig, {"composer", {"worker 1"}});
  ASSERT_TRUE(wait_for_flow(rig, {"main", "a", "b", "c"})) << rig.log();
  end(rig);
  EXPECT_FALSE(std::filesystem::exists(rig.file("main-1.mp4"))) << "the recording was broken in two";
  const auto frames = read_mosaic(rig.file("main.mp4"), quarters);
  const auto camera = rig.camera("main");
  EXPECT_EQ(check_mosaic(frames, rate, camera.at("frames").at("dropped").empty()), "");
  EXPECT_EQ(camera.at("frames").at("recorded"), frames.size());
  const std::uint64_t ticks = camera.at("frames").at("decoded");
  const auto late = static_cast<double>(dropped(camera, "queue_full"));  // also the first and the last ones
  EXPECT_LE(static_cast<double>(dropped(camera, "worker_lost")), (promised_recovery + waits.seconds()) * rate + 1)
      << camera;
  EXPECT_NEAR(static_cast<double>(frames.back().pts - frames.front().pts) * rate / 1e9 + 1, static_cast<double>(ticks),
              2 + late)
      << "its clock went on";
  for (const std::size_t cell : {0U, 1U, 2U}) EXPECT_TRUE(frames.back().cells[cell].code) << cell << rig.log();
  for (const char* name : {"a", "c"}) expect_untouched(rig, all_waits, name);
}

TEST(Mosaic, ShowsACardWhileACameraIsAway) {
  const auto port = static_cast<std::uint16_t>(free_port());
  RigRun rig(mosaic_rig("127.0.0.1:" + std::to_string(port)));
  RigWaits waits(rig);
  ASSERT_TRUE(wait_for_flow(rig, {"main", "b"})) << rig.log();
  const auto away = [&] {
    const auto status = nlohmann::json::parse(ask(port, "GET /api/v1/cameras/main").body);
    return status.at("cells").at(1).at("away").get<bool>();
  };
  ASSERT_TRUE(eventually([&] { return !away(); })) << rig.log();
  ASSERT_EQ(ask(port, "POST /api/v1/cameras/b/disable").status, 200);
  ASSERT_TRUE(eventually(away)) << rig.log();
  ASSERT_TRUE(wait_for_flow(rig, {"main"}, 3)) << rig.log();
  ASSERT_EQ(ask(port, "POST /api/v1/cameras/b/enable").status, 200);
  ASSERT_TRUE(eventually([&] { return !away(); })) << rig.log();
  ASSERT_TRUE(wait_for_flow(rig, {"main"}, 3)) << rig.log();
  end(rig);
  for (const char* name : {"a", "c", "d"}) expect_untouched(rig, waits, name);
  auto frames = read_mosaic(rig.file("main.mp4"), quarters);
  EXPECT_FALSE(std::filesystem::exists(rig.file("main-1.mp4")));
  std::vector<bool> shown;  // each time that it changes
  for (MosaicFrame& frame : frames) {
    const bool shows = frame.cells[1].code.has_value();
    if (shown.empty() ? shows : shows != shown.back()) shown.push_back(shows);
    const bool is_card = !shown.empty() && !shows;
    if (is_card) {
      EXPECT_LT(frame.cells[1].luma, 90) << "a card is dark";
      EXPECT_GT(frame.cells[1].luma, 20);
    }
    frame.cells[1].code.reset();  // the camera that is enabled again begins anew
  }
  EXPECT_THAT(shown, testing::ElementsAre(true, false, true));
  EXPECT_EQ(check_mosaic(frames, rate, !was_late(rig.camera("main"))), "");
}

// Neither does the other mosaic notice.
TEST(Mosaic, ComesChangesAndGoesWithoutTouchingOthers) {
  const std::string cameras = head("off") + "cameras:\n" + pattern("a") + pattern("b") + pattern("c");
  RigRun rig(cameras + "mosaics:\n" + mosaic("stays"));
  RigWaits waits(rig);
  const auto reload = [&](const std::string& mosaics, const std::string& shown_in_log) {
    std::ofstream(rig.file("rig.yaml")) << cameras + "mosaics:\n" + mosaics;
    rig.signal(SIGHUP);
    ASSERT_TRUE(eventually([&] { return rig.log().find(shown_in_log) != std::string::npos; })) << rig.log();
  };
  ASSERT_TRUE(wait_for_flow(rig, {"stays", "a"})) << rig.log();
  reload(mosaic("stays") + mosaic("comes"), "comes: added");
  ASSERT_TRUE(wait_for_flow(rig, {"comes"}, 3)) << rig.log();
  reload(mosaic("stays") + mosaic("comes", "", "[[c, 0, 0, 160, 120], [a, 160, 120, 160, 120]]"), "comes: changed");
  ASSERT_TRUE(wait_for_flow(rig, {"comes-1"}, 3)) << rig.log();
  reload(mosaic("stays"), "comes: removed");
  ASSERT_TRUE(wait_for_flow(rig, {"stays", "a", "b", "c"}, 2)) << rig.log();
  end(rig);
  for (const char* name : {"a", "b", "c"}) expect_untouched(rig, waits, name);
  const auto stays = read_mosaic(rig.file("stays.mp4"), quarters);
  EXPECT_EQ(check_mosaic(stays, rate, !was_late(rig.camera("stays"))), "");
  for (const std::size_t cell : {0U, 1U, 2U}) EXPECT_LE(longest_standstill(stays, cell), 1.0 + waits.seconds()) << cell;
  const auto before = read_mosaic(rig.file("comes.mp4"), quarters);
  EXPECT_GT(frames_with(before, 1), 0U);
  EXPECT_EQ(frames_with(before, 3), 0U);
  const auto after = read_mosaic(rig.file("comes-1.mp4"), quarters);
  EXPECT_EQ(frames_with(after, 1), 0U);
  EXPECT_GT(frames_with(after, 3), after.size() / 2);
}

// Mosaics of all cameras follow; what the file says of a mosaic by name is not undone.
TEST(Mosaic, ShowsAllCamerasThatTheApiAddsAndRemoves) {
  const auto port = static_cast<std::uint16_t>(free_port());
  RigRun rig(head("127.0.0.1:" + std::to_string(port)) + "cameras:\n" + pattern("a") + pattern("b") +
             "mosaics:\n  all: {width: 320, height: 240, rate: 10, record: {path: all.mp4}}\n"
             "  some: {cameras: [a], width: 160, height: 120, rate: 10}\n");
  RigWaits waits(rig);
  ASSERT_TRUE(wait_for_flow(rig, {"all", "a", "b"})) << rig.log();
  const auto change = [&](const std::string& line, const std::string& body = "") {
    const std::string token = read_text(rig.file("state/token-" + std::to_string(port)));
    return ask(port, line, "Authorization: Bearer " + token + "\r\nContent-Type: application/json\r\n", body);
  };
  const auto shown = [&] {
    const Reply reply = ask(port, "GET /api/v1/cameras/all");
    std::vector<std::string> names;
    if (reply.status != 200) return names;
    for (const auto& cell : nlohmann::json::parse(reply.body).value("cells", nlohmann::json::array()))
      names.push_back(cell.at("camera"));
    return names;
  };
  const Reply named = change("DELETE /api/v1/cameras/a?persist=true");
  EXPECT_EQ(named.status, 409);
  EXPECT_THAT(named.body, testing::HasSubstr("mosaics.some.cameras[0]: camera 'a' is removed, and this names it"));
  const Reply mosaic = change("DELETE /api/v1/cameras/some");
  EXPECT_EQ(mosaic.status, 409);
  EXPECT_THAT(mosaic.body, testing::HasSubstr("DELETE /api/v1/mosaics/some removes it"));
  const std::string source = R"({"config": {"source": "test://pattern?width=160&height=120&rate=10"}})";
  EXPECT_EQ(change("PUT /api/v1/cameras/z", source).status, 201);
  EXPECT_TRUE(eventually([&] { return shown() == std::vector<std::string>{"a", "b", "z"}; })) << rig.log();
  EXPECT_EQ(change("DELETE /api/v1/cameras/b").status, 200);
  EXPECT_TRUE(eventually([&] { return shown() == std::vector<std::string>{"a", "z"}; })) << rig.log();
  ASSERT_TRUE(wait_for_flow(rig, {"all-2", "a"})) << rig.log();
  EXPECT_EQ(change("PUT /api/v1/cameras/gone", R"({"config": {"source": "rtsp://127.0.0.1:1/hidden"}})").status, 201);
  std::string reason;
  const auto is_away = [&] {
    const auto status = nlohmann::json::parse(ask(port, "GET /api/v1/cameras/all").body);
    for (const auto& cell : status.at("cells")) {
      reason = cell.value("reason", "");
      if (cell.at("camera") == "gone") return cell.at("away").get<bool>();
    }
    return false;
  };
  EXPECT_TRUE(eventually(is_away)) << rig.log();
  EXPECT_THAT(reason, testing::HasSubstr("refuses the connection"));
  EXPECT_THAT(reason, testing::Not(testing::HasSubstr("127.0.0.1"))) << "who sees the mosaic may see no more";
  EXPECT_EQ(change("DELETE /api/v1/cameras/gone").status, 200);
  EXPECT_TRUE(eventually([&] { return shown() == std::vector<std::string>{"a", "z"}; })) << rig.log();
  end(rig);
  expect_untouched(rig, waits, "a");
}

// A copy is decoded only while a mosaic shows it.
TEST(Mosaic, ShowsACameraThatNothingElseDecodes) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "clip.mp4", .width = 160, .height = 120, .frames = 100, .gop = 5, .rate = 10});
  const std::string copy = "  copy: {source: \"" + (clips.path() / "clip.mp4").string() +
                           "\", loop: true, encode: {codec: copy}, record: {path: copy.mp4}}\n";
  const std::string cameras = head("off") + "cameras:\n" + copy + pattern("a");
  const std::string shown = mosaic("main", "", "[[copy, 0, 0, 160, 120], [a, 160, 120, 160, 120]]");
  RigRun rig(cameras);
  RigWaits waits(rig);
  ASSERT_TRUE(wait_for_flow(rig, {"copy", "a"})) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << cameras + "mosaics:\n" + shown;
  rig.signal(SIGHUP);
  ASSERT_TRUE(wait_for_flow(rig, {"main", "copy"}, 4)) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << cameras;
  rig.signal(SIGHUP);
  ASSERT_TRUE(wait_for_flow(rig, {"copy"}, 2)) << rig.log();
  end(rig);
  expect_untouched(rig, waits, "a");
  EXPECT_EQ(rig.camera("copy").at("frames").at("dropped"), nlohmann::json::object());
  const auto frames = read_mosaic(rig.file("main.mp4"), quarters);
  EXPECT_GT(frames_with(frames, 0), frames.size() / 4);
  EXPECT_GT(frames_with(frames, 3), frames.size() / 2);
}

TEST(Mosaic, ShowsNinetyNineCameras) {
  constexpr int columns = 11, rows = 9;
  constexpr int width = 80, height = 60;
  std::string yaml =
      "http_address: off\nrtsp_address: off\nworkers: {count: 2}\n"
      "defaults: {gpu: cpu, drop_policy: drop, source: \"test://pattern?width=160&height=120&rate=1\"}\n"
      "cameras:\n";
  std::vector<FrameRegion> cells;
  for (int i = 0; i < columns * rows; ++i) {
    yaml += "  camera" + std::to_string(i) + ": {}\n";
    cells.push_back({i % columns * width, i / columns * height, width, height});
  }
  yaml +=
      "mosaics:\n  main: {layout: 11x9, width: 880, height: 540, rate: 2, gpu: cpu, labels: false, "
      "encode: {gop: 2, bitrate: 4M}, record: {path: main.mp4}}\n";
  RigRun rig(yaml);
  ASSERT_TRUE(wait_for_flow(rig, {"main"}, 8)) << rig.log();
  end(rig);
  const auto frames = read_mosaic(rig.file("main.mp4"), cells);
  EXPECT_EQ(check_mosaic(frames, 2, false), "");
  std::size_t seen = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) seen += frames_with(frames, i) > 0 ? 1 : 0;
  EXPECT_EQ(seen, cells.size()) << rig.log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
