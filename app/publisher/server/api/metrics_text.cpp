#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <utility>

#include "app/publisher/server/api/metrics.h"
#include "ipc/counter_table.h"

namespace campipe {
namespace {

using nlohmann::json;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<std::pair<std::string, std::string>>;

constexpr double mib = 1 << 20;
// Seconds. A frame takes a few milliseconds on its way through a rig that keeps up.
constexpr std::array bounds{0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1,
                            0.15,  0.2,    0.25,  0.4,  0.6,  1.0,  2.5,  5.0,  10.0};

// Families in the order in which they are first used.
class Families {
 public:
  // `common`: labels of everything.
  explicit Families(Labels common) : common_(std::move(common)) {}

  void counter(const std::string& name, const char* help, const Labels& labels, double value) {
    add(name, help, MetricType::Counter, labels).counter.value = value;
  }
  void gauge(const std::string& name, const char* help, const Labels& labels, double value) {
    add(name, help, MetricType::Gauge, labels).gauge.value = value;
  }
  void histogram(const std::string& name, const char* help, const Labels& labels, const HistogramCounts& counts) {
    ClientMetric::Histogram& histogram = add(name, help, MetricType::Histogram, labels).histogram;
    std::array<std::uint64_t, bounds.size() + 1> in_bounds{};
    for (unsigned bucket = 0; bucket < histogram::buckets; ++bucket) {
      if (counts.count[bucket] == 0) continue;
      const double seconds = histogram::value_of(bucket) / 1e9;
      const auto bound = std::lower_bound(bounds.begin(), bounds.end(), seconds);
      in_bounds[static_cast<std::size_t>(bound - bounds.begin())] += counts.count[bucket];
      histogram.sample_sum += seconds * counts.count[bucket];
    }
    for (std::size_t bound = 0; bound < bounds.size(); ++bound) {
      histogram.sample_count += in_bounds[bound];
      histogram.bucket.push_back({histogram.sample_count, bounds[bound]});
    }
    histogram.sample_count += in_bounds.back();
  }

  [[nodiscard]] std::string text() const {
    std::ostringstream stream;
    prometheus::TextSerializer().Serialize(stream, families_);
    return stream.str();
  }

 private:
  ClientMetric& add(const std::string& name, const char* help, MetricType type, const Labels& labels) {
    auto family = std::find_if(families_.begin(), families_.end(), [&](const auto& each) { return each.name == name; });
    if (family == families_.end()) {
      families_.push_back({name, help, type, {}});
      family = std::prev(families_.end());
    }
    ClientMetric& metric = family->metric.emplace_back();
    for (const Labels* part : std::initializer_list<const Labels*>{&common_, &labels}) {
      for (const auto& [label, value] : *part) metric.label.push_back({label, value});
    }
    return metric;
  }

