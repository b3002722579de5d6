#include "app/status_json.h"

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "app/record_index.h"
#include "app/report.h"
#include "core/passwords.h"

namespace campipe {
namespace {

double rounded(double value) { return std::round(value * 100) / 100; }

nlohmann::json quantiles_ms(const HistogramCounts& counts) {
  return {{"p50", rounded(counts.quantile(0.5) / 1e6)},
          {"p95", rounded(counts.quantile(0.95) / 1e6)},
          {"p99", rounded(counts.quantile(0.99) / 1e6)}};
}

// Processor time of a running process. It may be just ending: then none.
double cpu_seconds_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  // What follows the name in parentheses, in which anything may stand: the 3rd field and so on.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

nlohmann::json process_json(const ProcessStatus& process) {
  return {{"role", process.role},
          {"pid", process.pid},
          {"restarts", process.restarts},
          {"gpu", process.gpu},
          {"cpu_s", rounded(process.cpu_s_before + cpu_seconds_of(process.pid))},
          {"memory_mib", rounded(process.memory_mib)}};
}

}  // namespace

StatusJson::Latencies StatusJson::read(const CameraBlock& block) {
  return {block.latency.counts(), block.decode.counts(), block.queue.counts(),
          block.filter.counts(),  block.encode.counts(), block.overhead.counts()};
}

// What the report says, with the latencies of the last frames, and what only a running rig has.
void StatusJson::refine(nlohmann::json& json, const CameraState& camera, const RigPage& page,
                        const CameraCounts& counts) {
  const auto now = Clock::now();
  Sample& sample = samples_[camera.index];
  if (sample.name != camera.config.name || counts.encoded < sample.encoded) sample = {.name = camera.config.name};
  const Latencies newest = read(page.camera(camera.index));
  const Latencies& old = sample.before;
  json["latency_ms"] = quantiles_ms(newest.total.since(old.total));
  json["stages_ms"] = {{"decode", quantiles_ms(newest.decode.since(old.decode))},
                       {"queue", quantiles_ms(newest.queue.since(old.queue))},
                       {"filter", quantiles_ms(newest.filter.since(old.filter))},
                       {"encode", quantiles_ms(newest.encode.since(old.encode))},
                       {"overhead", quantiles_ms(newest.overhead.since(old.overhead))}};
  const double seconds = std::chrono::duration<double>(now - sample.at).count();
  const bool known = sample.at != Clock::time_point{};
  json["fps"] = known ? rounded(static_cast<double>(counts.encoded - sample.encoded) / std::max(seconds, 1e-3)) : 0.0;
  if (!known || seconds > 0.8) {
    sample.before = sample.last;
    sample.last = newest;
    sample.at = now;
    sample.encoded = counts.encoded;
  }
  const std::string state = json.value("state", "") + json.value("reason", "");
  if (state != sample.state) {
    sample.state = state;
    sample.since_utc = utc_now_ns();
  }
  json["since_utc"] = utc_text(sample.since_utc);
  json["in_flight"] = counts.decoded - counts.encoded - counts.dropped_total;
  json["bytes"] = page.camera(camera.index).bytes.load();
  json["records"] = camera.config.record.has_value();
  json["recording_on"] = camera.config.record.has_value() && camera.recording_on;
  json["codec"] = camera.stream.value("codec", camera.config.encode.codec);
  json["width"] = camera.stream.value("width", 0);
  json["height"] = camera.stream.value("height", 0);
}

nlohmann::json StatusJson::make(const RigStatus& rig, const std::vector<CameraState>& cameras, const RigPage& page) {
  nlohmann::json status{{"time_utc", utc_text(utc_now_ns())},
                        {"uptime_s", rounded(rig.uptime_s)},
                        {"version", CAMPIPE_VERSION},
                        {"state", rig.state},
                        {"config", rig.config},
                        {"cameras", nlohmann::json::object()},
                        {"processes", nlohmann::json::array()}};
  for (const CameraState& camera : cameras) {
    if (camera.follows || camera.state == CameraState::State::removed) continue;
    nlohmann::json json = camera_report(cameras, camera, page, rig.uptime_s);
    json["source_health"] = std::move(json["source"]);
    json["source"] = without_passwords(camera.config.source.url);
    json["enabled"] = camera.config.enabled;
    if (camera.frames) {
      const auto counts = count(cameras, camera, page);
      const auto waiting = counts.decoded - counts.encoded - counts.dropped_total;
      json["ring"] = {{"slots", camera.config.queue_size}, {"waiting", waiting}};
    }
    for (const unsigned output : camera.outputs) {
      const CameraState& state = cameras[output];
      nlohmann::json& place = state.follows ? json["outputs"][state.config.output] : json;
      refine(place, state, page, count(cameras, state, page));
    }
    status["cameras"][camera.config.name] = std::move(json);
  }
  for (const ProcessStatus& process : rig.processes) status["processes"].push_back(process_json(process));
  return status;
}

}  // namespace campipe
