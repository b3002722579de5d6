// GPUs that are not there when a rig starts, or is changed, and come later: of those that campipe_faults pretends to
// have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu.h"
#include "core/pretended_gpus.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string uuid(unsigned gpu) { return to_string(pretended_gpu(gpu)); }

class MissingGpus : public testing::Test {
 protected:
  // Two of which these are not there as long as their flags are.
  void start(const std::string& cameras, const std::vector<unsigned>& missing) {
    std::string failpoints = "none=throw";
    for (const unsigned gpu : missing) {
      std::ofstream(flag(gpu)).put('\n');
      failpoints += ",probe.finding@" + uuid(gpu) + ":1+=throw" + flag(gpu);
    }
    rig_.emplace("http_address: \"127.0.0.1:" + std::to_string(port_) +
                     "\"\nrtsp_address: off\ndefaults:\n  encode: {gop: 10, bitrate: 1M}\n"
                     "  source: \"test://pattern?width=320&height=240&rate=25\"\n"
                     "  record: {path: \"{camera}.mp4\"}\ncameras:\n" +
                     cameras,
                 RigOptions{.failpoints = failpoints, .pretended_gpus = 2});
  }
  [[nodiscard]] std::string flag(unsigned gpu) const { return (folder_.path() / std::to_string(gpu)).string(); }
  void let_come(unsigned gpu) const { std::filesystem::remove(flag(gpu)); }
  bool logs(const std::string& text) {
    return eventually([&] { return rig_->log().find(text) != std::string::npos || !rig_->running(); }) &&
           rig_->running();
  }
  void expect_records(const std::string& name) {
    EXPECT_TRUE(rig_->wait_for_growth(name, rig_->size(name) + 5000)) << rig_->log();
  }
  [[nodiscard]] json lost_gpus() const {
    try {
      return json::parse(ask(static_cast<std::uint16_t>(port_), "GET /api/v1/status").body)
          .value("lost_gpus", json::array());
    } catch (const std::exception&) {
      return {};  // it does not listen yet
    }
  }
  bool misses(const std::string& gpu, const std::vector<std::string>& cameras) {
    return eventually([&] {
      for (const json& lost : lost_gpus()) {
        if (lost.at("gpu") == gpu && lost.at("state") == "gone" && lost.at("cameras") == json(cameras)) return true;
      }
      return false;
    });
  }
  void end() {
    rig_->signal(SIGINT);
    ASSERT_EQ(rig_->wait(), 0) << rig_->log();
    EXPECT_EQ(check_accounting(rig_->report()), "");
  }
  std::string place(const std::string& camera) { return rig_->camera(camera).at("gpu").get<std::string>(); }

  TemporaryFolder folder_;
  const int port_ = free_port();
  std::optional<RigRun> rig_;
};

TEST_F(MissingGpus, ItsCameraRunsElsewhereAndGoesThereWhenItComes) {
  start("  a: {gpu: 0}\n  b: {gpu: 1}\n  c: {gpu: cpu}\n", {1});
  for (const char* name : {"a.mp4", "b.mp4", "c.mp4"}) ASSERT_TRUE(rig_->wait_for_growth(name, 5000)) << rig_->log();
  EXPECT_THAT(rig_->log(), HasSubstr("GPU 1 is gone: this machine's GPUs are 0 (pretended, " + uuid(0) + ")"));
  EXPECT_THAT(rig_->log(), HasSubstr("cameras.b.gpu: this machine's GPUs are 0"));
  EXPECT_TRUE(misses("1", {"b"})) << lost_gpus();
  EXPECT_FALSE(rig_->find("worker 1 (GPU 1)"));
  const pid_t others = rig_->pid_of("master 0");
  let_come(1);
  ASSERT_TRUE(logs("GPU 1 is here now; 1 cameras go there")) << rig_->log();
  ASSERT_TRUE(logs("b: runs on GPU 1 now")) << rig_->log();
  for (const char* name : {"a.mp4", "b.mp4", "c.mp4"}) expect_records(name);
  EXPECT_EQ(rig_->find("master 0"), others);
  EXPECT_TRUE(eventually([&] { return lost_gpus() == json::array(); })) << lost_gpus();
  EXPECT_FALSE(std::filesystem::exists(rig_->file("b-1.mp4"))) << "its file ended";
  end();
  EXPECT_EQ(place("a"), "0");
  EXPECT_EQ(place("b"), "1");
  EXPECT_EQ(place("c"), "cpu");
}

// One that has come can go and come back as any other.
TEST_F(MissingGpus, AChangeMayNameOneAndIsForgottenWithIt) {
  start("  a: {gpu: cpu}\n", {0, 1});
  ASSERT_TRUE(rig_->wait_for_growth("a.mp4", 5000)) << rig_->log();
  const std::string token = read_text(rig_->file("state/token-" + std::to_string(port_)));
  const std::string header = "Authorization: Bearer " + token + "\r\n";
  const auto port = static_cast<std::uint16_t>(port_);
  EXPECT_EQ(ask(port, "PUT /api/v1/cameras/b", header, R"({"config": {"gpu": 1}})").status, 201) << rig_->log();
  ASSERT_TRUE(rig_->wait_for_growth("b.mp4", 5000)) << rig_->log();
  EXPECT_TRUE(misses("1", {"b"})) << lost_gpus();
  EXPECT_EQ(ask(port, "DELETE /api/v1/cameras/b", header).status, 200) << rig_->log();
  EXPECT_TRUE(eventually([&] { return lost_gpus() == json::array(); })) << lost_gpus();
  end();
}

// As on a Jetson: what a GPU fills lies in memory that it can share, and --devices says why another kind does not.
TEST(IntegratedGpu, IsRecognisedAndSharesWhatItCan) {
  ::setenv("CAMPIPE_PRETENDED_GPUS", "1 integrated", 1);  // NOLINT: no other thread reads it
  RigRun devices("", {.failpoints = "none=throw", .command = {"--devices"}});
  EXPECT_EQ(devices.wait(), 0);
  EXPECT_THAT(devices.output(), HasSubstr("  integrated: its memory is this machine's\n"));
  EXPECT_THAT(devices.output(),
              HasSubstr("  ring memory cuda_legacy: does not work: an integrated GPU shares no memory "
                        "by legacy IPC\n"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
