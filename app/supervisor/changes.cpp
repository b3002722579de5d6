// Cameras that come and go while the rig runs. A change touches only its camera: the others' processes, rings, encoders
// and files stay.
//
// A camera that is to go is stopped like one whose source has ended, so that what was decoded still goes all the way.
// When its processes are done with it they forget it, and its place in the rig page is free. A camera that is changed
// goes, and comes anew in its place.
#include <algorithm>
#include <iterator>
#include <utility>

#include "app/supervisor/status_view.h"
#include "app/supervisor/supervisor.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

bool has_motion(const CameraConfig& config) {
  return std::ranges::any_of(config.filters, [](const FilterConfig& filter) { return filter.name == "motion"; });
}

constexpr auto no_room = "there is no room for so many more streams in this run; restart the rig with them";

bool sees(const std::vector<Device>& gpus, const Device& gpu) {
  return !on_gpu(gpu) || std::ranges::find(gpus, gpu) != gpus.end();
}

}  // namespace

// `places`: the camera's own, and one for each of its other outputs. `before`: what was counted under their names.
void Supervisor::make_camera(const std::vector<unsigned>& places, const CameraConfig& asked,
                             const std::optional<SentStream>& sends, const Placement& placement, unsigned worker,
                             const TotalsByName& before) {
  const CameraConfig config = resolved(asked, sends);
  for (std::size_t i = 0; i < places.size(); ++i) {
    CameraState& camera = cameras_[places[i]];
    camera = CameraState();
    camera.index = places[i];
    if (i > 0) camera.follows = places[0];
    camera.asked = asked;
    camera.config = i == 0 ? config : follower(config, config.outputs[i - 1]);
    camera.placement = i == 0 ? placement : placement_of_output(placement, config.outputs[i - 1], machine_.devices);
    camera.gpu = gpu_name(machine_.devices, placement.gpu);
    camera.worker = worker;
    if (const auto found = before.find(camera.config.name); found != before.end()) {
      camera.before = found->second;
      if (sends) camera.recording_on = camera.before->recording_on;  // nobody has asked for anything else
      pass_on(camera.before->latencies, page_.shared(camera.index));
    }
    if (!config.enabled) camera.become(CameraState::State::disabled);
    if (!events_ && !rig_.events.empty()) events_ = rig_.events;
    if (!events_ && has_motion(camera.config)) events_ = "events.jsonl";
  }
  cameras_[places[0]].outputs = places;
  cameras_[places[0]].sends = sends;
  cameras_[places[0]].worker_done = encoded_outputs(config) == 0 && !encodes_on_demand(config);
}

// Those of cameras that are gone, then new ones.
std::vector<unsigned> Supervisor::free_places(std::size_t wanted) {
  std::vector<unsigned> places;
  for (const CameraState& camera : cameras_) {
    if (camera.state == CameraState::State::removed && places.size() < wanted) places.push_back(camera.index);
  }
  const std::size_t more = wanted - places.size();
  if (cameras_.size() + more > page_.cameras()) throw Error(no_room);
  for (std::size_t i = 0; i < more; ++i) {
    CameraState& camera = cameras_.emplace_back();
    camera.index = static_cast<unsigned>(cameras_.size() - 1);
    camera.state = CameraState::State::removed;
    places.push_back(camera.index);
  }
  return places;
}

// Throws Error, before anything is changed, where these cameras do not fit. One that goes keeps its places until
// nothing of it is left, and its successor may want more.
void Supervisor::require_room(std::span<const CameraConfig> coming) {
  std::size_t places = 0;
  std::size_t descriptors = supervisor_descriptors(members_.size() + 1);
  for (const CameraState& camera : cameras_) {
    if (camera.follows || camera.state == CameraState::State::removed) continue;
    const auto changed = std::ranges::find(coming, camera.config.name, &CameraConfig::name);
    const auto* next = changed != coming.end() ? &*changed : camera.successor ? &*camera.successor : nullptr;
    places += std::max(camera.outputs.size(), next != nullptr ? 1 + next->outputs.size() : 0);
    descriptors += std::max(descriptors_of(camera.config), next != nullptr ? descriptors_of(*next) : 0);
  }
  for (const CameraConfig& config : coming) {
    if (find_camera(config.name) != nullptr) continue;
    places += 1 + config.outputs.size();
    descriptors += descriptors_of(config);
  }
  require_workers(coming);
  if (places > page_.cameras()) throw Error(no_room);
  if (descriptors > descriptor_limit()) {
    throw Error("there are too few descriptors for so many streams; raise the limit (LimitNOFILE, ulimit -n)");
  }
}

// `sends`: what it has been found to send.
void Supervisor::add_camera(const CameraConfig& asked, const TotalsByName& before,
                            const std::optional<SentStream>& sends) {
  const CameraConfig config = resolved(asked, sends);
  Placement placement;
  const unsigned to = worker_for(config, placement);
  const std::vector<unsigned> places = free_places(1 + config.outputs.size());
  make_camera(places, asked, sends, placement, to, before);
  if (!sends) spdlog::info("{}: {}", config.name, config.enabled ? "added" : "added, disabled");
  if (config.enabled) return make_known(cameras_[places[0]]);
  for (const unsigned place : places) tell_disabled(cameras_[place]);
}

