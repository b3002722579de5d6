// A rig that runs reads its file again (SIGHUP): what is different is done, and nobody else notices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <memory>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using testing::Not;

constexpr const char* quiet = "http_address: off\nrtsp_address: off\nworkers: {count: 1}\n";

std::string camera(const std::string& name, int width, const std::string& more = "") {
  return "  " + name + ": {source: \"test://pattern?width=" + std::to_string(width) +
         "&height=240&rate=25\", record: {path: " + name + "_" + std::to_string(width) + ".mp4}" + more + "}\n";
}

class Reload : public testing::Test {
 protected:
  void begin(const std::string& cameras) { rig_ = std::make_unique<RigRun>(quiet + ("cameras:\n" + cameras)); }
  void reload(const std::string& cameras) {
    write(quiet + ("cameras:\n" + cameras));
    rig_->signal(SIGHUP);
  }
  void write(const std::string& yaml) const { std::ofstream(rig_->file("rig.yaml")) << yaml; }
  [[nodiscard]] bool told(const std::string& what) const {
    return eventually([&] { return rig_->log().find(what) != std::string::npos; });
  }
  // Its own frames are all in its file, without a gap.
  nlohmann::json end() {
    rig_->signal(SIGTERM);
    EXPECT_EQ(rig_->wait(), 0) << rig_->log();
    EXPECT_EQ(check_accounting(rig_->report()), "");
    return rig_->report().at("cameras");
  }
  void expect_undisturbed(const nlohmann::json& cameras, const std::string& name) {
    const auto& frames = cameras.at(name).at("frames");
    EXPECT_EQ(frames.at("dropped"), nlohmann::json::object()) << name;
    EXPECT_EQ(frames.at("recorded"), frames.at("decoded")) << name;
  }

  std::unique_ptr<RigRun> rig_;
};

TEST_F(Reload, AddsAndRemovesCamerasAndTheOthersLoseNothing) {
  begin(camera("a", 320) + camera("b", 320));
  ASSERT_TRUE(rig_->wait_for_growth("a_320.mp4", 1000) && rig_->wait_for_growth("b_320.mp4", 1000));
  const pid_t worker = rig_->pid_of("worker 0");
  reload(camera("a", 320) + camera("c", 640, ", outputs: {small: {record: {path: small.mp4}}}"));
  EXPECT_TRUE(told("b: removed; "));
  EXPECT_TRUE(rig_->wait_for_growth("c_640.mp4", 1000) && rig_->wait_for_growth("small.mp4", 1000)) << rig_->log();
  EXPECT_EQ(rig_->pid_of("worker 0"), worker);
  const auto cameras = end();
  expect_undisturbed(cameras, "a");
  expect_undisturbed(cameras, "c");
  EXPECT_FALSE(cameras.contains("b"));
}

TEST_F(Reload, AChangedCameraComesAnew) {
  begin(camera("a", 320) + camera("b", 320));
  ASSERT_TRUE(rig_->wait_for_growth("a_320.mp4", 1000) && rig_->wait_for_growth("b_320.mp4", 1000));
  for (const int width : {640, 160, 800}) {
    reload(camera("a", 320) + camera("b", width));
    EXPECT_TRUE(rig_->wait_for_growth("b_" + std::to_string(width) + ".mp4", 1000)) << rig_->log();
  }
  EXPECT_TRUE(told("b: changed; ended, "));
  expect_undisturbed(end(), "a");
}

// What it has recorded in this run is no earlier run's.
TEST_F(Reload, AnotherPriorityIsNoReasonToComeAnew) {
  begin(camera("a", 320) + camera("b", 320));
  ASSERT_TRUE(rig_->wait_for_growth("a_320.mp4", 1000) && rig_->wait_for_growth("b_320.mp4", 1000));
  reload(camera("a", 320, ", priority: 90") + camera("b", 320));
  EXPECT_TRUE(told("a: its priority is 90 now")) << rig_->log();
  EXPECT_TRUE(rig_->wait_for_growth("a_320.mp4", rig_->size("a_320.mp4") + 1000)) << rig_->log();
  const auto cameras = end();
  EXPECT_EQ(rig_->log().find("a: changed"), std::string::npos) << rig_->log();
  EXPECT_FALSE(std::filesystem::exists(rig_->file("a_320-1.mp4")));
  expect_undisturbed(cameras, "a");
  expect_undisturbed(cameras, "b");
}

