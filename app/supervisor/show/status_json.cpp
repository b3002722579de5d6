#include "app/supervisor/show/status_json.h"

#include <algorithm>
#include <string>

#include "app/config/camera_config.h"
#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/rig/source_waits.h"
#include "app/supervisor/rig/stream_age.h"
#include "app/supervisor/show/group_report.h"
#include "core/passwords.h"
#include "core/utc_text.h"
#include "core/written_url.h"
#include "ipc/drop_causes.h"
#include "ipc/latencies.h"
#include "ipc/rig_page.h"
#include "ipc/shared_block.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

std::vector<std::string> intentional_drops() {
  std::vector<std::string> causes;
  for (const DropCauseInfo& info : drop_cause_table) {
    if (info.intentional) causes.emplace_back(info.name);
  }
  return causes;
}

// What a mosaic that has failed knew of its cameras in the end is not so any more.
nlohmann::json cells_json(const Camera& mosaic) {
  const bool failed = mosaic.own().state == CameraState::failed;
  nlohmann::json cells = nlohmann::json::array();
  for (std::size_t i = 0; i < mosaic.cells.size(); ++i) {
    const MosaicCell& cell = mosaic.config->mosaic->cells[i];
    nlohmann::json& json = cells.emplace_back();
    json = {{"camera", cell.camera},        {"x", cell.region.x},
            {"y", cell.region.y},           {"width", cell.region.width},
            {"height", cell.region.height}, {"away", failed || mosaic.cells[i].away || !mosaic.cells[i].edge}};
    if (json["away"]) json["reason"] = failed ? "the mosaic has failed" : mosaic.cells[i].reason;
  }
  return cells;
}

nlohmann::json last_move_json(const LastMove& move) {
  return {{"from", move.from}, {"to", move.to}, {"at_utc", utc_text(move.at)}, {"reason", move.reason}};
}

nlohmann::json process_json(const ProcessStatus& process) {
  const bool runs = !process.restarts_in_s;
  nlohmann::json json{{"role", process.role},
                      {"restarts", process.restarts},
                      {"gpu", process.gpu},
                      {"cpu_s", rounded(process.cpu_s)},
                      {"memory_mib", rounded(process.memory_mib)}};
  if (runs) json["pid"] = process.pid;
  if (!runs) json["restarts_in_s"] = rounded(*process.restarts_in_s);
  return json;
}

constexpr double least_window_s = 0.8;              // that a frame rate is reckoned over
constexpr std::int64_t beats_within = 500'000'000;  // ns: a process that runs does so every tenth of a second

WorkerLoad load_of(const Camera& camera, const FrameCounts& counts, const RigStatus& rig, const RigPage& page) {
  WorkerLoad load{counts.decoded, counts.dropped_for(DropCause::queue_full)};
  const CameraNode& encoder = camera.encoder_of(camera.own());
  const auto process =
      std::ranges::find(rig.processes, "worker " + std::to_string(encoder.worker), &ProcessStatus::role);
  if (process != rig.processes.end()) load.restarts = process->restarts;
  load.is_still = camera.stalled || page.process(encoder.process()).beat.load() < now_ns() - beats_within;
  load.may_copy =
      !camera.is_mosaic() && !camera.config->group && source_kind_of(camera.config->source.url).no_copy.empty();
  load.is_full = source_waits(camera);
  load.behind = fallen_behind(camera, page);
  load.may_drop = may_wait(camera);
  return load;
}

}  // namespace

// Of the last frames, and how many those were a second.
Latencies StatusJson::newest(const Camera& camera, const Output& output, const RigPage& page) {
  const auto now = Clock::now();
  const std::uint64_t encoded = output.packets_published();
  Sample& sample = samples_[output.id];
  if (sample.name != output.config.name || encoded < sample.encoded) sample = {.name = output.config.name};
  const Latencies all = latencies_of(camera, output, page);
  if (camera.takes_part()) pass_on(all, page.shared(output.id));
  const Latencies recent = all.since(sample.before);
  const double seconds = std::chrono::duration<double>(now - sample.at).count();
  const bool known = sample.at != Clock::time_point{};
  if (!known || seconds > least_window_s) {
    // Since it began, which was at some time in it, a whole one must have passed.
    sample.fps = known && sample.any ? static_cast<double>(encoded - sample.encoded) / seconds : 0;
    sample.any = encoded > 0;
    sample.before = sample.last;
    sample.last = all;
    sample.at = now;
    sample.encoded = encoded;
  }
  return recent;
}

