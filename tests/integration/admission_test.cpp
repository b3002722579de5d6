// Rigs that need more than the machine has: what is refused, what is only logged. The costs are invented, in the cache
// file of measured ones, so that the machine that the test runs on does not matter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <memory>

#include "app/costs/cost_cache.h"
#include "app/costs/estimates.h"
#include "app/placement/plan.h"
#include "core/error.h"
#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using testing::Not;

constexpr double small = 320 * 240 / 1e6;
constexpr double large = 1280 * 720 / 1e6;

// Frames of 320x240 cost nearly nothing; to encode one of 1280x720 takes an hour, and so does to decode any H.264.
DeviceCosts invented_costs() {
  DeviceCosts costs = estimated_cpu_costs(cpu_key());
  costs.measured = "2026-11-25T00:00:00Z";
  const auto set = [&](const char* work, double us_small, double us_large) {
    WorkCost& cost = costs.at(work);
    cost.curves.clear();
    cost.add(0, {small, us_small});
    cost.add(0, {large, us_large});
  };
  set("encode/libx264", 1, 900e6);
  set("decode/pattern", 1, 1);
  set("decode/h264", 900e6, 900e6);
  return costs;
}

std::string camera(const std::string& name, const std::string& source, const std::string& more = "") {
  return "  " + name + ": {source: \"" + source + "\", gpu: cpu" + more + "}\n";
}
std::string pattern(const std::string& size, const std::string& more = "&rate=25") {
  return "test://pattern?" + size + more;
}
const std::string small_pattern = pattern("width=320&height=240");
const std::string large_pattern = pattern("width=1280&height=720");

class AdmittedRig : public testing::Test {
 protected:
  AdmittedRig() { write_costs(caches_.path() / "campipe" / "costs.json", {invented_costs()}); }

  [[nodiscard]] RigOptions options() const {
    RigOptions options;
    options.cache = caches_.path();
    return options;
  }
  static std::string yaml(const std::string& admission, const std::string& cameras, int port = 0) {
    const std::string address = port == 0 ? "off" : "\"127.0.0.1:" + std::to_string(port) + "\"";
    return "admission: " + admission + "\nhttp_address: " + address +
           "\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" + cameras;
  }
  void begin(const std::string& text) { rig_ = std::make_unique<RigRun>(text, options()); }
  void reload(const std::string& text) const {
    std::ofstream(rig_->file("rig.yaml")) << text;
    rig_->signal(SIGHUP);
  }
  [[nodiscard]] bool logs_now(const std::string& what) const { return rig_->log().find(what) != std::string::npos; }
  [[nodiscard]] bool logs(const std::string& what) const {
    return eventually([&] { return logs_now(what); });
  }
  nlohmann::json end(int status) const {
    rig_->signal(SIGTERM);
    EXPECT_EQ(rig_->wait(), status) << rig_->log();
    EXPECT_EQ(check_accounting(rig_->report()), "");
    return rig_->report().at("cameras");
  }

  TemporaryFolder caches_;
  std::unique_ptr<RigRun> rig_;
};

TEST_F(AdmittedRig, ThatIsTooLargeIsNotStarted) {
  begin(yaml("refuse", camera("a", small_pattern) + camera("b", large_pattern)));
  EXPECT_EQ(rig_->wait(), 2);
  EXPECT_THAT(rig_->log(), HasSubstr("admission: refuse: needs "));
  EXPECT_THAT(rig_->log(), HasSubstr(" cores (decoding 0.0, filters 0.0, encoding "));
  EXPECT_THAT(rig_->log(), HasSubstr("; the machine has "));
}

// The file has the cameras of all nodes.
TEST_F(AdmittedRig, ThatIsANodeNeedNotCarryAllOfItsFile) {
  begin(yaml("refuse", camera("a", small_pattern) + camera("b", large_pattern)) +
        "cluster: {name: hall, etcd: ['http://127.0.0.1:1'], node: one, address: '127.0.0.1:8443'}\n");
  ASSERT_TRUE(logs("node one of cluster hall")) << rig_->log();
  rig_->signal(SIGTERM);
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
}

TEST_F(AdmittedRig, ThatIsTooLargeIsStartedAndLoggedByDefault) {
  const std::string cameras = camera("a", pattern("width=1280&height=720", "&frames=3"));
  std::string text = yaml("warn", cameras);
  text.erase(0, text.find('\n') + 1);  // without the key
  begin(text);
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  EXPECT_THAT(rig_->log(), HasSubstr("warning [supervisor] admission: needs "));
  EXPECT_THAT(rig_->log(), HasSubstr("; the machine has "));
  EXPECT_EQ(rig_->report().at("cameras").at("a").at("frames").at("encoded"), 3);
}

TEST_F(AdmittedRig, ThatFitsIsStartedInSilence) {
  begin(yaml("refuse", camera("a", pattern("width=320&height=240", "&frames=3"))));
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  EXPECT_THAT(rig_->log(), Not(HasSubstr("the machine has")));
}

