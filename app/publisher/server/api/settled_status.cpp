#include "app/publisher/server/api/settled_status.h"

#include <array>
#include <cmath>
#include <span>
#include <string_view>

namespace campipe {

using nlohmann::json;

namespace {

constexpr int digits = 2;  // of what was measured

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double step = std::pow(10, std::floor(std::log10(std::abs(value))) + 1 - digits);
  // A step below one divides badly.
  return step >= 1 ? std::round(value / step) * step : std::round(value / step) / std::round(1 / step);
}

void round_all(json& value) {
  if (value.is_number_float()) value = rounded(value.get<double>());
  if (!value.is_structured()) return;
  for (json& child : value) round_all(child);
}

void round_all_in(json& object, const char* key) {
  if (const auto found = object.find(key); found != object.end()) round_all(*found);
}

void round_to_whole(json& object, const char* key) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_number_float()) *found = std::round(found->get<double>());
}

void leave_out(json& object, std::span<const char* const> keys) {
  for (const char* key : keys) object.erase(key);
}

template <typename Change>
void in_object(json& object, const char* key, const Change& change) {
  if (const auto found = object.find(key); found != object.end() && found->is_object()) change(*found);
}

template <typename Change>
void in_each(json& object, const char* key, const Change& change) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_structured()) return;
  for (json& child : *found) {
    if (child.is_object()) change(child);
  }
}

// Settles what a camera and an output have in common.
void settle_stream(json& stream) {
  leave_out(stream, std::array{"in_flight", "newest_frame"});
  in_object(stream, "frames", [](json& frames) {
    leave_out(frames, std::array{"decoded", "converted", "recorded", "unrecorded"});
  });
  in_object(stream, "latency_ms", [](json& latency) { latency.erase("p99"); });
  in_object(stream, "stages_ms", [](json& stages) {
    leave_out(stages, std::array{"decode", "queue", "filter", "encode", "overhead"});
  });
  in_object(stream, "source_health", [](json& health) {
    leave_out(health, std::array{"largest_lag_ms", "clock_drift_ms"});
    round_to_whole(health, "lag_ms");
  });
  in_object(stream, "group", [](json& group) { group.erase("sets"); });
  in_object(stream, "graph", [](json& graph) { in_each(graph, "edges", [](json& edge) { edge.erase("published"); }); });
  for (const char* key : {"fps", "latency_ms", "stages_ms", "group", "graph", "motion"}) round_all_in(stream, key);
}

// To a merge patch a null says that there is nothing.
void drop_nulls(json& object) {
  for (auto at = object.begin(); at != object.end();) {
    if (at->is_object()) drop_nulls(*at);
    at = at->is_null() ? object.erase(at) : std::next(at);
  }
}

}  // namespace

json settled_status(json status) {
  drop_nulls(status);
  round_to_whole(status, "uptime_s");
  in_each(status, "processes", [](json& process) { round_to_whole(process, "memory_mib"); });
  round_all_in(status, "resources");
  in_object(status, "cluster", [](json& cluster) { round_all_in(cluster, "nodes"); });
  in_each(status, "cameras", [](json& camera) {
    settle_stream(camera);
    in_each(camera, "outputs", settle_stream);
  });
  return status;
}

}  // namespace campipe
