// What is documented is made, and what is made is documented: a real rig with cameras in every state is asked for all
// that it tells, and that is compared, both ways, with openapi.json and with the tables in docs/.
//
// Nothing here says what a field is called: names come from the documents and from the program.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/gpu.h"
#include "core/pretended_gpus.h"
#include "core/rig_token.h"
#include "ipc/drop_causes.h"
#include "tests/integration/described_api.h"
#include "tests/integration/documented.h"
#include "tests/integration/rig_run.h"
#include "tests/paths.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::IsEmpty;

// --- the rig -----------------------------------------------------------------------------------------------------

// Nothing moves in it but a white box, from the 2nd second on, for a second and a half of six.
void make_footage(const fs::path& folder) {
  const std::string clip = "'" + (folder / "clip.mp4").string() + "'";
  const std::string moving =
      "ffmpeg -v error -f lavfi -i color=gray:s=160x120:r=25:d=6 -f lavfi -i color=white:s=30x30:r=25:d=6 "
      "-filter_complex \"overlay=x='20+40*(t-2)':y=50:enable='between(t,2,3.5)'\" -c:v libx264 -preset veryfast "
      "-bf 0 -g 25 -keyint_min 25 -sc_threshold 0 -pix_fmt yuv420p " +
      clip;
  const std::string shortened =
      "ffmpeg -v error -i " + clip + " -t 1 -c copy '" + (folder / "short.mp4").string() + "'";
  if (std::system(moving.c_str()) != 0 || std::system(shortened.c_str()) != 0) throw Error("ffmpeg made no clip");
  std::ofstream(folder / "broken.mp4") << "no film";
}

std::string address(int port) { return "127.0.0.1:" + std::to_string(port); }