TEST_F(Reload, AChangedCameraOverwritesNothingOfItsOwnRun) {
  const auto changed = [](const std::string& bitrate) {
    return "  a: {source: \"test://pattern?width=320&height=240&rate=25\", record: {path: a.mp4, overwrite: true}, "
           "encode: {bitrate: " +
           bitrate + "}}\n";
  };
  begin(changed("1M"));
  ASSERT_TRUE(rig_->wait_for_growth("a.mp4", 1000));
  ::kill(rig_->pid_of("publisher"), SIGKILL);
  ASSERT_TRUE(told("publisher died"));
  reload(changed("2M"));
  EXPECT_TRUE(rig_->wait_for_growth("a-1.mp4", 1000)) << rig_->log();
  end();
  EXPECT_EQ(check_pattern_recording(read_video(rig_->file("a.mp4")), true), "");
}

TEST_F(Reload, ADisabledCameraRestsUntilItIsEnabled) {
  begin(camera("a", 320) + camera("b", 320, ", enabled: false"));
  ASSERT_TRUE(rig_->wait_for_growth("a_320.mp4", 1000));
  EXPECT_EQ(rig_->size("b_320.mp4"), 0U);
  reload(camera("a", 320) + camera("b", 320));
  EXPECT_TRUE(rig_->wait_for_growth("b_320.mp4", 1000)) << rig_->log();
  reload(camera("a", 320) + camera("b", 320, ", enabled: false"));
  EXPECT_TRUE(told("b: disabled; ended, "));
  const auto cameras = end();
  EXPECT_EQ(cameras.at("b").at("state"), "disabled");
  expect_undisturbed(cameras, "a");
}

// Of a camera that stays under its name every count goes on, through all of its places in the rig.
class Counts : public Reload {
 protected:
  static std::string cameras(int width, const std::string& more = "") {
    return camera("a", 320) + camera("b", width,
                                     more + ", outputs: {small: {encode: {bitrate: 200k}, record: {path: \"{output}_" +
                                         std::to_string(width) + ".mp4\"}}}");
  }
  [[nodiscard]] nlohmann::json status() const {
    const std::string body = ask(static_cast<std::uint16_t>(port_), "GET /api/v1/status").body;
    return nlohmann::json::parse(body).at("cameras").value("b", nlohmann::json());
  }
  [[nodiscard]] double metric(const std::string& line) const {
    const std::string text = ask(static_cast<std::uint16_t>(port_), "GET /metrics").body;
    const auto at = text.find("\n" + line + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size() + 2));
  }
  void change(const std::string& yaml) const {
    write(head_ + yaml);
    rig_->signal(SIGHUP);
  }
  // What the camera has counted by now is in what is told later.
  void expect_more_than_before() {
    const nlohmann::json now = status();
    for (const char* stage : {"decoded", "encoded", "recorded"}) {
      EXPECT_GE(now.at("frames").at(stage), before_.at("frames").at(stage)) << stage;
      EXPECT_GE(now["outputs"]["small"]["frames"][stage], before_["outputs"]["small"]["frames"][stage]) << stage;
    }
    EXPECT_GE(now.at("bytes"), before_.at("bytes"));
    EXPECT_GE(metric("campipe_frames_total{camera=\"b\",output=\"main\",stage=\"recorded\"}"),
              before_.at("frames").at("recorded").get<double>());
    if (now.at("enabled")) {
      EXPECT_GE(metric("campipe_latency_seconds_count{camera=\"b\",output=\"main\",stage=\"total\"}"),
                before_.at("frames").at("recorded").get<double>());
    }
    before_ = now;
  }

  const int port_ = free_port();
  const std::string head_ =
      "http_address: 127.0.0.1:" + std::to_string(port_) + "\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n";
  nlohmann::json before_;
};

TEST_F(Counts, GoOnWhereACameraIsChangedDisabledAndEnabled) {
  const auto runs = [&](int width) {
    const std::string file = "b_" + std::to_string(width) + ".mp4";
    EXPECT_TRUE(rig_->wait_for_growth(file, 1000)) << rig_->log();
    EXPECT_TRUE(eventually([&] { return status().value("width", 0) == width; })) << rig_->log();
  };
  rig_ = std::make_unique<RigRun>(head_ + cameras(320));
  runs(320);
  ASSERT_TRUE(eventually([&] { return status().at("frames").at("recorded") > 20; }));
  before_ = status();
  change(cameras(640));
  runs(640);
  expect_more_than_before();
  change(cameras(640, ", enabled: false"));
  ASSERT_TRUE(eventually([&] { return status().value("state", "") == "disabled"; })) << rig_->log();
  expect_more_than_before();
  change(cameras(160));
  runs(160);
  expect_more_than_before();
  const nlohmann::json ended = end().at("b");
  for (const std::string name : {"b", "small"}) {
    std::size_t pictures = 0;
    for (const char* width : {"_320", "_640", "_160"}) {
      pictures += read_video(rig_->file(name + width + ".mp4")).pictures.size();
    }
    const auto& frames = (name == "b" ? ended : ended.at("outputs").at("small")).at("frames");
    EXPECT_EQ(frames.at("recorded"), pictures) << name;
    EXPECT_EQ(frames.at("decoded"), pictures) << name;
  }
}

