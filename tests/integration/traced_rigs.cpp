#include "tests/integration/traced_rigs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "core/gpu.h"
#include "core/pretended_gpus.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/times_in.h"
#include "tests/unit/coded_units.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"
#include "tests/unit/rtsp_camera.h"

namespace campipe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uintmax_t a_second = 2'000;  // bytes of a recording, at the least

// A camera's keys.
std::string camera(const std::string& name, const std::string& source, const std::string& more = "") {
  return fmt::format("  {}: {{source: \"{}\", encode: {{gop: 1s}}, record: {{path: {}.mp4}}{}}}\n", name, source, name,
                     more);
}

class Traced {
 public:
  // `keys`: of the rig.
  explicit Traced(const std::string& cameras, const std::string& keys = "workers: {count: 1}", RigOptions options = {})
      : keys_(keys) {
    options.trace = true;
    rig_ = std::make_unique<RigRun>(yaml(cameras), options);
  }

  RigRun& rig() { return *rig_; }
  void require(bool condition, const std::string& what) const {
    if (!condition) throw Error(what + "; the log:\n" + rig_->log());
  }
  void wait_for(const std::function<bool()>& condition, const std::string& what) const {
    require(eventually(condition), what);
  }
  // Something more comes into the recording.
  void wait_for_more(const std::string& file) {
    require(rig_->wait_for_growth(file, rig_->size(file) + a_second), file + " does not grow");
  }
  void wait_for_log(const std::string& text, unsigned times = 1) const {
    wait_for([&] { return times_in(rig_->log(), text) >= times; }, "it does not log: " + text);
  }
  [[nodiscard]] std::size_t times_traced(const std::string& text) const {
    return times_in(read_text(rig_->file("trace.json")), text);
  }
  void kill(const std::string& role) {
    const pid_t pid = rig_->pid_of(role);
    ::kill(pid, SIGKILL);
    static_cast<void>(rig_->successor_of(role, pid));
  }
  void reload(const std::string& cameras) {
    std::ofstream(rig_->file("rig.yaml")) << yaml(cameras);
    rig_->signal(SIGHUP);
  }
  // The status of the answer.
  [[nodiscard]] int call(const std::string& request, const std::string& body = "") const {
    const std::string token = read_text(rig_->file("state/token-" + std::to_string(port_)));
    return ask(port_, request, "Authorization: Bearer " + token + "\r\n", body).status;
  }
  void post(const std::string& path, const std::string& body = "") const {
    require(call("POST /api/v1/cameras/" + path, body) == 200, path + " is refused");
  }
  // A browser that shows a camera, and has got something.
  [[nodiscard]] std::unique_ptr<TcpClient> watch(const std::string& path) const {
    std::unique_ptr<TcpClient> viewer;
    const auto connects = [&] {
      try {
        viewer = std::make_unique<TcpClient>(port_);
      } catch (const std::exception&) {
      }
      return viewer != nullptr;
    };
    wait_for(connects, "the rig does not listen");
    viewer->send(request_text("GET /cameras/" + path));
    require(viewer->read_up_to(20'000), "a viewer of " + path + " gets nothing");
    return viewer;
  }
  std::vector<json> end() {
    rig_->signal(SIGTERM);
    const int status = rig_->wait();
    require(status == 0 || status == 3, "it fails");  // 3: a recording is paused
    std::vector<json> trace;
    std::istringstream lines(read_text(rig_->file("trace.json")));
    for (std::string line; std::getline(lines, line);) trace.push_back(json::parse(line));
    return trace;
  }

 private:
  [[nodiscard]] std::string yaml(const std::string& cameras) const {
    return fmt::format("http_address: 127.0.0.1:{}\nrtsp_address: off\n{}\ncameras:\n{}", port_, keys_, cameras);
  }

  std::uint16_t port_ = static_cast<std::uint16_t>(free_port());
  std::string keys_;
  std::unique_ptr<RigRun> rig_;
};

constexpr const char* sound = "m=audio 0 RTP/AVP 0\r\na=control:audio\r\n";

std::string h264(int width = 160) {
  static std::map<int, std::string> made;
  std::string& stream = made[width];
  if (!stream.empty()) return stream;
  for (const CodedUnit& unit : coded_units({.width = width})) stream += unit.data;
  return stream;
}

std::vector<json> run_plain() {
  RtspCamera gate({.h264 = h264()});
  RtspCamera yard({.h264 = h264(), .more = sound});
  Traced rig(camera("gate", gate.url()) + camera("yard", yard.url(), ", drop_policy: drop"));
  rig.wait_for_more("gate.mp4");
  rig.wait_for_more("yard.mp4");
  return rig.end();
}

std::vector<json> run_deaths() {
  RtspCamera gate({.h264 = h264()});
  RtspCamera yard({.h264 = h264(), .more = sound});
  Traced rig(camera("gate", gate.url()) + camera("yard", yard.url(), ", drop_policy: drop"));
  for (const char* role : {"worker 0", "master", "publisher", "source"}) {
    rig.wait_for_more("gate.mp4");
    rig.kill(role);
  }
  rig.wait_for_more("gate.mp4");
  rig.wait_for_more("yard.mp4");
  return rig.end();
}

// It is away at first, and now and then; it comes back with other frames and sound. What its codec is decides
// whether it is copied.
std::vector<json> run_camera_that_is_away() {
  std::atomic<bool> away = true;
  const auto rules_of = [&](std::atomic<unsigned>& described) {
    RtspCamera::Rules rules;
    rules.h264 = h264();
    rules.h264_later = h264(320);
    rules.more = "m=audio 0 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000/1\r\na=control:audio\r\n";
    rules.frames = 60;
    rules.refusal = [&](const std::string&) { return away ? "503 Service Unavailable" : ""; };
    rules.writes = [&](std::string answer) {
      const auto channels = answer.find("8000/1");
      if (channels != std::string::npos && ++described > 1) answer.replace(channels, 6, "8000/2");
      return answer;
    };
    return rules;
  };
  std::atomic<unsigned> of_gate = 0;
  std::atomic<unsigned> of_yard = 0;
  RtspCamera gate(rules_of(of_gate));
  RtspCamera yard(rules_of(of_yard));
  Traced rig(
      fmt::format("  gate: {{source: \"{}\", encode: {{codec: auto}}, record: {{path: gate.mp4}}}}\n", gate.url()) +
      camera("yard", yard.url()));
  rig.wait_for_log("yard: away");
  rig.wait_for_log("gate: away");
  away = false;
  rig.wait_for_log("yard: delivers again", 2);
  rig.wait_for_log("gate: delivers again", 2);
  rig.wait_for_more("gate-1.mp4");
  rig.wait_for_more("yard-1.mp4");
  return rig.end();
}

// The first time that a worker is to take it over, its encoder does not open.
std::vector<json> run_move() {
  RtspCamera gate({.h264 = h264()});
  RtspCamera yard({.h264 = h264(), .more = sound});
  RigOptions options;
  options.failpoints = "encoder.opening:2=throw,encoder.opening:2=throw";
  const std::string by_stage = ", filters: [sharpen], placement: {filter: [\"cpu:0\"], encode: \"cpu:1\"}";
  Traced rig(camera("gate", gate.url()) + camera("yard", yard.url(), by_stage), "workers: {count: 2}", options);
  rig.wait_for_more("gate.mp4");
  rig.wait_for_more("yard.mp4");
  for (const std::string to : {R"({"worker": 1})", R"({"worker": 0})"}) {
    rig.require(rig.call("POST /api/v1/cameras/gate/move", to) != 200, "an encoder opens");
    rig.wait_for_more("gate.mp4");
    rig.post("gate/move", to);
    rig.wait_for_more("gate.mp4");
  }
  return rig.end();
}

// The camera loses its GPU and runs on the CPU.
std::vector<json> run_lost_gpu() {
  RtspCamera gate({.h264 = h264()});
  const TemporaryFolder folder;
  const std::string flag = (folder.path() / "gone").string();
  RigOptions options;
  options.pretended_gpus = 1;
  for (const char* const place : {"worker.beginning", "master.beginning", "probe.checking"})
    options.failpoints += fmt::format("{}{}@{}:1+=throw{}", options.failpoints.empty() ? "" : ",", place,
                                      to_string(pretended_gpu(0)), flag);
  Traced rig(camera("gate", gate.url()), "", options);
  rig.wait_for_more("gate.mp4");
  std::ofstream(flag).put('\n');
  ::kill(rig.rig().pid_of("worker 0"), SIGKILL);
  rig.wait_for_log("gate: runs on the CPU now");
  rig.wait_for_more("gate.mp4");
  fs::remove(flag);
  rig.wait_for_log("gate: runs on GPU 0 now");
  return rig.end();
}

std::vector<json> run_changes() {
  RtspCamera gate({.h264 = h264()});
  RtspCamera yard({.h264 = h264()});
  RtspCamera dock({.h264 = h264()});
  Traced rig(camera("gate", gate.url()) + camera("yard", yard.url()));
  rig.wait_for_more("gate.mp4");
  rig.post("gate/stop-recording");
  rig.post("gate/record");
  rig.wait_for_more("gate-1.mp4");
  rig.post("yard/disable");
  rig.post("yard/enable", R"({"persist": true})");
  rig.reload(camera("gate", gate.url(), ", queue_size: 9") + camera("dock", dock.url()));
  rig.wait_for_more("dock.mp4");
  rig.require(rig.call("POST /api/v1/reload") == 200, "reload is refused");
  const std::string hall = fmt::format(R"({{"config": {{"source": "{}"}}, "persist": true}})", yard.url());
  rig.require(rig.call("PUT /api/v1/cameras/hall", hall) == 201, "a new camera is refused");
  rig.require(
      rig.call("PUT /api/v1/cameras/roof", fmt::format(R"({{"config": {{"source": "{}"}}}})", yard.url())) == 201,
      "another one is refused");
  rig.require(rig.call("DELETE /api/v1/cameras/hall?persist=true") == 200, "its removal is refused");
  rig.require(rig.call("DELETE /api/v1/cameras/roof") == 200, "its removal is refused");
  return rig.end();
}

// With sound; its source dies, and the publisher.
std::vector<json> run_copy() {
  RtspCamera gate({.h264 = h264(), .more = sound});
  Traced rig(
      fmt::format("  gate: {{source: \"{}\", encode: {{codec: copy}}, record: {{path: gate.mp4}}, "
                  "outputs: {{small: {{encode: {{codec: h264}}, record: {{path: small.mp4}}}}}}}}\n",
                  gate.url()));
  for (const char* role : {"publisher", "source", "source"}) {
    rig.wait_for_more("gate.mp4");
    rig.kill(role);
  }
  rig.wait_for_more("gate.mp4");
  return rig.end();
}

// H.264 is encoded while somebody watches.
std::vector<json> run_watched() {
  RtspCamera gate({.h264 = h264(), .more = sound});
  Traced rig(
      fmt::format("  gate: {{source: \"{}\", encode: {{codec: hevc}}, record: {{path: gate.mp4}}}}\n", gate.url()));
  rig.wait_for_more("gate.mp4");
  auto first = rig.watch("gate/stream.ts?output=browser");
  rig.wait_for([&] { return rig.times_traced("there are some") > 0; }, "the page does not show a viewer");
  const std::size_t none = rig.times_traced("there are none");
  first.reset();
  rig.wait_for([&] { return rig.times_traced("there are none") > none; },
               "the page does not show that the viewer has gone");
  const auto viewer = rig.watch("gate/stream.ts?output=browser");
  rig.kill("publisher");
  const auto again = rig.watch("gate/stream.ts?output=browser");
  return rig.end();
}

// To a target that is there, and goes.
std::vector<json> run_push() {
  RtspCamera gate({.h264 = h264(), .more = sound});
  const std::string target = fmt::format("rtsp://127.0.0.1:{}/dock", free_port());
  const auto listen = [&] {
    return std::make_unique<Program>(
        std::vector<std::string>{"ffmpeg", "-v", "error", "-rtsp_flags", "listen", "-i", target, "-f", "null", "-"});
  };
  auto there = listen();
  Traced rig(fmt::format("  gate: {{source: \"{}\", encode: {{codec: copy}}, push: [\"{}\", \"{}\"]}}\n", gate.url(),
                         target, fmt::format("rtmp://127.0.0.1:{}/away", free_port())));
  rig.wait_for_log("pushes to " + target);
  there.reset();
  rig.wait_for_log("cannot push to " + target);
  there = listen();
  rig.wait_for_log("pushes to " + target, 2);
  return rig.end();
}

// Files may not grow any more, and then they may.
std::vector<json> run_full_disk() {
  RtspCamera gate({.h264 = h264(), .more = sound});
  Traced rig(camera("gate", gate.url()));
  rig.wait_for_more("gate.mp4");
  const auto limit_files = [&](rlim_t size) {
    const rlimit limit{size, RLIM_INFINITY};
    rig.require(::prlimit(rig.rig().pid_of("publisher"), RLIMIT_FSIZE, &limit, nullptr) == 0, "no limit can be set");
  };
  limit_files(1'000);
  rig.wait_for_log("recording paused");
  limit_files(RLIM_INFINITY);
  rig.wait_for_more("gate-1.mp4");
  return rig.end();
}

// The disk is missing at the start. A recording that is stopped and started, and one that waits, find it later.
std::vector<json> run_missing_disk() {
  const std::vector<std::string> names{"gate", "yard", "dock"};
  std::vector<std::unique_ptr<RtspCamera>> sources;
  const TemporaryFolder disks;
  std::string cameras;
  for (const std::string& name : names) {
    const fs::path link = disks.path() / ("link-" + name);
    fs::create_symlink(disks.path() / name, link);
    sources.push_back(std::make_unique<RtspCamera>(RtspCamera::Rules{.h264 = h264()}));
    cameras += fmt::format("  {}: {{source: \"{}\", encode: {{gop: 1s}}, record: {{path: {}/a.mp4}}}}\n", name,
                           sources.back()->url(), link.string());
  }
  Traced rig(cameras);
  for (const std::string& name : names) rig.wait_for_log(name + ": recording paused");
  rig.post("gate/stop-recording");
  fs::create_directory(disks.path() / "gate");
  fs::create_directory(disks.path() / "yard");
  rig.post("gate/record");
  for (const std::string name : {"gate", "yard"})
    rig.wait_for([&] { return fs::exists(disks.path() / name / "a.mp4"); }, name + " is not recorded");
  rig.wait_for_log("yard: recording to");
  return rig.end();
}

}  // namespace

std::vector<TracedRig> traced_rigs() {
  return {{"plain", run_plain},
          {"deaths", run_deaths},
          {"a camera that is away", run_camera_that_is_away},
          {"move", run_move},
          {"changes", run_changes},
          {"copy", run_copy},
          {"watched", run_watched},
          {"push", run_push},
          {"full disk", run_full_disk},
          {"missing disk", run_missing_disk},
          {"lost GPU", run_lost_gpu}};
}

sim::ConductFacts conduct_in(const std::vector<json>& trace) {
  sim::Conduct conduct;
  for (const json& line : trace) {
    const pid_t pid = line.at("pid");
    if (line.contains("start")) conduct.start(pid, line.at("start").at(0).get<std::string>());
    if (line.contains("to")) conduct.to(pid, line.at("to").get<std::string>(), line.at("body"));
    if (line.contains("from")) conduct.from(pid, line.at("from").get<std::string>(), line.at("body"), line.at("fds"));
    if (line.contains("shows")) conduct.shows(pid, {line.at("part"), line.at("matter"), line.at("shows")});
    if (line.contains("status")) conduct.end(pid, line.at("status"));
  }
  return conduct.finish();
}

}  // namespace campipe::test