  Labels common_;
  std::vector<MetricFamily> families_;
};

// What is not there is left out: a value that is no number, or of a camera that has none yet.
template <typename Add>
void with_number(const json& object, const char* key, const Add& add) {
  if (const auto found = object.find(key); found != object.end() && found->is_number()) add(found->get<double>());
}

Labels stream_labels(const std::string& name) {
  const auto slash = name.find('/');
  return {{"camera", name.substr(0, slash)}, {"output", slash == std::string::npos ? "main" : name.substr(slash + 1)}};
}

Labels with(Labels labels, const char* name, const std::string& value) {
  labels.emplace_back(name, value);
  return labels;
}

void add_frames(Families& out, const Labels& labels, const json& stream) {
  const json frames = stream.value("frames", json::object());
  for (const char* stage : {"decoded", "encoded", "recorded", "unrecorded"}) {
    with_number(frames, stage, [&](double count) {
      out.counter("campipe_frames_total", "Frames, by what was done with them.", with(labels, "stage", stage), count);
    });
  }
  const json dropped = frames.value("dropped", json::object());
  for (const auto& [cause, count] : dropped.items()) {
    out.counter("campipe_frames_dropped_total", "Frames that were decoded and not encoded, by cause.",
                with(labels, "cause", cause), count.get<double>());
  }
}

void add_counters(Families& out, ShownFor shown_for, const Labels& labels, const json& status) {
  for (const CounterInfo& info : counter_table) {
    const json::json_pointer path(path_in_status(info));
    if (info.shown_for != shown_for || !status.contains(path) || !status.at(path).is_number()) continue;
    const bool has_label = *info.label != 0;
    out.counter(info.metric, info.meaning, has_label ? with(labels, info.label, info.value) : labels,
                status.at(path).get<double>());
  }
}

void add_motion(Families& out, const Labels& labels, const json& stream) {
  const json motion = stream.value("motion", json::object());
  with_number(motion, "score_percent", [&](double percent) {
    out.gauge("campipe_motion_score_ratio", "The part of what is watched that moves, the most of two seconds, 0 to 1.",
              labels, percent / 100);
  });
  with_number(motion, "threshold_percent", [&](double percent) {
    out.gauge("campipe_motion_threshold_ratio", "The least score that is motion.", labels, percent / 100);
  });
}

// `recording` is the newest file, whether or not something comes into it.
void add_recording(Families& out, const Labels& labels, const json& stream) {
  const bool paused = stream.contains("recording_paused");
  const bool on = stream.contains("recording") && stream.value("recording_on", true);
  const bool comes = stream.value("state", "") == "running";
  out.gauge("campipe_recording", "1 while it is recorded.", labels, on && comes && !paused ? 1 : 0);
  out.gauge("campipe_recording_paused", "1 while its recording waits for a disk, or for a stream that it can record.",
            labels, paused ? 1 : 0);
  const json targets = stream.value("push", json::object());
  for (const auto& [url, target] : targets.items()) {
    out.gauge("campipe_push_up", "1 while the target takes it.", with(labels, "target", url),
              target.value("state", "") == "connected" ? 1 : 0);
  }
}

void add_stream(Families& out, const Labels& labels, const json& stream) {
  const std::string state = stream.value("state", "");
  out.gauge("campipe_camera_up", "1 while frames come.", labels, state == "running" ? 1 : 0);
  add_frames(out, labels, stream);
  add_counters(out, ShownFor::output, labels, stream);
  with_number(stream, "fps", [&](double rate) {
    out.gauge("campipe_frame_rate_hertz", "Frames encoded a second, lately.", labels, rate);
  });
  with_number(stream, "behind_s", [&](double seconds) {
    out.gauge("campipe_behind_seconds", "How far the newest frame that left is behind its source.", labels, seconds);
  });
  add_motion(out, labels, stream);
  add_recording(out, labels, stream);
}

void add_camera(Families& out, const std::string& name, const json& camera) {
  add_stream(out, stream_labels(name), camera);
  const json outputs = camera.value("outputs", json::object());
  for (const auto& [output, stream] : outputs.items()) add_stream(out, stream_labels(name + "/" + output), stream);
  const Labels labels{{"camera", name}};
  const json ring = camera.value("ring", json::object());
  with_number(ring, "waiting", [&](double frames) {
    out.gauge("campipe_queue_frames", "Frames that wait for the worker.", labels, frames);
  });
  with_number(ring, "slots", [&](double frames) {
    out.gauge("campipe_queue_size_frames", "Frames that may wait for the worker.", labels, frames);
  });
  out.gauge("campipe_camera_overloaded", "1 while it is not kept up with.", labels,
            camera.contains("overloaded") ? 1 : 0);
  out.gauge("campipe_camera_shed", "1 while it gives way to cameras of a higher priority.", labels,
            camera.contains("shed") ? 1 : 0);
  add_counters(out, ShownFor::camera, labels, camera);
  with_number(camera.value("source_health", json::object()), "lag_ms", [&](double lag) {
    out.gauge("campipe_source_lag_seconds", "By how much later than usual the newest packet came.", labels, lag / 1e3);
  });
}

// What is the whole group's stands with each of its cameras.
void add_group(Families& out, const std::string& camera, const json& group, std::set<std::string>& seen) {
  if (!group.is_object()) return;
  const std::string name = group.value("name", "");
  with_number(group, "phase_ms", [&](double phase) {
    out.gauge("campipe_group_phase_seconds", "How far the frames of a camera lie behind the sets of its group.",
              {{"group", name}, {"camera", camera}}, phase / 1e3);
  });
  with_number(group, "drift_ms", [&](double drift) {
    out.gauge("campipe_group_drift_seconds", "How far the frames of a camera have moved against the sets.",
              {{"group", name}, {"camera", camera}}, drift / 1e3);
  });
  if (!seen.insert(name).second) return;
  const json sets = group.value("sets", json::object());
  for (const char* result : {"encoded", "dropped", "out_of_tolerance"}) {
    with_number(sets, result, [&](double count) {
      out.counter("campipe_group_sets_total", "Sets of a synchronised group, by what became of them.",
                  {{"group", name}, {"result", result}}, count);
    });
  }
  const json skew = group.value("skew_ms", json::object());
  for (const auto& [key, quantile] : {std::pair{"p50", "0.5"}, {"p99", "0.99"}}) {
    with_number(skew, key, [&](double value) {
      out.gauge("campipe_group_skew_seconds", "How far apart the frames of a set were taken.",
                {{"group", name}, {"quantile", quantile}}, value / 1e3);
    });
  }
}

void add_cameras(Families& out, const json& status) {
  std::map<std::string, int> in_state;
  std::set<std::string> groups;
  const json cameras = status.value("cameras", json::object());
  for (const auto& [name, camera] : cameras.items()) {
    ++in_state[camera.value("state", "unknown")];
    add_camera(out, name, camera);
    add_group(out, name, camera.value("group", json()), groups);
  }
  for (const auto& [state, count] : in_state) {
    out.gauge("campipe_cameras", "Cameras, by state.", {{"state", state}}, count);
  }
}

void add_processes(Families& out, const json& status) {
  for (const json& process : status.value("processes", json::array())) {
    const Labels labels{{"role", process.value("role", "")}};
    with_number(process, "cpu_s", [&](double seconds) {
      out.counter("campipe_process_cpu_seconds_total", "CPU time of the process and its predecessors.", labels,
                  seconds);
    });
    with_number(process, "memory_mib", [&](double size) {
      out.gauge("campipe_process_memory_bytes", "Memory, with its share of shared pages.", labels, size * mib);
    });
    with_number(process, "restarts", [&](double times) {
      out.counter("campipe_process_restarts_total", "Times that it was started again.", labels, times);
    });
  }
}

void add_latencies(Families& out, const StreamMetrics& stream) {
  const Labels labels = stream_labels(stream.name);
  const std::array<std::pair<const char*, const HistogramCounts*>, 7> stages{
      {{"total", &stream.latencies.total},
       {"transit", &stream.latencies.transit},
       {"decode", &stream.latencies.decode},
       {"queue", &stream.latencies.queue},
       {"filter", &stream.latencies.filter},
       {"encode", &stream.latencies.encode},
       {"overhead", &stream.latencies.overhead}}};
  for (const auto& [stage, counts] : stages) {
    out.histogram("campipe_latency_seconds",
                  "From capture, or arrival where that is not known, to encoded (total), and its parts.",
                  with(labels, "stage", stage), *counts);
  }
}

void add_viewers(Families& out, const MetricsInput& input) {
  std::map<std::pair<std::string, std::string>, int> watching;
  for (const json& viewer : input.viewers) ++watching[{viewer.value("camera", ""), viewer.value("form", "")}];
  for (const auto& [key, count] : watching) {
    out.gauge("campipe_viewers", "Who watches, by form.", with(stream_labels(key.first), "form", key.second), count);
  }
  for (const StreamMetrics& stream : input.streams) {
    const Labels labels = stream_labels(stream.name);
    const auto pieces = [&](const char* result, std::uint64_t count) {
      out.counter("campipe_viewer_pieces_total", "Frames for viewers; dropped: the viewer was too slow.",
                  with(labels, "result", result), static_cast<double>(count));
    };
    pieces("sent", stream.viewers.sent);
    pieces("dropped", stream.viewers.dropped);
    out.counter("campipe_viewer_bytes_total", "Bytes for viewers.", labels, static_cast<double>(stream.viewers.bytes));
  }
}

void add_lost_gpus(Families& out, const json& status) {
  for (const json& gpu : status.value("lost_gpus", json::array())) {
    out.gauge("campipe_gpu_gone", "1 while nothing runs on it; 0: it is suspected.",
              {{"gpu", gpu.value("uuid", "")}, {"index", gpu.value("gpu", "")}},
              gpu.value("state", "") == "suspected" ? 0 : 1);
  }
}

void add_gpus(Families& out, const std::vector<GpuUse>& gpus) {
  for (const GpuUse& gpu : gpus) {
    const Labels labels{{"gpu", gpu.uuid}, {"name", gpu.name}};
    const auto part = [&](const char* unit, const std::optional<double>& value) {
      if (!value) return;
      out.gauge("campipe_gpu_utilization_ratio", "How busy a unit of a GPU is, 0 to 1.", with(labels, "unit", unit),
                *value);
    };
    const auto memory = [&](const char* name, const char* help, const std::optional<std::uint64_t>& bytes) {
      if (bytes) out.gauge(name, help, labels, static_cast<double>(*bytes));
    };
    part("cores", gpu.utilization);
    part("decoder", gpu.decoder);
    part("encoder", gpu.encoder);
    memory("campipe_gpu_memory_used_bytes", "Memory in use, by all programs.", gpu.memory_used);
    memory("campipe_gpu_memory_bytes", "Memory there is.", gpu.memory);
  }
}

// The node's name: Prometheus's own label says where it was scraped, which is another place when the node moves.
Labels labels_of_all(const json& status) {
  const auto cluster = status.find("cluster");
  if (cluster == status.end()) return {};
  return {{"node", cluster->at("node").get<std::string>()}};
}

Labels labels_of_link(const json& link) {
  Labels labels;
  for (const char* label : {"mosaic", "camera", "peer", "direction"})
    labels.emplace_back(label, link.at(label).get<std::string>());
  if (const auto part = link.at("part").get<std::string>(); !part.empty()) labels.emplace_back("part", part);
  return labels;
}

void add_links(Families& out, const json& links) {
  for (const json& link : links) {
    const Labels labels = labels_of_link(link);
    out.gauge("campipe_cluster_link_connected", "1 while the other end of the link is there.", labels,
              link.at("connected").get<bool>() ? 1 : 0);
    for (const char* result : {"delivered", "dropped", "lost"}) {
      out.counter("campipe_cluster_link_frames_total", "Frames of a link between nodes, by what became of them.",
                  with(labels, "result", result), link.at(result).get<double>());
    }
    out.counter("campipe_cluster_link_bytes_total", "Bytes of a link's frames.", labels,
                link.at("bytes").get<double>());
    out.counter("campipe_cluster_link_refused_total", "Peers of a link that were cut off for what they sent.", labels,
                link.at("refused").get<double>());
  }
}

// As this node sees it: that all of them see the same is what an alert compares.
void add_cluster(Families& out, const json& status) {
  const auto found = status.find("cluster");
  if (found == status.end()) return;
  const json& cluster = *found;
  std::map<std::string, int> nodes{{"here", 0}, {"away", 0}, {"draining", 0}, {"unusable", 0}};
  for (const auto& [name, node] : cluster.at("nodes").items()) {
    if (node.contains("clock"))
      out.gauge("campipe_cluster_clock_offset_seconds", "The clock of another node less this one's.", {{"peer", name}},
                node.at("clock").at("offset_s").get<double>());
    const bool here = node.at("here");
    const bool usable = node.at("usable");
    const bool draining = node.at("draining");
    ++nodes[!here ? "away" : !usable ? "unusable" : draining ? "draining" : "here"];
  }
  for (const auto& [state, count] : nodes) {
    out.gauge("campipe_cluster_nodes", "Nodes of the cluster, by state.", {{"state", state}}, count);
  }
  const std::string own = cluster.at("node");
  const json none{{"cameras", 0}};
  out.gauge("campipe_cluster_cameras", "Cameras that are assigned to this node.", {},
            cluster.at("nodes").value(own, none).at("cameras").get<double>());
  const auto has_none = [](const json& camera) { return camera.at("node").get<std::string>().empty(); };
  out.gauge("campipe_cluster_cameras_unassigned", "Cameras of the cluster that have no node.", {},
            static_cast<double>(std::ranges::count_if(cluster.at("cameras"), has_none)));
  out.gauge("campipe_cluster_etcd_up", "1 while etcd answers.", {}, cluster.at("etcd").at("up").get<bool>() ? 1 : 0);
  out.gauge("campipe_cluster_plans", "1 while this node plans.", {}, cluster.at("planner") == own ? 1 : 0);
  add_links(out, cluster.at("links"));
}

}  // namespace

std::string metrics_text(const MetricsInput& input) {
  Families out(labels_of_all(input.status));
  out.gauge("campipe_build_info", "1, with the version as a label.", {{"version", input.status.value("version", "")}},
            1);
  with_number(input.status, "uptime_s",
              [&](double seconds) { out.gauge("campipe_uptime_seconds", "Since the rig was started.", {}, seconds); });
  add_cameras(out, input.status);
  for (const StreamMetrics& stream : input.streams) add_latencies(out, stream);
  add_viewers(out, input);
  add_processes(out, input.status);
  add_lost_gpus(out, input.status);
  add_gpus(out, input.gpus);
  add_cluster(out, input.status);
  return out.text();
}

}  // namespace campipe