TEST_F(Reload, LogsWhatTheOverlayDoesToTheFilesCameras) {
  begin(camera("a", 320));
  ASSERT_TRUE(rig_->wait_for_growth("a_320.mp4", 1000));
  std::ofstream(rig_->file("rig.api.yaml")) << "cameras: {b: ~}\n";
  reload(camera("a", 320) + camera("b", 320));
  EXPECT_TRUE(told("rig.api.yaml changes rig.yaml: b removed")) << rig_->log();
  expect_undisturbed(end(), "a");
}

TEST_F(Reload, RefusesAWrongFileWhole) {
  begin(camera("a", 320));
  ASSERT_TRUE(rig_->wait_for_growth("a_320.mp4", 1000));
  reload(camera("b", 320) + "  c: {source: \"test://pattern?rate=many\"}\n");
  EXPECT_TRUE(told("not reloaded: rig.yaml:6:")) << rig_->log();
  write("workers: {count: 2}\nhttp_address: off\nrtsp_address: off\ncameras:\n" + camera("a", 320));
  rig_->signal(SIGHUP);
  EXPECT_TRUE(told("'workers.count' cannot be changed while the rig runs")) << rig_->log();
  EXPECT_THAT(rig_->log(), Not(HasSubstr("added")));
  expect_undisturbed(end(), "a");
}

TEST_F(Reload, RefusesWholeWhatHasNoRoom) {
  begin(camera("a", 320));
  ASSERT_TRUE(rig_->wait_for_growth("a_320.mp4", 1000));
  std::string many;
  for (int i = 0; i < 200; ++i) {
    many += "  c" + std::to_string(i) + ": {source: \"test://pattern\", enabled: false, outputs: {x: {}, y: {}}}\n";
  }
  reload(many);
  EXPECT_TRUE(told("not reloaded: there is no room")) << rig_->log();
  EXPECT_THAT(rig_->log(), Not(HasSubstr("added")));
  EXPECT_THAT(rig_->log(), Not(HasSubstr("a: removed")));
  EXPECT_THAT(rig_->log(), Not(HasSubstr("a: changed")));
  expect_undisturbed(end(), "a");
}

TEST_F(Reload, GoesOnWhenAProcessDiesInBetween) {
  for (const char* role : {"source", "master", "worker 0", "publisher"}) {
    SCOPED_TRACE(role);
    begin(camera("a", 320) + camera("b", 320));
    ASSERT_TRUE(rig_->wait_for_growth("a_320.mp4", 1000) && rig_->wait_for_growth("b_320.mp4", 1000));
    const pid_t before = rig_->pid_of(role);
    reload(camera("a", 320) + camera("c", 640));
    ::kill(before, SIGKILL);
    rig_->successor_of(role, before);
    EXPECT_TRUE(rig_->wait_for_growth("c_640.mp4", 1000)) << rig_->log();
    EXPECT_TRUE(told("b: removed; ")) << rig_->log();
    end();
  }
}

TEST_F(Reload, EndsByItselfWhenTheLastCameraHasEnded) {
  begin(
      "  a: {source: \"test://pattern?width=320&height=240&rate=25&frames=50\"}\n  b: {enabled: false, source: "
      "\"test://pattern\"}\n");
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
}

// Told to end while a camera is only coming: that one has not failed.
TEST_F(Reload, JustBeforeTheEndIsNoFailure) {
  begin(camera("a", 320));
  ASSERT_TRUE(rig_->wait_for_growth("a_320.mp4", 2000)) << rig_->log();
  const Server mute(stay_silent);
  reload(camera("a", 320) + "  b: {source: \"rtsp://127.0.0.1:" + std::to_string(mute.port()) + "/b\"}\n");
  ASSERT_TRUE(eventually([&] { return mute.connections() > 0; })) << rig_->log();
  end();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