// Those that there are.
std::vector<Supervisor::Seat> Supervisor::seats() {
  std::vector<Seat> seats(members_.size() - 2);
  for (unsigned w = 0; w < seats.size(); ++w) seats[w] = {worker(w).gpu, worker(w).sees, 0};
  for (const CameraState& camera : cameras_) {
    if (!camera.follows && takes_part(camera)) ++seats[camera.worker].cameras;
  }
  return seats;
}

// Where the last camera of `rig` is to run.
Supervisor::Placed Supervisor::place_last(const RigConfig& rig) {
  const auto position = static_cast<unsigned>(rig.cameras.size() - 1);
  const RigPlan planned = plan(rig, machine_);
  Placed placed{planned.cameras[position], {}, false};
  placed.worker = *std::ranges::find_if(planned.workers, [&](const WorkerPlan& worker) {
    return std::ranges::find(worker.cameras, position) != worker.cameras.end();
  });
  Device& decode_gpu = placed.placement.decode_gpu;
  placed.without_its_decoder = !sees(master().sees, decode_gpu);
  if (placed.without_its_decoder) decode_gpu = {};
  return placed;
}

// Of those that work where the camera is placed the one with the fewest cameras, else a new one, at the end of `seats`.
unsigned Supervisor::seat_for(const Placement& placement, std::vector<Seat>& seats) {
  std::optional<unsigned> best;
  for (unsigned w = 0; w < seats.size(); ++w) {
    const bool fits = seats[w].gpu == placement.gpu && sees(seats[w].sees, placement.decode_gpu);
    if (fits && (!best || seats[w].cameras < seats[*best].cameras)) best = w;
  }
  if (!best && seats.size() == max_workers) throw Error("there are as many workers as there can be, and none fits");
  if (!best) {
    std::vector<Device> gpus;
    if (on_gpu(placement.gpu)) gpus.push_back(placement.gpu);
    if (on_gpu(placement.decode_gpu) && !sees(gpus, placement.decode_gpu)) gpus.push_back(placement.decode_gpu);
    best = static_cast<unsigned>(seats.size());
    seats.push_back({placement.gpu, gpus, 0});
  }
  ++seats[*best].cameras;
  return *best;
}

// The rig with the cameras that take part now but for those that are to come anew.
RigConfig Supervisor::rig_without(std::span<const CameraConfig> coming) const {
  RigConfig rig = rig_;
  rig.cameras.clear();
  for (const CameraState& camera : cameras_) {
    const bool goes = std::ranges::find(coming, camera.config.name, &CameraConfig::name) != coming.end();
    if (!camera.follows && takes_part(camera) && !goes) rig.cameras.push_back(camera.config);
  }
  return rig;
}

// Throws Error where one of them would find no worker.
void Supervisor::require_workers(std::span<const CameraConfig> coming) {
  std::vector<CameraConfig> changed;
  std::ranges::copy_if(coming, std::back_inserter(changed), [this](const CameraConfig& config) {
    const CameraState* camera = find_camera(config.name);
    return camera == nullptr || camera->retiring || !(camera->asked == config);
  });
  RigConfig rig = rig_without(changed);
  std::vector<Seat> seats_then = seats();
  for (const CameraConfig& config : changed) {
    rig.cameras.push_back(resolved(config, {}));
    seat_for(place_last(rig).placement, seats_then);
  }
}

unsigned Supervisor::worker_for(const CameraConfig& config, Placement& placement) {
  failpoint("supervisor.placing", config.name);
  RigConfig rig = rig_without({});
  rig.cameras.push_back(config);
  const Placed placed = place_last(rig);
  if (placed.without_its_decoder && encoded_outputs(config) > 0)
    spdlog::warn("{}: is decoded on the CPU until the rig is restarted: the master was started without that GPU",
                 config.name);
  placement = placed.placement;
  std::vector<Seat> places = seats();
  const std::size_t workers = places.size();
  const unsigned found = seat_for(placement, places);
  if (found == workers) set_up_member(members_.emplace_back(), found, placed.worker, places[found].sees);
  return found;
}

// To the processes that have work with it. One that does not run is started: it had none before.
void Supervisor::make_known(CameraState& camera) {
  for (Member& member : members_) {
    const bool any = std::ranges::any_of(camera.outputs, [&](unsigned c) { return has_camera(member, cameras_[c]); });
    if (!any) continue;
    if (!member.child && !member.start_at) {
      start(member);
    } else if (member.child) {
      for (const unsigned output : camera.outputs) {
        if (has_camera(member, cameras_[output])) introduce_camera(member, cameras_[output]);
      }
    }
  }
}

