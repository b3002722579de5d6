#include "app/supervisor/faults/lost_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "app/config/rig_config.h"
#include "app/control/gpu_loss.h"
#include "app/placement/stand_ins.h"
#include "core/gpu.h"
#include "core/log.h"
#include "core/utc_text.h"

namespace campipe {
namespace {

// A worker that waits for what a dead master had begun to fill ends as one that lost its GPU does.
constexpr auto masters_fault = std::chrono::seconds(3);
// A source that has been asked to stop hands over what is decoded for two seconds at most.
constexpr auto longest_stop = std::chrono::milliseconds(2500);

// Not one that has ended, or is about to go.
bool may_be_placed_anew(const Camera& camera) {
  return camera.takes_part() && !camera.retiring && !camera.decoding.over && !camera.all_failed();
}

// It has no place just now, and is to get one where it stands in.
bool is_on_its_way(const Camera& camera) { return camera.relocation || (camera.retiring && camera.displaced); }

}  // namespace

LostGpus::LostGpus(RigState& rig, Processes& processes, CameraLifecycle& lifecycle, CameraRoster& roster, Moves& moves,
                   Relocations& relocations, LoadShedder& shedder, Port& port)
    : rig_(rig),
      processes_(processes),
      lifecycle_(lifecycle),
      roster_(roster),
      moves_(moves),
      relocations_(relocations),
      shedder_(shedder),
      port_(port),
      arrivals_(port, rig.settings().mps) {}

Gpu* LostGpus::find(const Device& device) {
  const auto found = std::ranges::find(rig_.machine.devices.gpus, device, &Gpu::device);
  return found != rig_.machine.devices.gpus.end() ? &*found : nullptr;
}

// What it died of may be its GPU: it said so, hung, or never began.
void LostGpus::on_death(const ManagedProcess& process, const ExitInfo& info) {
  const auto now = Clock::now();
  if (process.kind == ProcessKind::master) master_died_ = now;
  if (process.kind == ProcessKind::publisher || rig_.phase != RunPhase::running) return;
  const std::string role = role_of(process);
  const std::optional<int> exited = exit_status(info);
  const auto lost = exited ? gpu_of_loss(*exited, process.place.sees) : std::nullopt;
  rig_.next_tick = now;
  if (lost) {
    const bool by_master = process.kind == ProcessKind::worker && now - master_died_ < masters_fault;
    if (!by_master) health_.on_loss(*lost, role + " lost it", now);
    return;
  }
  const Device& own = process.place.gpu;
  if (!on_gpu(own)) return;
  if (process.hung) return health_.on_hang(own, role + ", which worked on it, hung", now);
  if (exited && rig_.page.process(process.id).beat.load() == 0)
    health_.on_loss(own, role + " could not begin on it", now);
}

void LostGpus::add_waits(Waits& waits) const {
  for (const DeviceCheck& check : checks_) check.add_waits(waits);
  arrivals_.add_waits(waits);
}

void LostGpus::follow() {
  if (rig_.phase != RunPhase::running) {
    checks_.clear();
    return arrivals_.stop();
  }
  look_at_checks();
  follow_awaited();
  // A step may have another one follow at once: what is gone has to be left before its nodes are ended.
  for (auto due = health_.follow(Clock::now()); !due.empty(); due = health_.follow(Clock::now())) {
    for (const GpuHealth::Step& step : due) do_step(step);
  }
  end_nodes_of_gone();
  end_masters_of_gone();
}

nlohmann::json LostGpus::status() const {
  nlohmann::json all = nlohmann::json::array();
  for (const GpuHealth::Gpu& gpu : health_.all()) {
    if (gpu.state == GpuHealth::State::here) continue;
    nlohmann::json cameras = nlohmann::json::array();
    for (const Camera& camera : rig_.cameras.all()) {
      if (camera.home == gpu.device) cameras.push_back(camera.name());
    }
    const auto ago = std::chrono::nanoseconds(Clock::now() - gpu.since);
    all.push_back({{"gpu", gpu_name(rig_.machine.devices, gpu.device)},
                   {"uuid", is_invented(gpu.device) ? "" : to_string(gpu.device)},
                   {"state", name_of(gpu.state)},
                   {"reason", gpu.reason},
                   {"cameras", cameras},
                   {"since_utc", utc_text(utc_now_ns() - ago.count())}});
  }
  return all;
}

void LostGpus::look_at_checks() {
  for (auto check = checks_.begin(); check != checks_.end();) {
    const auto problem = check->look();
    if (!problem) {
      ++check;
      continue;
    }
    health_.on_check(check->device(), *problem, Clock::now());
    check = checks_.erase(check);
  }
}

void LostGpus::follow_awaited() {
  const auto now = Clock::now();
  miss_awaited(now);
  if (!any_awaited(rig_.machine.devices)) return arrivals_.stop();
  const auto found = arrivals_.look(now);
  if (!found) return;
  for (const GpuArrival& arrival : take_arrivals(rig_.machine.devices, *found)) arrive(arrival);
  miss_awaited(now);  // for newer reasons
}

void LostGpus::miss_awaited(Clock::time_point now) {
  const std::vector<GpuHealth::Gpu> known = health_.all();
  for (const Gpu& gpu : rig_.machine.devices.gpus) {
    if (!gpu.awaited) continue;
    const bool is_news = std::ranges::find(known, gpu.device, &GpuHealth::Gpu::device) == known.end();
    health_.miss(gpu.device, gpu.gone, now);
    if (is_news)
      spdlog::error("GPU {} is gone: {}; its cameras run on what there is until it comes",
                    gpu_name(rig_.machine.devices, gpu.device), gpu.gone);
  }
  for (const GpuHealth::Gpu& gpu : known) {
    if (find(gpu.device) == nullptr) health_.forget(gpu.device);  // no camera asks for it any more
  }
}

// Under another name than before, if it was named by its index.
void LostGpus::arrive(const GpuArrival& arrival) {
  health_.forget(arrival.awaited);
  for (Camera& camera : rig_.cameras.all()) {
    if (camera.home == arrival.awaited) camera.home = arrival.here;
  }
  port_.add_costs(rig_.costs, *find(arrival.here));
  rig_.weights = {};
  come_back(arrival.here, "now");
}

void LostGpus::do_step(const GpuHealth::Step& step) {
  switch (step.what) {
    case GpuHealth::Step::What::check:
      return check(step.device);
    case GpuHealth::Step::What::leave:
      return leave(step.device, step.reason);
    case GpuHealth::Step::What::come_back:
      return come_back(step.device, "again, " + step.reason);
    case GpuHealth::Step::What::send_on:
      return send_guests_on(step.device);
  }
}

void LostGpus::check(const Device& device) {
  try {
    checks_.emplace_back(device, rig_.config->mps, port_.starter());
  } catch (const std::exception& error) {
    health_.on_check(device, error.what(), Clock::now());
  }
}

bool LostGpus::runs_on(const Camera& camera, const Device& device) const {
  if (camera.source.placement.decode_gpu == device && !camera.decoding.given_up) return true;
  const bool has_node = std::ranges::any_of(camera.nodes, [&](const CameraNode& node) {
    return !node.done && processes_.of(node.process()).place.gpu == device;
  });
  return has_node || std::ranges::any_of(camera.edges, [&](const CameraEdge& edge) {
           return !edge.cell && edge.writer && edge.memory.device == device;
         });
}

unsigned LostGpus::cameras_on(const Device& device) const {
  return static_cast<unsigned>(std::ranges::count_if(rig_.cameras.all(), [&](const Camera& camera) {
    if (!camera.takes_part()) return false;
    if (is_on_its_way(camera)) return camera.stands_in == gpu_name(rig_.machine.devices, device);
    return !camera.retiring && runs_on(camera, device);
  }));
}

void LostGpus::leave(const Device& device, const std::string& reason) {
  Gpu* const gpu = find(device);
  if (gpu == nullptr) return;
  gpu->gone = reason;
  std::vector<CameraId> displaced;
  for (Camera& camera : rig_.cameras.all()) {
    if (!may_be_placed_anew(camera) || !runs_on(camera, device)) continue;
    if (!camera.home) camera.home = device;
    displaced.push_back(camera.id);
  }
  spdlog::error("GPU {} is gone: {}; {} camera{} of it run{} on what there is", gpu->index, reason, displaced.size(),
                displaced.size() == 1 ? "" : "s", displaced.size() == 1 ? "s" : "");
  for (ManagedProcess& process : processes_.all()) {
    if (process.place.gpu != device) continue;
    process.start_at.reset();
    if (process.kind == ProcessKind::worker) Processes::end_since(process, "its GPU is gone");
    // What it has not handed over is in the packet rings. Whatever comes back later needs a new context.
    if (process.kind == ProcessKind::master) Processes::end_unneeded(process);
  }
  displace(displaced);
}

// Those of the highest priority choose first.
void LostGpus::displace(const std::vector<CameraId>& cameras) {
  std::vector<Camera*> all;
  for (const CameraId id : cameras) all.push_back(rig_.cameras.find(id));
  std::ranges::stable_sort(all, std::greater(), [](const Camera* camera) { return camera->config->priority; });
  for (Camera* const camera : all) {
    const Place place = place_for(*camera);
    relocations_.begin(*camera, place.name);
    if (!place.fits) make_room_on(place.name);
  }
  rig_.next_status = Clock::now();
}

// The GPU with the fewest cameras of those where nothing is short by it, else the CPU, else the first of these. Of one
// whose configuration says where it is to run: nothing.
LostGpus::Place LostGpus::place_for(const Camera& camera) const {
  const Devices& devices = rig_.machine.devices;
  const bool is_free = camera.asked->gpu == "auto" || (camera.home && names(*camera.asked, *camera.home, devices));
  if (!is_free) return {};
  std::vector<const Gpu*> gpus;
  for (const Gpu& gpu : devices.gpus) {
    if (can_be_used(gpu)) gpus.push_back(&gpu);
  }
  std::ranges::stable_sort(gpus, {}, [this](const Gpu* gpu) { return cameras_on(gpu->device); });
  std::vector<std::string> places;
  for (const Gpu* gpu : gpus) places.push_back(std::to_string(gpu->index));
  places.emplace_back("cpu");
  for (const std::string& place : places) {
    try {
      if (roster_.has_room_for(roster_.as_run(*camera.asked, camera.sends, place))) return {place, true};
    } catch (const std::exception& error) {
      spdlog::debug("{}: not on {}: {}", camera.name(), place, error.what());
    }
  }
  return {places.front(), false};
}

// Too many are there, as far as is known: one of the lowest priority is turned off, and has more again when the others
// have proved to have time.
void LostGpus::make_room_on(const std::string& place) {
  std::vector<Camera*> there;
  for (Camera& camera : rig_.cameras.all()) {
    if (!camera.takes_part() || camera.all_failed() || camera.source.over) continue;
    const bool is_there = is_on_its_way(camera) ? camera.stands_in == place
                                                : !camera.retiring && camera.encoder_of(camera.own()).gpu == place;
    if (is_there) there.push_back(&camera);
  }
  shedder_.turn_one_off(there);
}

void LostGpus::come_back(const Device& device, const std::string& reason) {
  Gpu* const gpu = find(device);
  if (gpu == nullptr) return;
  gpu->gone.clear();
  std::vector<Camera*> returning;
  for (Camera& camera : rig_.cameras.all()) {
    const bool could_not_start = camera.home && camera.all_failed() && !camera.quarantined && !camera.retiring;
    if (!may_be_placed_anew(camera) && !could_not_start) continue;
    const bool is_named = camera.uses_worker() && names(*camera.asked, device, rig_.machine.devices);
    const bool lives_there = camera.home == device || is_named;
    const bool is_on_cpu = camera.home && camera.stands_in == "cpu";
    if (lives_there || is_on_cpu) returning.push_back(&camera);
  }
  spdlog::info("GPU {} is here {}; {} cameras go there", gpu->index, reason, returning.size());
  for (Camera* const camera : returning) {
    const bool lives_there = camera->home == device || !camera->home;
    const bool is_free = camera->asked->gpu == "auto";
    camera->shed = ShedStep::none;
    if (lives_there) camera->home.reset();
    relocations_.begin(*camera, is_free ? std::to_string(gpu->index) : "");
  }
  rig_.next_status = Clock::now();
}

// Cameras that came from a GPU with nothing wrong: what was wrong there may be one of them.
void LostGpus::send_guests_on(const Device& device) {
  const std::string here = gpu_name(rig_.machine.devices, device);
  for (Camera& camera : rig_.cameras.all()) {
    const bool is_guest = camera.home && camera.home != device && camera.stands_in == here;
    if (!may_be_placed_anew(camera) || !is_guest) continue;
    spdlog::warn("{}: goes on to the CPU, since GPU {} is lost as the one was that it came from", camera.name(), here);
    relocations_.begin(camera, "cpu");
  }
}

// Its cameras do not wait for it.
void LostGpus::end_nodes_of_gone() {
  for (ManagedProcess& process : processes_.all()) {
    const bool is_over = process.kind == ProcessKind::worker && !process.child && health_.is_gone(process.place.gpu);
    if (is_over) end_nodes_of(process);
  }
}

void LostGpus::end_nodes_of(ManagedProcess& worker) {
  std::vector<NodeId> over;
  for (const Camera& camera : rig_.cameras.all()) {
    for (const CameraNode& node : camera.nodes) {
      if (node.worker == worker.number && !node.done && camera.takes_part()) over.push_back(node.id);
    }
  }
  for (const NodeId id : over) {
    Camera* const camera = rig_.cameras.find(id);
    if (camera == nullptr) continue;
    if (moves_.on_node_done(*camera, camera->node(id))) continue;
    lifecycle_.on_node_done(*camera, camera->node(id));
  }
}

// The GPU's own have been ended. One for cameras in quarantine has others, too, but is no better off with one whose
// decoder waits for a GPU that does not answer.
void LostGpus::end_masters_of_gone() {
  for (ManagedProcess& master : processes_.all()) {
    if (master.kind != ProcessKind::master) continue;
    if (!master.child) {
      left_at_.erase(master.id);
      if (health_.is_gone(master.place.gpu)) end_decoding_in(master);
    } else if (ends_on_gone(master)) {
      const auto since = left_at_.try_emplace(master.id, Clock::now()).first->second;
      if (Clock::now() - since > longest_stop && !master.child->killed())
        Processes::end(master, "is ended: it does not let go of a GPU that is gone");
    } else {
      left_at_.erase(master.id);
    }
  }
}

// Of those that go on elsewhere: see Relocations. Cameras that do not go have not noticed.
bool LostGpus::ends_on_gone(const ManagedProcess& master) const {
  return std::ranges::any_of(rig_.cameras.all(), [&](const Camera& camera) {
    const bool here = camera.decoding.process == master.id && !camera.decoding.gone;
    return here && camera.retiring && health_.is_gone(camera.source.placement.decode_gpu);
  });
}

// What waits to be decoded of cameras that go, goes with them.
void LostGpus::end_decoding_in(const ManagedProcess& master) {
  for (Camera& camera : rig_.cameras.all()) {
    if (camera.decoding.process != master.id || camera.decoding.over || !camera.takes_part()) continue;
    if (!camera.relocation && (camera.retiring || camera.all_failed())) lifecycle_.on_decoding_over(camera, "");
  }
}

}  // namespace campipe