// A rig with all that the documents tell of, as far as one machine without cameras and GPUs can have it.
class WholeRig {
 public:
  WholeRig() {
    make_footage(folder_.path());
    // As another rig would that records under the same names: `full` pauses.
    const fs::path lock = folder_.path() / ".full.index.lock";
    lock_.reset(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock_ || ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
      throw system_error("cannot lock " + lock.string(), errno);
    ::setenv("LD_LIBRARY_PATH", fs::path(fake_nvml_library).parent_path().c_str(), 1);  // an invented machine's GPUs
    // A move takes three seconds, and is in more than one status. For four seconds the worker takes none of 25 frames a
    // second: `busy` is overloaded. While the GPU is away no process can use it, and to find out takes its time.
    const std::string gpu = to_string(pretended_gpu(0));
    const std::string while_away = "throw" + away().string();
    const std::string while_late = "wait1" + late().string();
    run_ = std::make_unique<RigRun>(
        yaml(),
        RigOptions{.failpoints = "hand_over.getting_ready=wait3,stage.frame@busy:30=wait4,stage.frame@busy:31+=" +
                                 while_late + ",worker.beginning@" + gpu + ":1+=" + while_away + ",probe.checking@" +
                                 gpu + ":1+=wait1,probe.checking@" + gpu + ":1+=" + while_away,
                   .pretended_gpus = 1});
  }

  void lose_the_gpu() const {
    std::ofstream(away()) << "away";
    // A worker that has just begun finds it away by itself.
    if (const std::optional<pid_t> worker = run_->find("worker 0")) ::kill(*worker, SIGKILL);
  }
  void find_the_gpu() const { fs::remove(away()); }
  void slow_down() const { std::ofstream(late()) << "late"; }
  void speed_up() const { fs::remove(late()); }

  void add_to_file(const std::string& more) const { std::ofstream(run_->file("rig.yaml"), std::ios::app) << more; }
  [[nodiscard]] RigRun& run() const { return *run_; }
  [[nodiscard]] std::uint16_t http() const { return static_cast<std::uint16_t>(http_); }

 private:
  [[nodiscard]] std::string yaml() const;
  [[nodiscard]] fs::path away() const { return folder_.path() / "away"; }
  [[nodiscard]] fs::path late() const { return folder_.path() / "late"; }

  TemporaryFolder folder_;
  UniqueFd lock_;
  Server silent_{stay_silent};
  const int http_ = free_port();
  const int rtsp_ = free_port();
  const int nobody_ = free_port();
  const int udp_ = free_port(SOCK_DGRAM);
  std::unique_ptr<RigRun> run_;
};

// `tcp` and `udp` show the rig's own RTSP: cameras that tell their clock, and viewers. Nobody listens at NOBODY.
constexpr const char* whole_rig = R"(
http_address: HTTP
rtsp_address: RTSP
workers: {count: 2}
defaults: {gpu: cpu}
cameras:
  dock:
    source: "CLIPS/clip.mp4"
    loop: true
    filters: [motion]
    encode: {gop: 1s, bitrate: 300k}
    record: {path: "dock/%H%M%S.mp4", when: motion, before: 1s, after: 1s}
    push: ["udp://UDP", "rtsp://NOBODY/a"]
    outputs:
      small: {encode: {bitrate: 100k}, record: {path: "small/%H%M%S.mp4", segment_duration: 1s}}
  busy: {source: "test://pattern?width=160&height=120&rate=25", drop_policy: drop, placement: {encode: "cpu:1"}}
  yielding: {source: "test://pattern?width=160&height=120&rate=5", priority: 10, placement: {encode: "cpu:1"}}
  full: {source: "test://pattern?width=160&height=120&rate=5", record: {path: "CLIPS/{camera}.mp4"}}
  film: {source: "test://pattern?width=160&height=120&rate=5", encode: {codec: mjpeg}}
  copy: {source: "CLIPS/clip.mp4", loop: true, encode: {codec: copy}}
  tcp: {source: "rtsp://RTSP/dock", rtsp_transport: tcp, retry_interval: 500ms, retry_max: 1s}
  udp: {source: "rtsp://RTSP/dock", rtsp_transport: udp, retry_interval: 500ms, retry_max: 1s}
  gate: {source: "rtsp://NOBODY/live"}
  late: {source: "rtsp://SILENT/live", read_timeout: 5m}
  once: {source: "CLIPS/short.mp4"}
  lost: {source: "CLIPS/broken.mp4"}
  off: {source: "test://pattern?width=160&height=120&rate=5", enabled: false}
  spare: {source: "test://pattern?width=160&height=120&rate=5", record: {path: spare.mp4}}
  left: {source: "test://pattern?width=160&height=120&rate=5"}
  right: {source: "test://pattern?width=160&height=120&rate=5"}
  astray: {source: "test://pattern?width=160&height=120&rate=5", gpu: 0}
mosaics:
  wall: {cameras: [dock, gate], width: 320, height: 120, rate: 5, gpu: cpu}
sync_groups: {stereo: {cameras: [left, right], rate: 5}}
)";

std::string WholeRig::yaml() const {
  const std::map<std::string, std::string> words{
      {"HTTP", address(http_)},     {"RTSP", address(rtsp_)}, {"SILENT", address(silent_.port())},
      {"NOBODY", address(nobody_)}, {"UDP", address(udp_)},   {"CLIPS", folder_.path().string()}};
  std::string text = whole_rig;
  for (const auto& [word, value] : words) text = std::regex_replace(text, std::regex("\\b" + word + "\\b"), value);
  return text;
}

bool answers(std::uint16_t port, const std::string& path) {
  try {
    return ask(port, "GET " + path).status == 200;
  } catch (const Error&) {  // nobody listens yet
    return false;
  }
}

std::string token_of(RigRun& run, std::uint16_t port) {
  const fs::path file = run.file("state") / ("token-" + std::to_string(port));
  std::optional<std::string> token;
  eventually([&] { return (token = read_token(file)).has_value() || !run.running(); });
  if (!token) throw Error("the rig has no token; its log:\n" + run.log());
  return *token;
}

