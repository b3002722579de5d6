#include "app/supervisor/show/report.h"

#include <cmath>
#include <cstdio>

#include "app/config/camera_config.h"
#include "app/supervisor/show/group_report.h"
#include "core/error.h"
#include "core/utc_text.h"
#include "ipc/counter_table.h"
#include "ipc/rig_page.h"
#include "ipc/source_blocks.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

// To the microsecond: a copy that waits for nothing takes some of them, and not none.
nlohmann::json quantiles_ms(const HistogramCounts& counts) {
  const auto ms = [&](double q) { return std::round(counts.quantile(q) / 1e3) / 1e3; };
  return {{"p50", ms(0.5)}, {"p95", ms(0.95)}, {"p99", ms(0.99)}};
}

// A file's packets are late where the rig does not take them: that is no fault of the source.
nlohmann::json source_report(const SourceHealth& health, bool live) {
  const auto lag = [live](std::int64_t ns) { return live ? rounded(static_cast<double>(ns) / 1e6) : 0; };
  return {{"lag_ms", lag(health.lag)},
          {"largest_lag_ms", lag(health.largest_lag)},
          {"capture_clock", health.camera_clock.load() != 0 ? "camera" : "arrival"},
          {"clock_drift_ms", rounded(static_cast<double>(health.clock_drift.load()) / 1e6)}};
}

void put_counters(nlohmann::json& report, ShownFor shown_for, const Camera& camera, const Output& output,
                  const CounterTotals& totals) {
  for (const CounterInfo& info : counter_table) {
    const bool applies =
        info.counter != Counter::motions || (report.contains("motion") && reports_motion(camera, output));
    if (info.shown_for == shown_for && applies) report[nlohmann::json::json_pointer(info.path)] = totals[info.counter];
  }
}

// Only of an output in which motion is looked for.
nlohmann::json motion_report(const Camera& camera, const Output& output, const RigPage& page) {
  const MotionTotals motion = motion_of(camera, output, page);
  nlohmann::json report;
  if (motion.threshold == 0) return report;
  report["threshold_percent"] = percent(motion.threshold);
  report["largest_percent"] = percent(motion.largest);
  return report;
}

// What a camera's own stream and its other outputs have in common.
nlohmann::json output_report(const Camera& camera, const Output& output, const RigPage& page,
                             const Latencies& latencies, double duration_s) {
  const FrameCounts counts = count(camera, output, page);
  nlohmann::json dropped = nlohmann::json::object();
  for (const auto& [cause, number] : counts.dropped) dropped[cause] = number;
  nlohmann::json report{{"state", name_of(output.state)},
                        {"since_utc", utc_text(output.since)},
                        {"encoder", output.stream ? output.stream->encoder : ""},
                        {"frames",
                         {{"decoded", counts.decoded},
                          {"encoded", counts.encoded},
                          {"dropped", dropped},
                          {"recorded", counts.recorded},
                          {"unrecorded", counts.unrecorded}}},
                        {"fps", rounded(static_cast<double>(counts.encoded) / std::max(duration_s, 1e-3))},
                        {"latency_ms", quantiles_ms(latencies.total)},
                        {"stages_ms",
                         {{"decode", quantiles_ms(latencies.decode)},
                          {"queue", quantiles_ms(latencies.queue)},
                          {"filter", quantiles_ms(latencies.filter)},
                          {"encode", quantiles_ms(latencies.encode)},
                          {"overhead", quantiles_ms(latencies.overhead)}}}};
  if (latencies.transit.total() > 0) report["stages_ms"]["transit"] = quantiles_ms(latencies.transit);
  if (auto motion = motion_report(camera, output, page); !motion.is_null()) report["motion"] = std::move(motion);
  put_counters(report, ShownFor::output, camera, output, counters_of(camera, output, page));
  if (!output.recording.file.empty()) report["recording"] = output.recording.file;
  if (const OutputRecording& recording = output.recording; !recording.paused.empty())
    put_with_time(report, "recording_paused", recording.paused, recording.paused_since);
  if (!output.reason.empty()) report["reason"] = output.reason;
  for (const auto& [url, push] : output.push) {
    report["push"][url] = {
        {"state", push.state}, {"since_utc", utc_text(push.since)}, {"reason", push.reason}, {"cause", push.cause}};
  }
  return report;
}

}  // namespace

void put_with_time(nlohmann::json& json, const std::string& key, const std::string& problem, std::int64_t since_utc) {
  json[key] = problem;
  json[key + "_since_utc"] = utc_text(since_utc);
}

double rounded(double value) { return std::round(value * 100) / 100; }

// Another process has written it.
double percent(float part) { return part >= 0 && part <= 1 ? std::round(double{part} * 1e6) / 1e4 : 0; }

nlohmann::json camera_report(const Camera& camera, const RigPage& page, double duration_s,
                             const LatencyReader& latencies) {
  const Output& own = camera.own();
  nlohmann::json report = output_report(camera, own, page, latencies(camera, own), duration_s);
  report["worker"] = camera.encoder_of(camera.own()).worker;
  report["gpu"] = camera.encoder_of(camera.own()).gpu;
  report["decoder"] = camera.decoder;
  report["ipc_memory"] = camera.ipc_memory;
  report["source"] =
      source_report(page.source(camera.id).health, !camera.is_mosaic() && is_live(camera.config->source.url));
  put_counters(report, ShownFor::camera, camera, own, counters_of(camera, own, page));
  for (const Output& output : camera.outputs) {
    if (output.is_own()) continue;
    report["outputs"][output.config.output] =
        output_report(camera, output, page, latencies(camera, output), duration_s);
  }
  return report;
}

nlohmann::json rig_report(const RunReport& run, const Cameras& cameras, const RigPage& page) {
  nlohmann::json report{{"duration_s", rounded(run.duration_s)},        {"exit", run.exit},
                        {"cameras", nlohmann::json::object()},          {"workers", nlohmann::json::array()},
                        {"source_restarts", run.source_restarts},       {"master_restarts", run.master_restarts},
                        {"publisher_restarts", run.publisher_restarts}, {"cpu_s", rounded(run.cpu_s)},
                        {"max_rss_mib", rounded(run.max_memory_mib)}};
  const LatencyReader whole_run = [&](const Camera& camera, const Output& output) {
    return latencies_of(camera, output, page);
  };
  for (const Camera& camera : cameras.all()) {
    nlohmann::json& place = report["cameras"][camera.name()];
    place = camera_report(camera, page, run.duration_s, whole_run);
    if (auto group = group_report(camera, cameras, page); !group.is_null()) place["group"] = std::move(group);
  }
  for (const WorkerReport& worker : run.workers) {
    report["workers"].push_back({{"index", worker.index},
                                 {"gpu", worker.gpu},
                                 {"restarts", worker.restarts},
                                 {"cpu_s", rounded(worker.cpu_s)}});
  }
  return report;
}

// Reasons may hold what strangers sent.
std::string report_text(const nlohmann::json& report) {
  return report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace campipe
