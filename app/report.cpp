#include "app/report.h"

#include <cerrno>
#include <cmath>
#include <fstream>

#include "core/error.h"

namespace campipe {
namespace {

double rounded(double value) { return std::round(value * 100) / 100; }

nlohmann::json quantiles_ms(const HistogramCounts& counts) {
  return {{"p50", rounded(counts.quantile(0.5) / 1e6)},
          {"p95", rounded(counts.quantile(0.95) / 1e6)},
          {"p99", rounded(counts.quantile(0.99) / 1e6)}};
}

}  // namespace

nlohmann::json camera_report(const CameraState& camera, const CameraBlock& block, double duration_s) {
  const CameraCounts counts = count(camera, block);
  nlohmann::json dropped = nlohmann::json::object();
  for (const auto& [cause, number] : counts.dropped) dropped[cause] = number;
  nlohmann::json report{{"state", name_of(camera.state)},
                        {"worker", camera.worker},
                        {"gpu", camera.gpu},
                        {"decoder", camera.decoder},
                        {"encoder", camera.encoder},
                        {"ipc_memory", camera.ipc_memory},
                        {"frames",
                         {{"decoded", counts.decoded},
                          {"encoded", counts.encoded},
                          {"dropped", dropped},
                          {"converted", counts.converted},
                          {"recorded", counts.recorded}}},
                        {"fps", rounded(static_cast<double>(counts.encoded) / std::max(duration_s, 1e-3))},
                        {"latency_ms", quantiles_ms(block.latency.counts())},
                        {"stages_ms",
                         {{"decode", quantiles_ms(block.decode.counts())},
                          {"queue", quantiles_ms(block.queue.counts())},
                          {"filter", quantiles_ms(block.filter.counts())},
                          {"encode", quantiles_ms(block.encode.counts())},
                          {"overhead", quantiles_ms(block.overhead.counts())}}},
                        {"reconnects", 0},
                        {"worker_restarts", camera.worker_restarts}};
  if (!camera.file.empty()) report["recording"] = camera.file;
  if (!camera.reason.empty()) report["reason"] = camera.reason;
  return report;
}

nlohmann::json rig_report(const RunReport& run, const std::vector<CameraState>& cameras, const RigPage& page) {
  nlohmann::json report{{"duration_s", rounded(run.duration_s)},
                        {"exit", run.exit},
                        {"cameras", nlohmann::json::object()},
                        {"workers", nlohmann::json::array()},
                        {"master_restarts", run.master_restarts},
                        {"publisher_restarts", run.publisher_restarts},
                        {"cpu_s", rounded(run.cpu_s)},
                        {"max_rss_mib", rounded(run.max_memory_mib)}};
  for (const CameraState& camera : cameras) {
    report["cameras"][camera.config.name] = camera_report(camera, page.camera(camera.index), run.duration_s);
  }
  for (const WorkerReport& worker : run.workers) {
    report["workers"].push_back({{"index", worker.index},
                                 {"gpu", worker.gpu},
                                 {"restarts", worker.restarts},
                                 {"cpu_s", rounded(worker.cpu_s)}});
  }
  return report;
}

void write_json(const std::filesystem::path& file, const nlohmann::json& json) {
  std::ofstream out(file, std::ios::trunc);
  out << json.dump(2) << '\n';
  out.close();
  if (!out) throw system_error("cannot write the report '" + file.string() + "'", errno);
}

}  // namespace campipe
