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

// As an integer of whatever another program sends: what does not fit is the nearest that does.
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

void read_drops(StreamSample::Frames& frames, const nlohmann::json& dropped) {
  for (const auto& [cause, number] : dropped.items()) {
    if (is_intentional_drop(cause) || !number.is_number()) continue;
    const auto count = whole<std::uint64_t>(number.get<double>());
    frames.dropped[printable(cause)] = count;
    frames.dropped_total += count;
  }
}

std::string pushes_down_of(const nlohmann::json& json) {
  std::string text;
  const auto targets = object_of(json, "push");
  for (const auto& [url, target] : targets.items()) {
    if (!target.is_object() || text_of(target, "state") == "connected") continue;
    const std::string reason = text_of(target, "reason");  // empty: it is shown to administrators alone
    text +=
        (text.empty() ? "" : "; ") + ("push to " + printable(url) + " is down") + (reason.empty() ? "" : ": " + reason);
  }
  return text;
}

StreamSample::Processing parse_processing(const nlohmann::json& json) {
  return {.source = text_of(json, "source"),
          .decoder = text_of(json, "decoder"),
          .encoder = text_of(json, "encoder"),
          .codec = text_of(json, "codec"),
          .width = count_of(json, "width"),
          .height = count_of(json, "height"),
          .worker = json.contains("worker") ? whole<int>(number_of(json, "worker")) : -1,
          .gpu = text_of(json, "gpu")};
}

StreamSample::Frames parse_frames(const nlohmann::json& json) {
  const auto counts = object_of(json, "frames");
  StreamSample::Frames frames;
  frames.decoded = total_of(counts, "decoded");
  frames.encoded = total_of(counts, "encoded");
  read_drops(frames, object_of(counts, "dropped"));
  frames.bytes = total_of(json, "bytes");
  return frames;
}

StreamSample::Latency parse_latency(const nlohmann::json& json) {
  const auto whole_way = object_of(json, "latency_ms");
  StreamSample::Latency latency{.p50 = number_of(whole_way, "p50"), .p95 = number_of(whole_way, "p95"), .stages = {}};
  const auto stages = object_of(json, "stages_ms");
  for (const auto& [stage, times] : stages.items()) {
    if (times.is_object()) latency.stages[printable(stage)] = number_of(times, "p50");
  }
  return latency;
}

StreamSample::Recording parse_recording(const nlohmann::json& json) {
  const auto on = json.find("recording_on");
  return {.on = on != json.end() && on->is_boolean() && on->get<bool>(),
          .file = text_of(json, "recording"),
          .paused = text_of(json, "recording_paused")};
}

std::optional<StreamSample::Motion> parse_motion(const nlohmann::json& json) {
  const auto motion = object_of(json, "motion");
  const auto score = known_number(motion, "score_percent");
  if (!score) return std::nullopt;
  return StreamSample::Motion{*score, number_of(motion, "threshold_percent")};
}

StreamSample parse_stream(const std::string& name, const nlohmann::json& json) {
  StreamSample s;
  s.name = printable(name);
  s.state = text_of(json, "state");
  s.reason = text_of(json, "reason");
  s.since_utc = text_of(json, "since_utc");
  s.processing = parse_processing(json);
  s.frames = parse_frames(json);
  s.latency = parse_latency(json);
  s.recording = parse_recording(json);
  s.motion = parse_motion(json);
  s.behind_s = number_of(json, "behind_s");
  s.overloaded = text_of(json, "overloaded");
  s.shed = text_of(json, "shed");
  s.pushes_down = pushes_down_of(json);
  s.reconnects = count_of(json, "reconnects");
  s.worker_restarts = count_of(json, "worker_restarts");
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
  const auto pid = known_number(json, "pid");
  return {.role = text_of(json, "role"),
          .pid = pid ? std::optional(whole<int>(*pid)) : std::nullopt,
          .restarts = count_of(json, "restarts"),
          .cpu_s = number_of(json, "cpu_s"),
          .memory_mib = number_of(json, "memory_mib"),
          .gpu = text_of(json, "gpu"),
          .restarts_in_s = known_number(json, "restarts_in_s")};
}

GpuSample parse_gpu(const nlohmann::json& json) {
  return {text_of(json, "name"), known_number(json, "utilization"), known_number(json, "decoder"),
          known_number(json, "memory_used_mib"), known_number(json, "memory_mib")};
}

LinkSample parse_link(const nlohmann::json& json) {
  return {.mosaic = text_of(json, "mosaic"),
          .part = text_of(json, "part"),
          .camera = text_of(json, "camera"),
          .peer = text_of(json, "peer"),
          .sends = text_of(json, "direction") == "sends",
          .transport = text_of(json, "transport"),
          .encrypted = json.value("encrypted", false),
          .connected = json.value("connected", false),
          .frames = whole<std::uint64_t>(number_of(json, "frames")),
          .lost = whole<std::uint64_t>(number_of(json, "lost"))};
}

ClusterSample parse_cluster(const nlohmann::json& json) {
  ClusterSample cluster{.name = text_of(json, "cluster"),
                        .node = text_of(json, "node"),
                        .planner = text_of(json, "planner"),
                        .problem = text_of(object_of(json, "etcd"), "problem")};
  const auto nodes = object_of(json, "nodes");
  cluster.nodes = static_cast<unsigned>(nodes.size());
  for (const auto& node : nodes) cluster.here += node.is_object() && node.value("here", false) ? 1 : 0;
  const auto cameras = object_of(json, "cameras");
  cluster.cameras = static_cast<unsigned>(cameras.size());
  for (const auto& camera : cameras) cluster.without_node += text_of(camera, "node").empty() ? 1 : 0;
  if (cluster.problem.empty()) cluster.problem = text_of(object_of(json, "rig"), "problem");
  for (const auto& node : nodes) {
    if (cluster.problem.empty()) cluster.problem = text_of(object_of(node, "clock"), "problem");
  }
  for (const auto& link : array_of(json, "links")) {
    if (link.is_object()) cluster.links.push_back(parse_link(link));
  }
  return cluster;
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
    if (json.contains("cluster")) sample.cluster = parse_cluster(object_of(json, "cluster"));
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
  // It is the same status as before.
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
    const StreamSample::Frames& then = old->frames;
    s.rates = {.fps = per_second(s.frames.encoded, then.encoded, seconds),
               .drops_per_s = per_second(s.frames.dropped_total, then.dropped_total, seconds),
               .mbit_per_s = per_second(s.frames.bytes, then.bytes, seconds) * 8 / 1e6};
  }
  for (ProcessSample& p : now.processes) {
    const auto* old = find_in(before.processes, [&](const ProcessSample& other) { return other.role == p.role; });
    if (old != nullptr) p.cpu_percent = std::max(p.cpu_s - old->cpu_s, 0.0) / seconds * 100;
  }
  return now;
}

}  // namespace campipe