// Once it has sent something else it stays what it has become by that. Nothing else can be asked for in this way: a
// master that was taken over gets no more than that a camera is run in its other form.
void Supervisor::on_sent_stream(CameraState& camera, const SentStream& sends) {
  const bool decided = camera.sends && !fits(camera.asked, *camera.sends);
  const bool can_change = takes_part(camera) && !camera.retiring && phase_ == Phase::running;
  if (!can_change || decided || !depends_on_stream(camera.asked)) return;
  const bool is_news = camera.sends != sends;
  camera.sends = sends;
  if (is_news) spdlog::info("{}: {}", camera.config.name, outcome(camera.asked, sends));
  if (!fits(camera.asked, sends)) retire(camera, camera.asked);
}

// `successor` comes in its place when nothing of it is left; none: nothing does.
void Supervisor::retire(CameraState& camera, const std::optional<CameraConfig>& successor) {
  camera.successor = successor;
  if (camera.retiring) return;
  camera.retiring = true;
  if (!takes_part(camera)) return;
  if (master().child) {
    send(master(), messages::StopCamera{{camera.index}});
  } else {
    on_source_over(camera, "");
  }
}

void Supervisor::settle_retiring() {
  for (CameraState& camera : cameras_) {
    if (!camera.retiring) continue;
    const bool rests = std::ranges::all_of(camera.outputs, [&](unsigned output) {
      return !takes_part(cameras_[output]) || cameras_[output].publisher_done;
    });
    if (!rests || (takes_part(camera) && !(camera.source_over && camera.worker_done))) continue;
    if (camera.successor && phase_ != Phase::running) {
      camera.retiring = false;  // nothing comes in its place any more
      continue;
    }
    const auto successor = std::move(camera.successor);
    const auto sends = successor == camera.asked ? camera.sends : std::nullopt;
    const TotalsByName before = free_camera(camera, sends.has_value());
    if (!successor) continue;
    try {
      add_camera(*successor, before, sends);
    } catch (const std::exception& error) {
      keep_failed(*successor, before, error.what());
    }
  }
}

// What could not be started is still there, for whoever looks and for the exit status: without its other outputs, for
// which there may be no places.
void Supervisor::keep_failed(const CameraConfig& asked, const TotalsByName& before, const std::string& why) {
  const std::vector<unsigned> places = free_places(1);
  make_camera(places, asked, {}, {}, 0, before);
  CameraState& camera = cameras_[places[0]];
  if (takes_part(camera)) leave_out(camera, "cannot be started: " + why);
}

// Nothing of it is in flight. Returns what its outputs have counted. `comes_anew`: at once, as it was asked for.
TotalsByName Supervisor::free_camera(CameraState& camera, bool comes_anew) {
  const std::vector<unsigned> places = camera.outputs;
  TotalsByName totals;
  for (const unsigned place : places) {
    CameraState& state = cameras_[place];
    if (takes_part(state)) {
      settle(cameras_, state, page_, DropCause::worker_lost);
      if (!comes_anew)
        spdlog::info("{}: gone; {}", state.config.name, format_summary(state, count(cameras_, state, page_)));
    }
    totals[state.config.name] = std::make_shared<const CameraTotals>(totals_of(cameras_, state, page_));
  }
  for (Member& member : members_) {
    for (const unsigned place : places) {
      const bool knows = member.kind == Kind::publisher || place == places[0];
      const bool its_worker = member.kind != Kind::worker || member.worker == camera.worker;
      if (takes_part(camera) && knows && its_worker) send(member, messages::ForgetCamera{{place}});
    }
  }
  for (const unsigned place : places) {
    page_.clear_camera(place, cameras_[place].worker);
    cameras_[place] = CameraState();
    cameras_[place].index = place;
    cameras_[place].state = CameraState::State::removed;
  }
  return totals;
}

// Null: there is none of that name.
CameraState* Supervisor::find_camera(const std::string& name) {
  const auto found = std::ranges::find_if(cameras_, [&](const CameraState& camera) {
    return !camera.follows && camera.state != CameraState::State::removed && camera.config.name == name;
  });
  return found == cameras_.end() ? nullptr : &*found;
}

// The cameras become those of `rig`; one that is the same is not touched. Returns the names of the others, by what
// becomes of them.
nlohmann::json Supervisor::apply(const RigConfig& rig) {
  require_room(rig.cameras);
  std::vector<std::string> added;
  std::vector<std::string> changed;
  std::vector<std::string> removed;
  for (CameraState& camera : cameras_) {
    if (camera.follows || camera.state == CameraState::State::removed) continue;
    const bool wanted =
        std::ranges::any_of(rig.cameras, [&](const CameraConfig& config) { return config.name == camera.config.name; });
    if (wanted) continue;
    if (!camera.retiring || camera.successor) removed.push_back(camera.config.name);  // else it goes already
    retire(camera, std::nullopt);
  }
  for (const CameraConfig& config : rig.cameras) {
    CameraState* camera = find_camera(config.name);
    if (camera == nullptr) {
      added.push_back(config.name);
      add_camera(config);
    } else if (camera->retiring || !(camera->asked == config)) {
      changed.push_back(config.name);
      retire(*camera, config);
    }
  }
  return {{"added", added}, {"changed", changed}, {"removed", removed}};
}

}  // namespace campipe