// Watches and asks one rig, until all has been seen that the documents promise.
class Contract : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(eventually([&] { return answers(rig_.http(), "/api/v1/cameras/spare"); })) << rig_.run().log();
    api_ = std::make_unique<DescribedApi>(rig_.http(), token_of(rig_.run(), rig_.http()));
  }
  // Also of an exception, such as of a server that does not listen.
  void TearDown() override {
    if (HasFailure()) std::cout << "the log:\n" << rig_.run().log();
  }

  void make_changes();
  void see_a_move();
  void watch();
  json see_newest_status();
  void see_an_overload();
  void see_a_restart();
  void see_a_lost_gpu();
  bool has_seen_all_but(const Names& others);
  void end();
  [[nodiscard]] Names lacking() const;

  WholeRig rig_;
  std::unique_ptr<DescribedApi> api_;
  const Metrics documented_ = documented_metrics();
  Metrics metrics_;
  Names events_;
  Deadline next_look_;
  std::vector<std::unique_ptr<WebSocketClient>> browsers_;
  std::vector<std::unique_ptr<TcpClient>> players_;
};

// What is shown meanwhile is there only then.
void Contract::see_a_move() {
  const auto spare = [&] { return api_->call("GET", "/cameras/{name}", "spare"); };
  EXPECT_TRUE(eventually([&] { return spare().at("state") == "running" && spare().contains("ring"); }));
  const auto to = [](int worker) { return R"({"worker": )" + std::to_string(worker) + "}"; };
  int there = 2;
  std::jthread moves([&] {  // it is on one of the CPU's two workers; which one, the status may not say yet
    const std::string token = "Authorization: Bearer " + token_of(rig_.run(), rig_.http()) + "\r\n";
    Reply reply;
    // The status that has it running may be of a second ago, before it was disabled and enabled.
    EXPECT_TRUE(eventually([&] {
      reply = ask(rig_.http(), "POST /api/v1/cameras/spare/move", token, to(there));
      if (reply.body.find("already") != std::string::npos) there = 3 - there;
      return reply.status == 200;
    })) << reply.body;
  });
  EXPECT_TRUE(eventually([&] { return spare().contains("moves_to"); }));
  moves.join();
  EXPECT_TRUE(eventually([&] { return spare().contains("moved"); }));
  api_->call("POST", "/cameras/{name}/move", "spare", to(3 - there));
}

// Each call that changes something, once.
void Contract::make_changes() {
  const std::string config = R"({"config": {"source": "test://pattern?width=160&height=120&rate=)";
  api_->call("POST", "/cameras/{name}/stop-recording", "spare");
  api_->call("POST", "/cameras/{name}/record", "spare");
  api_->call("POST", "/cameras/{name}/disable", "spare");
  api_->call("POST", "/cameras/{name}/enable", "spare");
  api_->call("PUT", "/cameras/{name}", "new", config + "5\"}}", 201);
  api_->call("PUT", "/cameras/{name}", "new", config + "6\"}}");
  api_->call("DELETE", "/cameras/{name}", "new");
  see_a_move();
  const std::string mosaic = R"({"config": {"cameras": ["dock"], "width": 160, "height": 120, "gpu": "cpu", "rate": )";
  api_->call("PUT", "/mosaics/{name}", "new", mosaic + "5}}", 201);
  api_->call("PUT", "/mosaics/{name}", "new", mosaic + "6}}");
  api_->call("DELETE", "/mosaics/{name}", "new");
  const std::string group = R"({"config": {"cameras": ["spare", "film"], "rate": )";
  api_->call("PUT", "/sync_groups/{name}", "new", group + "5}}", 201);
  api_->call("PUT", "/sync_groups/{name}", "new", group + "6}}");
  api_->call("DELETE", "/sync_groups/{name}", "new");
  api_->call("POST", "/login", "", R"({"user": "ann", "password": "secret"})");
  api_->call("POST", "/logout");
  api_->call("GET", "/cameras/{name}", "nobody", "", 404);
  api_->call("POST", "/cluster/drain", "", R"({"node": "east"})", 404);
  api_->call("POST", "/cluster/move", "", R"({"camera": "dock", "node": "east"})", 404);
  api_->call("POST", "/reload");
  rig_.add_to_file("colour: blue\n");
  api_->call("POST", "/reload", "", "", 400);
}

void Contract::watch() {
  for (const std::string query : {"", "?sound=1"})
    browsers_.push_back(std::make_unique<WebSocketClient>(rig_.http(), "/cameras/dock/live" + query));
  for (const std::string form : {"stream.ts", "stream.mp4"}) {
    players_.push_back(std::make_unique<TcpClient>(rig_.http()));
    players_.back()->send(request_text("GET /cameras/dock/" + form));
  }
}

