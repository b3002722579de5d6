#include "app/supervisor/life/camera_roster.h"

#include <algorithm>
#include <set>
#include <utility>

#include "app/config/rig_config.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/requests.h"
#include "app/control/messages/to_publisher.h"
#include "app/placement/missing_gpus.h"
#include "app/placement/quarantine.h"
#include "app/placement/stand_ins.h"
#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/rig/camera_parts.h"
#include "app/supervisor/rig/outcome.h"
#include "core/error.h"
#include "core/gpu.h"
#include "core/log.h"
#include "ipc/counter_table.h"
#include "ipc/drop_causes.h"
#include "ipc/shared_block.h"
#include "stages/sources/source.h"

namespace campipe {
namespace {

// The rings of such a camera would take the descriptors that other cameras' need.
constexpr auto no_descriptors = "not started: the rig is out of descriptors (LimitNOFILE, ulimit -n)";

std::size_t cells_of(const CameraConfig& config) { return config.mosaic ? config.mosaic->cells.size() : 0; }

bool records_any(const CameraConfig& config) {
  const auto outputs = resolved_outputs(config);
  return std::ranges::any_of(outputs, [](const ResolvedOutput& output) { return output.record.has_value(); });
}

bool is_at_rest(const Camera& camera) {
  if (!camera.takes_part()) return true;
  const bool published =
      std::ranges::all_of(camera.outputs, [](const Output& output) { return output.publisher.done; });
  const bool read = camera.source.over && camera.source.gone;
  const bool decoded = camera.decoding.over && camera.decoding.gone;
  return published && read && decoded && camera.nodes_done();
}

}  // namespace

struct CameraRoster::Comes {
  CameraConfig asked;
  std::optional<SentStream> sends = {};  // what it has been found to send
  TotalsByName before = {};              // what was counted under the names of its outputs
  std::optional<bool> records = {};      // as was asked while it was about to come
  // Of one that is displaced.
  bool displaced = false;
  bool quarantined = false;
  std::optional<Device> home = {};
  std::string stands_in = {};
  ShedStep shed = ShedStep::none;
  std::int64_t shed_since = 0;
  std::optional<std::int64_t> resume = {};         // of a file: the pts of its newest frame
  std::map<std::string, CopiedUntil> copied = {};  // likewise, of what is copied, by the outputs' names
};

void CameraRoster::add_all(const RigPlan& plan) {
  const std::vector<CameraConfig>& cameras = rig_.config->cameras;
  std::size_t descriptors = supervisor_descriptors(processes_.all().size());
  for (unsigned c = 0; c < cameras.size(); ++c) {
    const CameraPlan& planned = plan.cameras[c];
    const CameraIds ids = rig_.cameras.free_ids(planned.nodes.size(), 1 + cameras[c].outputs.size());
    Camera& camera = make(ids, {cameras[c]}, planned);
    descriptors += descriptors_of(cameras[c]);
    if (cameras[c].enabled && descriptors > descriptor_limit()) CameraLifecycle::leave_out(camera, no_descriptors);
  }
}

Camera& CameraRoster::make(const CameraIds& ids, const Comes& comes, const CameraPlan& where) {
  const Devices& devices = rig_.machine.devices;
  Camera camera;
  camera.id = ids.camera;
  camera.asked = comes.asked;
  camera.sends = comes.sends;
  camera.config = as_run(comes.asked, comes.sends, comes.stands_in);
  camera.home = comes.home;
  camera.stands_in = comes.stands_in;
  camera.shed = comes.shed;
  camera.shed_since = comes.shed_since;
  const CameraConfig& config = *camera.config;
  const std::vector<ResolvedOutput> outputs = resolved_outputs(config);
  if (camera.is_mosaic()) {
    messages::CellState unseen;  // until MosaicCells follows it, which one that is disabled has to wait for
    unseen.reason = config.enabled ? "starting" : "disabled";
    camera.cells.assign(config.mosaic->cells.size(), unseen);
  }
  camera.source.placement = where.placement;
  camera.source.gpu = gpu_name(devices, where.placement.decode_gpu);
  CameraSetup::set_master(camera, master_for(config, where, comes.quarantined));
  add_nodes(camera, ids.nodes, ids.edges, where, devices);
  if (!camera.is_mosaic()) camera.frames().last_pts = comes.resume;
  for (std::size_t i = 0; i < ids.outputs.size(); ++i) {
    Output& output = camera.outputs.emplace_back();
    output.id = ids.outputs[i];
    output.camera = ids.camera;
    output.own = i == 0;
    place_output(output, outputs.at(i), ids.nodes, where, devices);
    if (const auto found = comes.before.find(output.config.name); found != comes.before.end()) {
      output.before = found->second;
      if (comes.sends || comes.displaced)
        output.recording.on = output.before->recording_on;  // nothing else was asked for
      pass_on(output.before->latencies, rig_.page.shared(output.id));
    }
    if (comes.records) output.recording.on = *comes.records;
    if (const auto copied = comes.copied.find(output.config.name); copied != comes.copied.end())
      output.copied = copied->second;
    if (!config.enabled) output.become(CameraState::disabled);
    if (!rig_.events && !rig_.config->events.empty()) rig_.events = rig_.config->events;
    if (!rig_.events && has_motion(output.config)) rig_.events = "events.jsonl";
  }
  if (!camera.home) note_missed_gpu(camera);
  return rig_.cameras.add(std::move(camera));
}

// It goes there once it has come; where it is on the CPU until then, it goes to any other that comes before.
void CameraRoster::note_missed_gpu(Camera& camera) const {
  if (!needs_worker(*camera.config)) return;
  camera.home = missed_by(*camera.asked, rig_.machine.devices, rig_.settings().mps);
  if (camera.home && !on_gpu(camera.source.placement.gpu)) camera.stands_in = "cpu";
}

bool CameraRoster::has_cameras(const ManagedProcess& master) const {
  return std::ranges::any_of(rig_.cameras.all(), [&](const Camera& camera) {
    const SourceDecoding& decoding = camera.decoding;
    return camera.takes_part() && decoding.process == master.id && !(decoding.over && decoding.gone);
  });
}

// One that runs and has no camera is about to end, and may have been started without the camera's GPU.
ManagedProcess& CameraRoster::master_for(const CameraConfig& config, const CameraPlan& where, bool quarantined) {
  if (!quarantined && !begins_in_quarantine(config))
    return processes_.master_at(place_of_master(where, rig_.machine.devices));
  std::set<unsigned> taken;
  for (const ManagedProcess& process : processes_.all()) {
    if (process.quarantine && (process.child || has_cameras(process))) taken.insert(*process.quarantine);
  }
  return processes_.quarantine(free_quarantine(taken));
}

void CameraRoster::isolate_cameras_of(const ManagedProcess& master) {
  for (Camera& camera : rig_.cameras.all()) {
    SourceDecoding& decoding = camera.decoding;
    if (camera.relocation) continue;  // it gets another master in any case
    if (decoding.process != master.id || !std::exchange(decoding.isolate, false) || decoding.over) continue;
    ManagedProcess& apart = master_for(*camera.config, {}, true);
    spdlog::warn("{}: is decoded apart from now on, in {}, since it has brought down {}", camera.name(), role_of(apart),
                 role_of(master));
    setup_.decode_in(camera, apart);
  }
}

void CameraRoster::end_unneeded_quarantines() {
  if (rig_.phase != RunPhase::running) return;
  for (ManagedProcess& process : processes_.all()) {
    if (process.quarantine && process.child && !has_cameras(process)) Processes::end_unneeded(process);
  }
}

// One that goes keeps its ids until nothing of it is left, and its successor may want more.
void CameraRoster::require_room(std::span<const CameraConfig> coming, bool only_these) {
  std::size_t outputs = 0;
  std::size_t cells = 0;
  std::size_t descriptors = supervisor_descriptors(processes_.all().size() + 1);
  for (const Camera& camera : rig_.cameras.all()) {
    const auto changed = std::ranges::find(coming, camera.name(), &CameraConfig::name);
    const auto* next = changed != coming.end() ? &*changed : camera.successor ? &**camera.successor : nullptr;
    outputs += std::max(camera.outputs.size(), next != nullptr ? 1 + next->outputs.size() : 0);
    cells += std::max(cells_of(*camera.config), next != nullptr ? cells_of(*next) : 0);
    descriptors += std::max(descriptors_of(*camera.config), next != nullptr ? descriptors_of(*next) : 0);
  }
  for (const CameraConfig& config : coming) {
    if (rig_.cameras.find(config.name) != nullptr) continue;
    outputs += 1 + config.outputs.size();
    cells += cells_of(config);
    descriptors += descriptors_of(config);
  }
  workers_.require(coming);
  if (outputs > rig_.cameras.most_outputs() || cells > rig_.cameras.most_cells()) throw Error(no_room_for_streams);
  if (descriptors > descriptor_limit()) {
    throw Error("there are too few descriptors for so many streams; raise the limit (LimitNOFILE, ulimit -n)");
  }
  admission_.require(coming, only_these);
}

void CameraRoster::add(const CameraConfig& asked) { add(Comes{asked}); }

void CameraRoster::add(const Comes& comes) {
  const CameraConfig config = as_run(comes.asked, comes.sends, comes.stands_in);
  const CameraPlan where = workers_.choose(config, comes.displaced);
  Camera& camera = make(rig_.cameras.free_ids(where.nodes.size(), 1 + config.outputs.size()), comes, where);
  if (comes.displaced) {
    spdlog::info("{}: runs on {} now", config.name, name_of_place(camera));
  } else if (!comes.sends) {
    spdlog::info("{}: {}", config.name, config.enabled ? "added" : "added, disabled");
  }
  if (config.enabled) return setup_.send(camera);
  setup_.send_disabled(camera);
}

// Once it has sent something else it stays what it has become by that. Nothing else can be asked for in this way: a
// master that was taken over gets no more than that a camera is run in its other form.
void CameraRoster::on_sent_stream(Camera& camera, const SentStream& sends) {
  const bool decided = camera.sends && !fits(*camera.asked, *camera.sends);
  const bool can_change = camera.takes_part() && !camera.retiring && rig_.phase == RunPhase::running;
  if (!can_change || decided || !depends_on_stream(*camera.asked)) return;
  const bool is_news = camera.sends != sends;
  camera.sends = sends;
  if (is_news) spdlog::info("{}: {}", camera.name(), outcome(*camera.asked, sends));
  if (!fits(*camera.asked, sends)) retire(camera, *camera.asked);
}

void CameraRoster::on_opened_stream(Camera& camera, const KnownStream& stream) {
  if (camera.retiring || camera.all_failed() || rig_.phase != RunPhase::running) return;
  const std::string reason = admission_.on_stream(camera, stream);
  if (reason.empty()) return;
  CameraLifecycle::fail(camera, reason);
  lifecycle_.stop(camera);
}

void CameraRoster::retire(Camera& camera, const std::optional<CameraConfig>& successor) {
  const bool is_same = camera.successor && successor && **camera.successor == *successor;
  if (!is_same) camera.successor_records.reset();
  camera.successor.reset();
  if (successor) camera.successor = *successor;
  if (camera.retiring) return;
  camera.retiring = true;
  if (!camera.takes_part()) return;
  lifecycle_.stop(camera);
}

void CameraRoster::change(Camera& camera, const CameraConfig& config) {
  CameraConfig same = *camera.asked;
  same.priority = config.priority;
  if (!camera.runs_as(*camera.asked) || same != config) {
    if (!camera.retiring) camera.sends.reset();  // found out again, also where one that failed comes as it was
    return retire(camera, config);
  }
  camera.asked->priority = camera.config->priority = config.priority;
  spdlog::info("{}: its priority is {} now", camera.name(), config.priority);
}

void CameraRoster::settle_retiring() {
  std::vector<CameraId> at_rest;
  for (const Camera& camera : rig_.cameras.all()) {
    if (camera.retiring && is_at_rest(camera)) at_rest.push_back(camera.id);
  }
  for (const CameraId id : at_rest) settle_retiring(*rig_.cameras.find(id));
}

void CameraRoster::settle_retiring(Camera& camera) {
  if (camera.successor && rig_.phase != RunPhase::running) {
    camera.retiring = false;  // nothing comes in its place any more
    return;
  }
  const auto successor = std::move(camera.successor);
  Comes comes = successor ? comes_of(camera, **successor) : Comes();
  const bool is_same = comes.sends || comes.displaced;
  const auto* const change = !successor ? "removed" : is_same ? "" : (*successor)->enabled ? "changed" : "disabled";
  comes.before = remove(camera, change);
  if (!successor) return;
  try {
    add(comes);
  } catch (const std::exception& error) {
    keep_failed(comes, error.what());
  }
}

CameraRoster::Comes CameraRoster::comes_of(const Camera& camera, const CameraConfig& successor) {
  Comes comes{successor};
  comes.records = camera.successor_records;
  if (successor != *camera.asked) return comes;  // a user has changed it: it is placed as any that comes
  comes.sends = camera.sends;
  comes.displaced = camera.displaced;
  comes.quarantined = camera.decoding.quarantine || camera.decoding.isolate;
  comes.home = camera.home;
  comes.stands_in = camera.stands_in;
  if (camera.displaced) {
    comes.shed = camera.shed;
    comes.shed_since = camera.shed_since;
  }
  if (!camera.displaced || camera.is_mosaic() || is_live(camera.config->source.url)) return comes;
  const auto& ring = camera.frames().newest;
  comes.resume = ring ? ring->observer.last_pts() : std::nullopt;
  if (!comes.resume) comes.resume = camera.frames().last_pts;
  for (const Output& output : camera.outputs) {
    comes.copied[output.config.name] = output.copied_until();
  }
  return comes;
}

void CameraRoster::displace(Camera& camera, const std::string& stands_in) {
  if (camera.retiring) return;  // what comes in its place is placed then
  camera.displaced = true;
  camera.stands_in = stands_in;
  retire(camera, *camera.asked);
}

CameraConfig CameraRoster::as_run(const CameraConfig& asked, const std::optional<SentStream>& sends,
                                  const std::string& stands_in) const {
  CameraConfig config = with_stand_ins(resolved(asked, sends), rig_.machine.devices, stands_in);
  prefer_place(config, stands_in);
  return config;
}

// What could not be started is still there, for the status and the exit status: without its other outputs, for
// which there may be no ids.
void CameraRoster::keep_failed(const Comes& comes, const std::string& why) {
  Comes failed{comes.asked, {}, comes.before};
  failed.home = comes.home;
  Camera& camera = make(rig_.cameras.free_ids(1, 1), failed, CameraPlan());
  if (camera.takes_part()) CameraLifecycle::leave_out(camera, "cannot be started: " + why);
}

// Nothing of it is in flight. Returns what its outputs have counted. `change`: what the log reports; empty: nothing,
// since the camera comes anew at once, as it was asked for.
TotalsByName CameraRoster::remove(Camera& camera, std::string_view change) {
  TotalsByName totals;
  if (camera.takes_part()) {
    const bool worker_died = camera.counted[Counter::worker_restarts] > 0;
    settle(camera, rig_.page, worker_died ? DropCause::worker_lost : DropCause::stopped);
  }
  for (const Output& output : camera.outputs) {
    if (camera.takes_part()) {
      settle_recording(output, rig_.page);  // of one that the publisher was not given any more
      if (!change.empty()) {
        spdlog::info("{}: {}; {}", output.config.name, change,
                     format_outcome(output, count(camera, output, rig_.page)));
      }
    }
    totals[output.config.name] = std::make_shared<const OutputTotals>(totals_of(camera, output, rig_.page));
  }
  setup_.send_forget(camera);
  if (!camera.displaced) admission_.forget(camera.name());
  const ProcessId master = camera.decoding.process;
  rig_.page.clear(camera.id, master);
  for (const CameraEdge& edge : camera.edges) {
    for (const EdgeReader& reader : edge.readers) rig_.page.clear(edge.id, camera.writer_of(edge), reader.process);
  }
  for (const CameraNode& node : camera.nodes) rig_.page.clear(node.id, node.process());
  for (const Output& output : camera.outputs) rig_.page.clear(output.id, master, camera.encoder_of(output).process());
  rig_.cameras.remove(camera.id);
  return totals;
}

CameraDifference CameraRoster::apply(const RigConfig& rig) {
  require_room(rig.cameras, true);
  CameraDifference difference;
  for (Camera& camera : rig_.cameras.all()) {
    const bool wanted = std::ranges::find(rig.cameras, camera.name(), &CameraConfig::name) != rig.cameras.end();
    if (wanted) continue;
    if (!camera.retiring || camera.successor) difference.removed.push_back(camera.name());  // else it goes already
    retire(camera, std::nullopt);
  }
  for (const CameraConfig& config : rig.cameras) {
    Camera* camera = rig_.cameras.find(config.name);
    if (camera == nullptr) {
      difference.added.push_back(config.name);
      add(config);
    } else if (!camera->runs_as(config)) {
      difference.changed.push_back(config.name);
      change(*camera, config);
    }
  }
  return difference;
}

messages::Answer CameraRoster::set_recording(const messages::SetRecording& asked) {
  if (rig_.phase != RunPhase::running) return refused(409, "the rig is ending");
  Camera* camera = rig_.cameras.find(asked.name);
  if (camera == nullptr || camera->is_removed()) return refused(404, "there is no such camera");
  // A camera that retires obeys: its processes still work until it has ended. So does its successor.
  const bool disabled = camera->successor ? !(*camera->successor)->enabled : !camera->takes_part();
  if (disabled) return refused(409, "it is disabled");
  bool any = false;
  bool lives = false;
  if (camera->successor) {
    any = lives = records_any(**camera->successor);
    camera->successor_records = asked.on;
  }
  for (Output& output : camera->outputs) {
    if (!output.config.record) continue;
    any = true;
    if (!has_work(processes_.publisher(), *camera, output)) continue;
    lives = true;
    output.recording.on = asked.on;
    if (!asked.on) output.recording.paused.clear();
    processes_.send_to_publisher(*camera, output, messages::Record{output.id, asked.on});
  }
  if (!any) return refused(409, "its configuration has no 'record'");
  if (!lives) return refused(409, camera->takes_part() ? "it has ended" : "it is disabled");
  return recording_answer(asked.on);
}

}  // namespace campipe
