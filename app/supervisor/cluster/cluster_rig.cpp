#include "app/supervisor/cluster/cluster_rig.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/config/report.h"
#include "app/config/rig_config.h"
#include "app/control/message_dispatch.h"
#include "app/control/messages/links_found.h"
#include "app/control/messages/to_publisher.h"
#include "app/control/record_state.h"
#include "app/placement/link_offer.h"
#include "app/placement/missing_gpus.h"
#include "app/placement/mosaic_units.h"
#include "app/placement/node_amounts.h"
#include "app/supervisor/cluster/camera_duty.h"
#include "core/error.h"
#include "core/log.h"
#include "core/random_bytes.h"
#include "ipc/publish_block.h"

namespace campipe {
namespace {

using Seen = UnfitCameras::Seen;

constexpr auto offer_interval = std::chrono::seconds(5);
constexpr auto try_to_load_again = std::chrono::seconds(15);
constexpr auto try_again = std::chrono::seconds(5);
// Of a rig without groups: the names of files have seconds.
constexpr std::chrono::nanoseconds usual_clock_tolerance = std::chrono::seconds(1);
constexpr std::size_t longest_fence = 40;
constexpr std::int64_t longest_lease = 3'600'000'000'000;  // ns

std::uint32_t random_seed(Port& port) {
  std::uint32_t seed = 0;
  for (const unsigned char byte : port.random_bytes(sizeof seed)) seed = seed << 8U | byte;
  return seed;
}

// All that it records of itself has its first group of pictures in a file. Where nothing is recorded, or only what
// moves, it has to deliver.
bool is_recorded(const Camera& camera, const RigPage& page) {
  if (!camera.takes_part()) return true;
  if (camera.own().state != CameraState::running) return false;
  return std::ranges::all_of(camera.outputs, [&](const Output& output) {
    const auto& record = output.config.record;
    if (!record || record->when != RecordWhen::always || !output.recording.on) return true;
    const auto progress = load_record_progress(page.publish(output.id).record);
    return output.recording.writes() && progress && progress->recorded > 0;
  });
}

UnfitCameras::Seen seen_of(const Camera* camera) {
  if (camera == nullptr || camera->retiring) return Seen::not_here;
  const auto is_paused = [](const Output& output) { return !output.recording.paused.empty(); };
  if (std::ranges::any_of(camera->outputs, is_paused)) return Seen::paused;
  return camera->own().state == CameraState::running ? Seen::runs : Seen::not_here;
}

bool records(const Camera& camera) {
  return std::ranges::any_of(camera.outputs, [](const Output& output) { return output.config.record.has_value(); });
}

// It becomes a part of files' names.
bool is_fence(const std::string& text) {
  return !text.empty() && text.size() <= longest_fence && text.find_first_not_of("0123456789.") == std::string::npos;
}

bool is_starting(const Camera& camera) {
  return camera.takes_part() && !camera.retiring && camera.own().state == CameraState::starting;
}

// One that failed is not tried again by itself.
bool is_asked(const Camera& camera, const CameraConfig& config) {
  if (camera.retiring) return camera.successor && **camera.successor == config;
  return *camera.asked == config;
}

// The first one that the camera has; what stands in `defaults` all have.
std::string problem_in(const std::vector<ConfigError>& errors, const std::string& camera) {
  const auto is_its = [&](const ConfigError& error) {
    return error.path.starts_with("defaults") || error.path.starts_with(join_path("cameras", camera) + ".") ||
           error.path.starts_with(join_path("mosaics", camera) + ".");
  };
  const auto found = std::ranges::find_if(errors, is_its);
  return found != errors.end() ? found->message : "";
}

}  // namespace

ClusterRig::ClusterRig(RigState& rig, Processes& processes, CameraRoster& roster, Port& port,
                       std::function<void(const std::string&)> on_refused)
    : rig_(rig),
      processes_(processes),
      roster_(roster),
      start_(port.starter()),
      on_refused_(std::move(on_refused)),
      instance_(hex_of(port.random_bytes(16))),
      pacer_(random_seed(port)),
      pushes_(rig, processes) {}

messages::OfferNode ClusterRig::offer() const {
  nlohmann::json devices = to_json(without_awaited(rig_.machine.devices));
  if (links_found_) devices["links"] = to_json(link_offer(rig_.config->cluster->links, *links_found_));
  return {node_capacity(rig_.machine, rig_.costs), std::move(devices), is_unusable_, unfit_.names()};
}

bool ClusterRig::is_on() const { return rig_.config->cluster.has_value(); }

void ClusterRig::send_setup(ManagedProcess& process) {
  offered_ = offer();
  messages::JoinCluster join{*rig_.config->cluster, instance_, rig_.cluster_folder().string(),
                             rig_.options.text,     offered_,  {}};
  if (duties_) {
    for (const auto& [name, leaves] : *duties_) join.duties.push_back({name, rig_.fences.at(name)});
  }
  processes_.send(process, join);
  if (needs_) processes_.send(process, *needs_);
  pushes_.send_setup(process);
  processes_.send(process, recorded());
}

void ClusterRig::send_recorded() {
  for (const auto& [name, known] : cameras_) {
    if (rig_.cameras.find(name) != nullptr) continue;
    for (ResolvedOutput& output : resolved_outputs(*known.config)) {
      if (!output.record) continue;
      output.node = node_name(*rig_.config->cluster);
      processes_.send(processes_.publisher(), messages::DisabledCamera{std::move(output)});
    }
  }
}

void ClusterRig::on(const messages::ClusterRigWritten& written) {
  if (written.file != rig_.cluster_rig_file().string() || written.revision < 0)
    throw BadMessage("a rig in a file that it was not given");
  if (written.revision != loaded_) newest_ = written.revision;
}

void ClusterRig::on(const messages::ClusterDuties& duties) {
  for (const auto& duty : duties.cameras) {
    if (!is_fence(duty.fence)) throw BadMessage("a fence that is none");
  }
  duties_.emplace();
  for (const auto& duty : duties.cameras) {
    duties_->emplace(duty.camera, duty.leaving);
    take_fence(duty.camera, duty.fence);
  }
  std::erase_if(failed_, [this](const auto& failed) { return !duties_->contains(failed.first); });
}

void ClusterRig::take_fence(const std::string& name, const std::string& fence) {
  std::string& known = rig_.fences[name];
  if (std::exchange(known, fence) == fence) return;
  const Camera* const camera = rig_.cameras.find(name);
  if (camera == nullptr) return;
  for (const Output& output : camera->outputs) {
    processes_.send_to_publisher(*camera, output, messages::RecordUnder{output.id, fence});
  }
}

void ClusterRig::on(const messages::ClusterLease& lease) {
  if (lease.until > now_ns() + longest_lease) throw BadMessage("a lease that is longer than there can be");
  was_member_ = true;
  lease_until_ = lease.until;
  pushes_.on(lease);
}

// Before it was a member, nothing of it has run.
void ClusterRig::on(const messages::NodeNameTaken& taken) {
  duties_.emplace();
  failed_.clear();
  if (!was_member_) return on_refused_(taken.reason);
  spdlog::error("{}; its cameras are stopped here", taken.reason);
}

void ClusterRig::follow() {
  if (!is_on() || rig_.phase != RunPhase::running) return;
  follow_load();
  follow_links();
  follow_unfit();
  follow_capacity();
  follow_cameras();
  follow_recordings();
  pushes_.follow([this](const std::string& camera) { return duties_ && duties_->contains(camera); });
}

// Once: for the node's offer, with which others see what there could be.
void ClusterRig::follow_links() {
  if (links_found_) return;
  try {
    if (!link_check_) link_check_ = std::make_unique<LinkCheck>(start_);
    links_found_ = link_check_->look();
  } catch (const Error& error) {
    links_found_ = messages::LinksFound{"", error.what(), {}};
  }
  if (!links_found_) return;
  link_check_.reset();
  next_offer_ = {};
}

// The others hear of it at once: meanwhile nothing of the camera is recorded.
void ClusterRig::follow_unfit() {
  const auto now = Clock::now();
  const std::vector<std::string> before = unfit_.names();
  for (const auto& [name, known] : cameras_) {
    const bool cannot_run = !known.problem.empty() || failed_.contains(name);
    unfit_.look(name, cannot_run ? Seen::cannot_run : seen_of(rig_.cameras.find(name)), now);
  }
  unfit_.keep([this](const std::string& camera) { return cameras_.contains(camera); });
  if (unfit_.names() != before) next_offer_ = {};
}

// GPUs may be gone, or here again.
void ClusterRig::follow_capacity() {
  const auto now = Clock::now();
  if (now < next_offer_) return;
  next_offer_ = now + offer_interval;
  messages::OfferNode newest = offer();
  if (newest == offered_) return;
  offered_ = std::move(newest);
  processes_.send_to_all(ProcessKind::cluster, offered_);
}

void ClusterRig::follow_load() {
  if (load_) {
    auto loaded = load_->look();
    if (!loaded) return;
    load_.reset();
    loaded_ = loading_;
    take(std::move(*loaded));
  }
  // Somebody may have mended it, or what was missing has come.
  const bool may_be_better = is_unusable_ || !conditions_.empty() || awaits_ != awaited();
  if (!newest_ && may_be_better && Clock::now() >= load_again_) newest_ = loaded_;
  if (!newest_) return;
  load_ = std::make_unique<LoadProcess>(LoadJob{rig_.cluster_rig_file()}, start_);
  loading_ = *std::exchange(newest_, std::nullopt);
}

std::string ClusterRig::describe(const std::vector<ConfigError>& errors) const {
  std::string text;
  for (const ConfigError& error : errors)
    text += (text.empty() ? "" : "; ") + format(error, rig_.cluster_rig_file().string());
  return text;
}

std::size_t ClusterRig::awaited() const {
  return static_cast<std::size_t>(std::ranges::count_if(rig_.machine.devices.gpus, &Gpu::awaited));
}

// A rig that cannot be used here changes nothing: what runs goes on as it was, until another node has taken it.
void ClusterRig::take(LoadedConfig loaded) {
  load_again_ = Clock::now() + try_to_load_again;
  const std::string problem = describe(loaded.errors);
  if (!problem.empty() && problem != std::exchange(problem_, problem))
    spdlog::error("the cluster's rig cannot be used on this node, and is tried again: {}", problem);
  const bool was_unusable = std::exchange(is_unusable_, !problem.empty());
  if (is_unusable_ || was_unusable) next_offer_ = {};
  if (is_unusable_) return;
  problem_.clear();
  const std::string conditions = describe(loaded.conditions);
  const bool is_known = taken_ == loaded_ && conditions == conditions_ && awaits_ == awaited();
  if (is_known) return;
  if (!conditions.empty() && conditions != conditions_)
    spdlog::warn("not on this node now, which leaves it to others: {}", conditions);
  conditions_ = conditions;
  taken_ = loaded_;
  next_offer_ = {};
  add_missing_gpus(rig_.machine.devices, loaded.rig);
  awaits_ = awaited();
  cameras_.clear();
  failed_.clear();
  needs_.emplace();
  std::map<std::string, std::string> units = mosaic_units(loaded.rig.cameras);
  const std::string own = node_name(*rig_.config->cluster);
  std::map<std::string, std::vector<RemotePart>> parts;
  for (CameraConfig& camera : loaded.rig.cameras) {
    parts[camera.name] = remote_parts(camera);
    std::erase_if(parts[camera.name], [&](const RemotePart& part) { return part.at.node != own; });
    make_own_places_local(camera, own);
  }
  const std::vector<ConfigError> missing = loaded.conditions;
  each_camera_alone(std::move(loaded), [&](const LoadedConfig& one) {
    const CameraConfig& config = one.rig.cameras.front();
    const GpuFindings found = check_gpus(one, rig_.machine);
    std::string obstacle = problem_in(missing, config.name);
    for (const auto* const errors : {&found.conditions, &found.mistakes}) {
      if (!errors->empty()) obstacle = errors->front().message;
    }
    std::vector<NodeAmounts> ways;
    if (obstacle.empty()) ways = camera_ways(one, rig_.machine, rig_.costs, rig_.streams);
    needs_->cameras.push_back({config.name, config.priority, std::move(ways), units[config.name]});
    cameras_[config.name] = {config, std::move(obstacle), std::move(parts[config.name])};
  });
  spdlog::info("the cluster's rig has {} cameras", cameras_.size());
  processes_.send_to_all(ProcessKind::cluster, *needs_);
  send_recorded();
}

std::map<std::string, const CameraConfig*> ClusterRig::wanted(Clock::time_point now) const {
  std::map<std::string, const CameraConfig*> cameras;
  for (const auto& [name, leaves] : *duties_) {
    const auto known = cameras_.find(name);
    if (known == cameras_.end()) continue;  // a newer rig comes
    const CameraDuty duty = camera_duty(leaves, known->second.config->on_partition, to_ns(now), lease_until_);
    if (duty == CameraDuty::run) cameras.emplace(name, &*known->second.config);
    const Camera* const camera = duty == CameraDuty::go_on ? rig_.cameras.find(name) : nullptr;
    if (camera != nullptr && !camera->retiring) cameras.emplace(name, &*camera->asked);
  }
  return cameras;
}

std::chrono::nanoseconds ClusterRig::clock_tolerance() const {
  std::chrono::nanoseconds tightest = usual_clock_tolerance;
  for (const auto& [name, known] : cameras_) {
    if (known.config->group) tightest = std::min(tightest, known.config->group->tolerance);
  }
  return tightest;
}

std::vector<const CameraConfig*> ClusterRig::mosaics_across_nodes() const {
  std::vector<const CameraConfig*> mosaics;
  for (const auto& [name, known] : cameras_) {
    const CameraConfig& config = *known.config;
    if (config.mosaic && config.mosaic->across_nodes && config.enabled) mosaics.push_back(&config);
  }
  return mosaics;
}

std::vector<ClusterRig::GuestPart> ClusterRig::guest_parts() const {
  std::vector<GuestPart> parts;
  for (const auto& [name, known] : cameras_) {
    if (!known.config->enabled) continue;
    for (const RemotePart& part : known.parts) parts.push_back({&*known.config, &part});
  }
  return parts;
}

messages::RecordedCameras ClusterRig::recorded() const {
  messages::RecordedCameras message;
  for (const auto& [camera, fence] : recorded_) message.cameras.push_back({camera, fence});
  message.has_files = has_files_;
  return message;
}

// Once under a fence is enough: then the node that had the camera before need not go on.
void ClusterRig::follow_recordings() {
  if (!duties_) return;
  std::map<std::string, std::string> recorded;
  bool has_files = has_files_;
  for (const auto& [name, leaves] : *duties_) {
    const std::string& fence = rig_.fences.at(name);
    const auto before = recorded_.find(name);
    const bool was_recorded = before != recorded_.end() && before->second == fence;
    const Camera* const camera = rig_.cameras.find(name);
    if (was_recorded || (camera != nullptr && !camera->retiring && is_recorded(*camera, rig_.page)))
      recorded[name] = fence;
    has_files = has_files || (camera != nullptr && records(*camera));
  }
  const bool is_same = recorded == recorded_ && has_files == has_files_;
  recorded_ = std::move(recorded);
  has_files_ = has_files;
  if (is_same) return;
  processes_.send_to_all(ProcessKind::cluster, this->recorded());
}

const char* ClusterRig::why_not(const std::string& camera) const {
  if (!cameras_.contains(camera)) return "is not in the cluster's rig any more";
  const auto duty = duties_->find(camera);
  if (duty == duties_->end()) return "is not this node's any more";
  if (duty->second) return "is another node's by now";
  return "stopped, since etcd has not said for too long that it is this node's";
}

void ClusterRig::follow_cameras() {
  if (!duties_ || !loaded_ || cameras_.empty()) return;
  const auto now = Clock::now();
  const auto cameras = wanted(now);
  for (Camera& camera : rig_.cameras.all()) {
    if (cameras.contains(camera.name()) || camera.is_removed()) continue;
    spdlog::info("{}: {}", camera.name(), why_not(camera.name()));
    roster_.retire(camera, std::nullopt);
  }
  std::vector<std::pair<int, std::string>> waiting;
  for (const auto& [name, config] : cameras) {
    Camera* const camera = rig_.cameras.find(name);
    if (camera == nullptr) {
      waiting.emplace_back(-config->priority, name);
    } else if (!is_asked(*camera, *config)) {
      roster_.change(*camera, *config);
    }
  }
  std::ranges::sort(waiting);
  std::vector<std::string> names;
  for (auto& [priority, name] : waiting) names.push_back(std::move(name));
  start_waiting(std::move(names), now);
}

void ClusterRig::start_waiting(std::vector<std::string> waiting, Clock::time_point now) {
  std::erase_if(waiting, [&](const std::string& name) {
    const auto failed = failed_.find(name);
    return failed != failed_.end() && now < failed->second.again;
  });
  const auto starting = static_cast<std::size_t>(std::ranges::count_if(rig_.cameras.all(), is_starting));
  for (const std::string& name : pacer_.look(waiting, starting, now).start) {
    const Known& known = cameras_.at(name);
    try_to(name, [&] {
      if (!known.problem.empty()) throw Error(known.problem);
      roster_.require_room({&*known.config, 1});
      roster_.add(*known.config);
    });
  }
}

// What cannot run here now may later, when there is room; of the same reason one line is enough.
void ClusterRig::try_to(const std::string& camera, const std::function<void()>& act) {
  try {
    act();
    failed_.erase(camera);
  } catch (const std::exception& error) {
    Failed& failed = failed_[camera];
    if (failed.reason != error.what()) spdlog::error("{}: cannot run on this node: {}", camera, error.what());
    failed = {error.what(), Clock::now() + try_again};
  }
}

}  // namespace campipe
