#include "app/commands/rig_sample.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/printable.h"
#include "ipc/drop_causes.h"

namespace campipe {
namespace {

constexpr double window_s = 3;

std::string text_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? printable(found->get<std::string>()) : "";
}

nlohmann::json object_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_object() ? *found : nlohmann::json::object();
}

nlohmann::json array_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_array() ? *found : nlohmann::json::array();
}

// Numbers that are not known are null.
std::optional<double> known_number(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

double number_of(const nlohmann::json& json, const char* key) { return known_number(json, key).value_or(0); }

// As an integer that others may say: what does not fit is the nearest that does.
template <typename Whole>
Whole whole(double number) {
  const auto most = static_cast<double>(std::numeric_limits<Whole>::max());
  if (number >= most) return std::numeric_limits<Whole>::max();
  return static_cast<Whole>(std::max(number, static_cast<double>(std::numeric_limits<Whole>::min())));
}

unsigned count_of(const nlohmann::json& json, const char* key) { return whole<unsigned>(number_of(json, key)); }

std::uint64_t total_of(const nlohmann::json& json, const char* key) {
  return whole<std::uint64_t>(number_of(json, key));
}

void read_drops(StreamSample& stream, const nlohmann::json& dropped) {
  for (const auto& [cause, number] : dropped.items()) {
    if (is_intentional_drop(cause) || !number.is_number()) continue;
    const auto count = whole<std::uint64_t>(number.get<double>());
    stream.dropped[printable(cause)] = count;
    stream.dropped_total += count;
  }
}

std::string pushes_down_of(const nlohmann::json& json) {
  std::string text;
  const auto targets = object_of(json, "push");
  for (const auto& [url, target] : targets.items()) {
    if (!target.is_object() || text_of(target, "state") == "connected") continue;
    text += (text.empty() ? "" : "; ") + ("push to " + printable(url) + " is down: " + text_of(target, "reason"));
  }
  return text;
}

StreamSample parse_stream(const std::string& name, const nlohmann::json& json) {
  StreamSample s;
  s.name = printable(name);
  s.state = text_of(json, "state");
  s.reason = text_of(json, "reason");
  s.since_utc = text_of(json, "since_utc");
  s.source = text_of(json, "source");
  s.decoder = text_of(json, "decoder");
  s.encoder = text_of(json, "encoder");
  s.codec = text_of(json, "codec");
  s.recording = text_of(json, "recording");
  s.recording_paused = text_of(json, "recording_paused");
  s.overloaded = text_of(json, "overloaded");
  s.pushes_down = pushes_down_of(json);
  const auto recording = json.find("recording_on");
  s.recording_on = recording != json.end() && recording->is_boolean() && recording->get<bool>();
  s.width = count_of(json, "width");
  s.height = count_of(json, "height");
  if (json.contains("worker")) s.worker = whole<int>(number_of(json, "worker"));
  s.gpu = text_of(json, "gpu");
  const auto frames = object_of(json, "frames");
  s.decoded = total_of(frames, "decoded");
  s.encoded = total_of(frames, "encoded");
  read_drops(s, object_of(frames, "dropped"));
  s.bytes = total_of(json, "bytes");
  s.p50_ms = number_of(object_of(json, "latency_ms"), "p50");
  s.p95_ms = number_of(object_of(json, "latency_ms"), "p95");
  const auto stages = object_of(json, "stages_ms");
  for (const auto& [stage, times] : stages.items()) {
    if (times.is_object()) s.stages_ms[printable(stage)] = number_of(times, "p50");
  }
  s.reconnects = count_of(json, "reconnects");
  s.worker_restarts = count_of(json, "worker_restarts");
  const auto motion = object_of(json, "motion");
  s.motion_score = known_number(motion, "score_percent");
  s.motion_threshold = number_of(motion, "threshold_percent");
  return s;
}

void add_camera(RigSample& sample, const std::string& name, const nlohmann::json& json) {
  sample.streams.push_back(parse_stream(name, json));
  const auto outputs = object_of(json, "outputs");
  for (const auto& [output, body] : outputs.items()) {
    sample.streams.push_back(parse_stream(name + "/" + output, body));
  }
}

ProcessSample parse_process(const nlohmann::json& json) {
  return {.role = text_of(json, "role"),
          .pid = whole<int>(number_of(json, "pid")),
          .restarts = count_of(json, "restarts"),
          .cpu_s = number_of(json, "cpu_s"),
          .memory_mib = number_of(json, "memory_mib"),
          .gpu = text_of(json, "gpu")};
}

GpuSample parse_gpu(const nlohmann::json& json) {
  return {text_of(json, "name"), known_number(json, "utilization"), known_number(json, "decoder"),
          known_number(json, "memory_used_mib"), known_number(json, "memory_mib")};
}

double per_second(std::uint64_t now, std::uint64_t before, double seconds) {
  return now > before ? static_cast<double>(now - before) / seconds : 0;
}

template <typename Items, typename Same>
auto find_in(const Items& items, const Same& same) {
  const auto found = std::find_if(items.begin(), items.end(), same);
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

RigSample parse_status(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    RigSample sample;
    sample.uptime_s = json.at("uptime_s");
    sample.version = text_of(json, "version");
    sample.state = text_of(json, "state");
    sample.config = text_of(json, "config");
    std::vector<std::pair<double, std::string>> names;  // in the order of the configuration
    for (const auto& [name, camera] : json.at("cameras").items()) names.emplace_back(number_of(camera, "order"), name);
    std::ranges::sort(names);
    for (const auto& [order, name] : names) add_camera(sample, name, json["cameras"][name]);
    for (const auto& process : array_of(json, "processes")) sample.processes.push_back(parse_process(process));
    for (const auto& gpu : array_of(json, "gpus")) sample.gpus.push_back(parse_gpu(gpu));
    return sample;
  } catch (const nlohmann::json::exception&) {
    throw Error("that is no status of a campipe: is another program at this address, or another version?");
  }
}

void count_viewers(RigSample& sample, const std::string& text) {
  try {
    std::map<std::string, unsigned> watching;
    const auto json = nlohmann::json::parse(text);
    for (const auto& viewer : json.is_object() ? json.at("viewers") : json) {
      ++watching[viewer.at("camera").get<std::string>()];
    }
    for (StreamSample& stream : sample.streams) stream.viewers = watching[stream.name];
  } catch (const nlohmann::json::exception&) {
    throw Error("that is no list of a campipe's viewers: is it another version?");
  }
}

void RigHistory::add(RigSample sample) {
  // A rig that was started again counts from zero.
  if (!samples_.empty() && sample.uptime_s < samples_.back().uptime_s) samples_.clear();
  // The rig has not looked since.
  if (!samples_.empty() && sample.uptime_s == samples_.back().uptime_s) samples_.pop_back();
  samples_.push_back(std::move(sample));
  while (samples_.size() > 2 && samples_.back().uptime_s - samples_[1].uptime_s >= window_s) samples_.pop_front();
}

RigSample RigHistory::newest() const {
  RigSample now = samples_.back();
  const RigSample& before = samples_.front();
  const double seconds = now.uptime_s - before.uptime_s;
  if (seconds <= 0) return now;
  for (StreamSample& s : now.streams) {
    const auto* old = find_in(before.streams, [&](const StreamSample& other) { return other.name == s.name; });
    if (old == nullptr) continue;
    s.fps = per_second(s.encoded, old->encoded, seconds);
    s.drops_per_s = per_second(s.dropped_total, old->dropped_total, seconds);
    s.mbit_per_s = per_second(s.bytes, old->bytes, seconds) * 8 / 1e6;
  }
  for (ProcessSample& p : now.processes) {
    const auto* old = find_in(before.processes, [&](const ProcessSample& other) { return other.pid == p.pid; });
    if (old != nullptr) p.cpu_percent = std::max(p.cpu_s - old->cpu_s, 0.0) / seconds * 100;
  }
  return now;
}

}  // namespace campipe