json Contract::see_newest_status() {
  const Reply reply = ask(rig_.http(), "GET /api/v1/status");
  json status = json::parse(reply.body, nullptr, false);
  if (reply.status != 200 || !status.is_object()) return json::object();
  api_->see_status(status);
  return status;
}

// That of the beginning may have passed while changes were made.
void Contract::see_an_overload() {
  const auto seen = [&] {
    see_newest_status();
    return api_->seen().contains("Camera.overloaded");
  };
  if (seen()) return;
  rig_.slow_down();
  EXPECT_TRUE(eventually(seen)) << rig_.run().log();
  rig_.speed_up();
}

// A worker dies until a status, made each second, has its wait for a restart: that is longer each time.
void Contract::see_a_restart() {
  const auto seen = [&] {
    see_newest_status();
    return api_->seen().contains("Status.processes.restarts_in_s");
  };
  pid_t worker = -1;
  EXPECT_TRUE(eventually([&] {
    const std::optional<pid_t> now = rig_.run().find("worker 1");
    if (now && *now != worker) ::kill(worker = *now, SIGKILL);
    return seen();
  })) << rig_.run().log();
}

// It goes away and comes back until statuses have had each of its states, of which some last for moments.
void Contract::see_a_lost_gpu() {
  const std::string states = "Status.lost_gpus.state=";
  bool is_away = false;
  EXPECT_TRUE(eventually(
      [&] {
        const json status = see_newest_status();
        const json gpus = status.value("lost_gpus", json::array());
        const std::string state = gpus.empty() ? "here" : gpus[0].at("state").get<std::string>();
        const Names& seen = api_->seen();
        if (std::ranges::all_of(std::array{"suspected", "gone", "returning"},
                                [&](const char* each) { return seen.contains(states + each); }))
          return true;
        if (state == "here" && !std::exchange(is_away, true)) rig_.lose_the_gpu();
        if (state == "gone" && std::exchange(is_away, false)) rig_.find_the_gpu();
        return false;
      },
      long_time))
      << rig_.run().log();
  rig_.find_the_gpu();
}

// True: nothing is lacking but `others`. The rig makes a status each second, so it is not asked all the time.
bool Contract::has_seen_all_but(const Names& others) {
  if (Clock::now() < next_look_) return false;
  next_look_ = Clock::now() + std::chrono::milliseconds(500);
  api_->call_all_gets("dock");
  see_metrics(ask(rig_.http(), "GET /metrics").body, metrics_);
  see_events(rig_.run().file("events.jsonl"), events_);
  return without(lacking(), others).empty();
}

Names Contract::lacking() const {
  Names all = without(api_->promised(), api_->seen());
  all.merge(without(parts_of(documented_, documented_), parts_of(metrics_, documented_)));
  all.merge(without(documented_events(), events_));
  std::erase_if(all, is_of_a_cluster);    // cluster_view_test
  std::erase_if(all, is_of_other_nodes);  // cluster_wall_test
  return all;
}

// The workers sleep for a moment, or the end would be over before anybody could see it. Both that have cameras: either
// may have lost them all to the other, and would hold nothing up.
void Contract::end() {
  const std::array workers{rig_.run().pid_of("worker 1"),
                           rig_.run().pid_of("worker 2")};  // worker 0 would be the GPU's
  for (const pid_t worker : workers) ::kill(worker, SIGSTOP);
  rig_.run().signal(SIGINT);
  const bool seen =
      eventually([&] { return see_newest_status().value("state", "running") != "running" || !rig_.run().running(); }) &&
      rig_.run().running();
  for (const pid_t worker : workers) ::kill(worker, SIGCONT);
  EXPECT_TRUE(seen) << rig_.run().log();
  EXPECT_EQ(rig_.run().wait(), 3) << rig_.run().log();  // a camera failed, and a recording was paused
}

