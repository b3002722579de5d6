#include "app/publisher/server/api/history.h"

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "ipc/drop_causes.h"

namespace campipe {
namespace {

using nlohmann::json;

constexpr double interval_s = 2;
constexpr double kept_s = 600;

// What a rig or camera does not report is not known.
std::optional<double> number_at(const json& status, const json::json_pointer& where) {
  if (!status.contains(where) || !status.at(where).is_number()) return std::nullopt;
  return status.at(where).get<double>();
}

double lost_frames(const json& status) {
  const auto dropped = "/frames/dropped"_json_pointer;
  double sum = 0;
  if (!status.contains(dropped)) return sum;
  for (const auto& [cause, number] : status.at(dropped).items()) {
    if (!is_intentional_drop(cause) && number.is_number()) sum += number.get<double>();
  }
  return sum;
}

// A counter that went back belongs to a camera that was made anew.
std::optional<double> growth(double now, double before, double seconds) {
  return now < before ? std::nullopt : std::optional((now - before) / seconds);
}

template <typename Samples, typename Member>
json column(const Samples& samples, Member member) {
  json values = json::array();
  for (const auto& sample : samples) {
    const auto& value = sample.*member;
    values.push_back(value ? json(*value) : json());
  }
  return values;
}

}  // namespace

History::Counters History::counters_of(const json& status) {
  return {number_at(status, "/frames/encoded"_json_pointer).value_or(0), lost_frames(status),
          number_at(status, "/bytes"_json_pointer).value_or(0)};
}

// The median of no frames is reported as 0.
void History::add_latencies(Sample& made, const json& status) {
  if (number_at(status, "/latency_ms/p50"_json_pointer).value_or(0) <= 0) return;
  made.latency_p50 = number_at(status, "/latency_ms/p50"_json_pointer);
  made.latency_p95 = number_at(status, "/latency_ms/p95"_json_pointer);
  made.transit = number_at(status, "/stages_ms/transit/p50"_json_pointer);
  made.decode = number_at(status, "/stages_ms/decode/p50"_json_pointer);
  made.queue = number_at(status, "/stages_ms/queue/p50"_json_pointer);
  made.filter = number_at(status, "/stages_ms/filter/p50"_json_pointer);
  made.encode = number_at(status, "/stages_ms/encode/p50"_json_pointer);
}

History::Sample History::make_sample(const json& status, const Counters& now, const Camera& before, double uptime) {
  Sample made;
  made.time = static_cast<double>(utc_now_ns()) / 1e9;
  made.uptime = uptime;
  if (status.value("state", "running") != "running") return made;
  add_latencies(made, status);
  if (before.samples.empty()) return made;
  const double seconds = uptime - before.samples.back().uptime;
  made.fps = growth(now.encoded, before.counters.encoded, seconds);
  made.dropped = growth(now.dropped, before.counters.dropped, 1);
  made.bitrate = growth(now.bytes * 8, before.counters.bytes * 8, seconds);
  return made;
}

void History::sample(const json& status) {
  const auto uptime = number_at(status, "/uptime_s"_json_pointer);
  if (!uptime || !status.contains("cameras")) return;  // there is no status yet
  const std::lock_guard lock(mutex_);
  if (*uptime < uptime_ + interval_s && uptime_ >= 0) return;
  uptime_ = *uptime;
  for (const auto& [name, camera] : status.at("cameras").items()) {
    Camera& kept = cameras_[name];
    const Counters now = counters_of(camera);
    kept.samples.push_back(make_sample(camera, now, kept, *uptime));
    kept.counters = now;
  }
  for (auto& [name, camera] : cameras_) {
    while (!camera.samples.empty() && camera.samples.front().uptime <= *uptime - kept_s) camera.samples.pop_front();
  }
  std::erase_if(cameras_, [](const auto& camera) { return camera.second.samples.empty(); });
}

json History::of(const std::string& camera) const {
  const std::lock_guard lock(mutex_);
  const auto found = cameras_.find(camera);
  const std::deque<Sample> none;
  const auto& samples = found == cameras_.end() ? none : found->second.samples;
  json times = json::array();
  for (const Sample& sample : samples) times.push_back(sample.time);
  return {{"t", times},
          {"fps", column(samples, &Sample::fps)},
          {"latency_p50_ms", column(samples, &Sample::latency_p50)},
          {"latency_p95_ms", column(samples, &Sample::latency_p95)},
          {"transit_ms", column(samples, &Sample::transit)},
          {"decode_ms", column(samples, &Sample::decode)},
          {"queue_ms", column(samples, &Sample::queue)},
          {"filter_ms", column(samples, &Sample::filter)},
          {"encode_ms", column(samples, &Sample::encode)},
          {"dropped", column(samples, &Sample::dropped)},
          {"bitrate", column(samples, &Sample::bitrate)}};
}

}  // namespace campipe