// What only a running rig has, beside what the report says.
void StatusJson::refine(nlohmann::json& json, const Camera& camera, const Output& output, const RigPage& page,
                        const FrameCounts& counts) const {
  json["fps"] = rounded(samples_.at(output.id).fps);
  const std::uint64_t left = counts.encoded + counts.dropped_total;
  const std::uint64_t came = counts.decoded + counts.repeated;
  json["in_flight"] = came > left ? came - left : 0;
  if (const auto age = age_of(camera, output, page))
    json["behind_s"] = rounded(std::chrono::duration<double>(age->total()).count());
  json["records"] = output.config.record.has_value();
  json["recording_on"] = output.config.record.has_value() && output.recording.on && !output.recording.failed &&
                         camera.takes_part() && !output.publisher.done;
  if (output.config.on_demand) json["on_demand"] = true;
  if (json.contains("motion") && output.state == CameraState::running)
    json["motion"]["score_percent"] = percent(motion_score_of(camera, output, page));
  // What a copy will be is not known before it has come.
  const std::string planned = output.is_copy() ? "" : output.config.encode.codec;
  json["codec"] = output.stream ? output.stream->codec : planned;
  json["width"] = output.stream ? output.stream->format.width : 0;
  json["height"] = output.stream ? output.stream->format.height : 0;
}

nlohmann::json StatusJson::make(const RigStatus& rig, const Cameras& cameras, const RigPage& page) {
  nlohmann::json status{{"time_utc", utc_text(utc_now_ns())},
                        {"uptime_s", rounded(rig.uptime_s)},
                        {"version", CAMPIPE_VERSION},
                        {"state", rig.state},
                        {"config", rig.config},
                        {"intentional_drops", intentional_drops()},
                        {"cameras", nlohmann::json::object()},
                        {"processes", nlohmann::json::array()},
                        {"resources", rig.resources}};
  const LatencyReader recent = [&](const Camera& camera, const Output& output) { return newest(camera, output, page); };
  for (const Camera& camera : cameras.all()) {
    nlohmann::json json = camera_report(camera, page, rig.uptime_s, recent);
    json["source_health"] = std::move(json["source"]);
    json["source"] = camera.is_mosaic() ? "mosaic" : without_passwords(written_url(camera.config->source));
    if (camera.is_mosaic()) json["cells"] = cells_json(camera);
    if (auto group = group_report(camera, cameras, page); !group.is_null()) json["group"] = std::move(group);
    json["enabled"] = camera.config->enabled;
    json["order"] = camera.id.index();
    for (const Output& output : camera.outputs) {
      nlohmann::json& place = output.is_own() ? json : json["outputs"][output.config.output];
      refine(place, camera, output, page, count(camera, output, page));
    }
    const FrameCounts counts = count(camera, camera.own(), page);
    const Overload& overload =
        overloads_.look_at(camera.name(), camera.encoder_of(camera.own()).worker, load_of(camera, counts, rig, page));
    if (!overload.problem.empty()) put_with_time(json, "overloaded", overload.problem, overload.since_utc);
    if (camera.move) json["moves_to"] = camera.move->worker;
    if (camera.last_move) json["moved"] = last_move_json(*camera.last_move);
    if (camera.shed != ShedStep::none) put_with_time(json, "shed", text_of(camera.shed), camera.shed_since);
    if (!camera.is_mosaic() && camera.frames().newest)
      json["ring"] = {{"slots", camera.config->queue_size}, {"waiting", waiting_frames(camera)}};
    if (camera.takes_part()) json["graph"] = graphs_.make(camera, cameras);
    status["cameras"][camera.name()] = std::move(json);
  }
  if (!rig.cluster.is_null()) status["cluster"] = rig.cluster;
  if (!rig.lost_gpus.empty()) status["lost_gpus"] = rig.lost_gpus;
  for (const ProcessStatus& process : rig.processes) status["processes"].push_back(process_json(process));
  return status;
}

}  // namespace campipe