// What a file or a camera sends is known only once it has been opened.
TEST_F(AdmittedRig, StopsACameraWhoseStreamIsTooMuchAndTheOthersRun) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "clip.mp4", .frames = 100});
  const std::string clip = (clips.path() / "clip.mp4").string();
  begin(yaml("refuse", camera("a", small_pattern, ", record: {path: a.mp4}") +
                           camera("b", clip, ", loop: true, encode: {codec: h264}, record: {path: b.mp4}")));
  ASSERT_TRUE(logs("b: not started: needs ")) << rig_->log();
  ASSERT_TRUE(rig_->wait_for_growth("a.mp4", 2000)) << rig_->log();
  const auto cameras = end(3);
  EXPECT_EQ(cameras.at("b").at("state"), "failed");
  EXPECT_THAT(cameras.at("b").at("reason").get<std::string>(), HasSubstr("; the machine has "));
  EXPECT_EQ(cameras.at("a").at("state"), "ended");
  EXPECT_EQ(cameras.at("a").at("frames").at("dropped"), nlohmann::json::object());
}

TEST_F(AdmittedRig, LogsAStreamThatIsTooMuchAndRunsIt) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "clip.mp4", .frames = 10});
  begin(yaml("warn", camera("b", (clips.path() / "clip.mp4").string(), ", encode: {codec: h264}")));
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  EXPECT_THAT(rig_->log(), HasSubstr("b: decoding needs "));
  EXPECT_EQ(rig_->report().at("cameras").at("b").at("frames").at("encoded"), 10);
}

TEST_F(AdmittedRig, RefusesAReloadThatBringsTooMuch) {
  const std::string a = camera("a", small_pattern, ", record: {path: a.mp4}");
  begin(yaml("refuse", a));
  ASSERT_TRUE(rig_->wait_for_growth("a.mp4", 2000)) << rig_->log();
  reload(yaml("refuse", a + camera("b", large_pattern)));
  EXPECT_TRUE(logs("not reloaded: admission: needs ")) << rig_->log();
  // With `warn` in the same file it goes through; and what runs then may go on when `refuse` comes back.
  const std::string b = camera("b", large_pattern, ", record: {path: b.mp4}");
  reload(yaml("warn", a + b));
  EXPECT_TRUE(logs("b: added")) << rig_->log();
  ASSERT_TRUE(rig_->wait_for_growth("b.mp4", 2000)) << rig_->log();
  reload(yaml("refuse", a + b + camera("c", small_pattern, ", record: {path: c.mp4}")));
  EXPECT_TRUE(logs("c: added")) << "c needs next to nothing: " << rig_->log();
  reload(yaml("refuse", a + b));
  EXPECT_TRUE(logs("c: removed")) << "what makes it less is never refused: " << rig_->log();
  const auto cameras = end(0);
  EXPECT_EQ(cameras.at("a").at("frames").at("dropped"), nlohmann::json::object());
}

TEST_F(AdmittedRig, RefusesARequestThatBringsTooMuch) {
  const int port = free_port();
  begin(yaml("refuse", camera("a", small_pattern, ", record: {path: a.mp4}"), port));
  ASSERT_TRUE(rig_->wait_for_growth("a.mp4", 2000)) << rig_->log();
  const auto put = [&](const std::string& name, const std::string& source) {
    const std::string token = read_text(rig_->file("state/token-" + std::to_string(port)));
    const std::string body = R"({"config": {"gpu": "cpu", "source": ")" + source + R"("}, "persist": false})";
    return ask(static_cast<std::uint16_t>(port), "PUT /api/v1/cameras/" + name,
               "Authorization: Bearer " + token + "\r\n", body);
  };
  const Reply refused = put("b", large_pattern);
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr("admission: needs "));
  EXPECT_EQ(put("c", small_pattern).status, 201);
  EXPECT_EQ(put("c", large_pattern).status, 409) << "nor may a camera become too large";
  end(0);
}

// By the table each camera takes half a core for encoding; in truth next to nothing, which is known after half a
// minute.
TEST_F(AdmittedRig, BelievesWhatEncodingTakesInTruth) {
  DeviceCosts costs = invented_costs();
  WorkCost& encoding = costs.at("encode/libx264");
  encoding.curves.clear();
  encoding.add(0, {small, 20'000});
  write_costs(caches_.path() / "campipe" / "costs.json", {costs});
  const auto count = static_cast<unsigned>(this_machine().cores());
  const auto cameras = [&](const std::string& name) {
    std::string text;
    for (unsigned i = 0; i < std::max(count, 1U); ++i) {
      const std::string each = name + std::to_string(i);
      text += camera(each, small_pattern, ", record: {path: " + each + ".mp4}");
    }
    return text;
  };
  begin(yaml("refuse", cameras("a")));
  ASSERT_TRUE(rig_->wait_for_growth("a0.mp4", 2000)) << rig_->log();
  reload(yaml("refuse", cameras("a") + cameras("b")));
  ASSERT_TRUE(logs("not reloaded: admission: needs ")) << rig_->log();
  EXPECT_TRUE(eventually(
      [&] {
        rig_->signal(SIGHUP);
        return logs_now("b0: added");
      },
      std::chrono::minutes(2)))
      << rig_->log();
  end(0);
}

// A cache that is not believed: then what is needed is estimated, which on any machine is far from this.
TEST_F(AdmittedRig, DoesNotBelieveGarbage) {
  std::ofstream(caches_.path() / "campipe" / "costs.json") << "{\"format\": 1, \"devices\": [{]}";
  begin(yaml("refuse", camera("a", pattern("width=320&height=240", "&frames=3"))));
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