TEST_F(Contract, WhatIsDocumentedIsMadeAndWhatIsMadeIsDocumented) {
  make_changes();
  watch();
  see_an_overload();
  see_a_restart();
  see_a_lost_gpu();
  const Names only_at_the_end{"Status.state=draining"};
  eventually([&] { return has_seen_all_but(only_at_the_end) || !rig_.run().running(); });
  Names reported;
  see_report(rig_.run().report(), "", "", reported);
  end();
  see_report(rig_.run().report(), "", "", reported);

  EXPECT_THAT(lacking(), IsEmpty()) << "documented, and never made; the log:\n" << rig_.run().log();
  EXPECT_THAT(api_->mistakes(), IsEmpty()) << "made, and not as openapi.json says";
  EXPECT_THAT(without(parts_of(metrics_, documented_), parts_of(documented_, documented_)), IsEmpty())
      << "metrics that docs/operations.md does not have";
  EXPECT_THAT(without(events_, documented_events()), IsEmpty()) << "events that docs/operations.md does not have";
  EXPECT_THAT(without(documented_report(), reported), IsEmpty()) << "keys that no report has";
  EXPECT_THAT(without(reported, documented_report()), IsEmpty()) << "keys that docs/operations.md does not have";

  EXPECT_EQ(documented_calls(), described_calls(*api_));
  compare_fields(*api_, "Status", rows_behind("api.md", "## Status", "Of a camera"));
  compare_fields(*api_, "Camera", rows_behind("api.md", "Of a camera, and of each other output"));
  Names causes;
  for (const Row& row : rows_behind("architecture.md", "| cause |")) causes.merge(words_in(row.at(0)));
  EXPECT_THAT(without(metrics_["campipe_frames_dropped_total"].labels["cause"], causes), IsEmpty());
  Names table;
  for (const DropCauseInfo& info : drop_cause_table) table.insert(info.name);
  EXPECT_EQ(causes, table);
}

// --- promises that were not kept ---------------------------------------------------------------------------------

class SmallRig : public testing::Test {
 protected:
  static std::string camera(const std::string& name, int rate) {
    return "  " + name + ": {source: \"test://pattern?width=160&height=120&rate=" + std::to_string(rate) +
           "\", encode: {gop: 5}, record: {path: \"{camera}.mp4\"}}\n";
  }
  [[nodiscard]] std::string rig(const std::string& cameras) const {
    return "http_address: " + address(port_) + "\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" + cameras;
  }
  [[nodiscard]] bool metrics_have(const std::string& line) const {
    return eventually([&] {
      return answers(port_, "/metrics") && ask(port_, "GET /metrics").body.find(line + "\n") != std::string::npos;
    });
  }

  const std::uint16_t port_ = static_cast<std::uint16_t>(free_port());
};

using ContractOfRecordings = SmallRig;

TEST_F(ContractOfRecordings, TheMetricIsOneWhileOneIsMade) {
  RigRun run(rig(camera("dock", 25)));
  const std::string metric = "campipe_recording{camera=\"dock\",output=\"main\"} ";
  EXPECT_TRUE(metrics_have(metric + "1")) << run.log();
  EXPECT_EQ(ask(port_, "POST /api/v1/cameras/dock/stop-recording").status, 200);
  EXPECT_TRUE(metrics_have(metric + "0")) << run.log();
  EXPECT_EQ(ask(port_, "POST /api/v1/cameras/dock/record").status, 200);
  EXPECT_TRUE(metrics_have(metric + "1")) << run.log();
}

using ContractOfReloading = SmallRig;

TEST_F(ContractOfReloading, TheCommandListsWhatIsDifferent) {
  RigRun run(rig(camera("dock", 25) + camera("gate", 25) + camera("belt", 25)));
  ASSERT_TRUE(metrics_have("campipe_camera_up{camera=\"dock\",output=\"main\"} 1")) << run.log();
  const std::string token = run.file("state") / ("token-" + std::to_string(port_));
  const auto reload = [&] { return ask({"reload", "--url", "http://" + address(port_), "--token-file", token}); };
  EXPECT_EQ(reload().output, "reloaded\n");
  std::ofstream(run.file("rig.yaml")) << rig(camera("dock", 5) + camera("belt", 25) + camera("yard", 25));
  const Answer answer = reload();
  EXPECT_EQ(answer.status, 0) << answer.errors;
  EXPECT_EQ(answer.output, "added: yard\nchanged: dock\nremoved: gate\n");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
