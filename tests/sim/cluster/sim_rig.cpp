#include "tests/sim/cluster/sim_rig.h"

#include <algorithm>
#include <utility>

namespace campipe::sim {
namespace {

using namespace std::chrono_literals;
using Seen = UnfitCameras::Seen;

constexpr Span turn_interval = 100ms;
constexpr Span shortest_camera_start = 100ms;
constexpr Span longest_camera_start = 900ms;
constexpr Span source_again = 500ms;
constexpr Span longest_group = 1s;  // of pictures
constexpr Span longest_close = 300ms;
constexpr Span run_again = 5s;
constexpr Span push_closes = 200ms;

}  // namespace

SimRig::SimRig(World& world, const std::vector<CameraSpec>& rig, const Machine& machine, Out out)
    : world_(world),
      machine_(machine),
      out_(std::move(out)),
      supervisor_(world),
      camera_processes_(world),
      pacer_(static_cast<std::uint32_t>(world.random().next())) {
  set_rig(rig);
  turn();
}

void SimRig::set_rig(const std::vector<CameraSpec>& rig) {
  rig_.clear();
  for (const CameraSpec& camera : rig) rig_[camera.name] = camera;
}

void SimRig::end() {
  for (auto& [name, camera] : cameras_) retire(name);
  is_ending_ = true;
}

void SimRig::on(const messages::ClusterLease& lease) {
  was_member_ = true;
  lease_until_ = lease.until;
  holds_.on(lease);
  for (auto& [name, camera] : cameras_) allow(name, camera);
}

void SimRig::on(const messages::ClusterDuties& duties) {
  duties_.emplace();
  for (const auto& duty : duties.cameras) {
    duties_->emplace(duty.camera, duty.leaving);
    take_fence(duty.camera, duty.fence);
  }
  std::erase_if(failed_, [this](const auto& failed) { return !duties_->contains(failed.first); });
}

void SimRig::on(const messages::NodeNameTaken&) {
  duties_.emplace();
  failed_.clear();
  if (!was_member_) out_.refused();
}

void SimRig::take_fence(const std::string& name, const std::string& fence) {
  std::string& known = fences_[name];
  if (std::exchange(known, fence) == fence) return;
  const auto found = cameras_.find(name);
  if (found != cameras_.end() && found->second.state == Camera::State::running) out_.begins_to_write(name, fence);
}

NodeDuties SimRig::duties() const {
  NodeDuties duties;
  if (!duties_) return duties;
  for (const auto& [name, leaves] : *duties_) {
    if (const auto fence = read_fence(fences_.at(name))) duties[name] = {*fence};
  }
  return duties;
}

void SimRig::turn() {
  supervisor_.soon(turn_interval, [this] { turn(); });
  if (is_ending_) return;
  follow_unfit();
  follow_cameras();
  follow_recordings();
  follow_pushes();
}

void SimRig::follow_unfit() {
  const Time now = world_.now();
  for (const auto& [name, spec] : rig_) {
    const auto found = cameras_.find(name);
    const bool is_here = found != cameras_.end() && found->second.state == Camera::State::running;
    const Seen seen = failed_.contains(name) || machine_.cannot_run.contains(name) ? Seen::cannot_run
                      : !is_here                                                   ? Seen::not_here
                      : machine_.disk_is_full                                      ? Seen::paused
                                                                                   : Seen::runs;
    unfit_.look(name, seen, now);
  }
  unfit_.keep([this](const std::string& camera) { return rig_.contains(camera); });
  if (std::vector<std::string> names = unfit_.names(); names != unfit_sent_) {
    unfit_sent_ = names;
    out_.offer(std::move(names));
  }
}

void SimRig::follow_cameras() {
  if (!duties_) return;
  std::set<std::string> wanted;
  for (const auto& [name, leaves] : *duties_) {
    const auto known = rig_.find(name);
    if (known == rig_.end()) continue;
    const CameraDuty duty = camera_duty(leaves, known->second.on_partition, to_ns(world_.now()), lease_until_);
    const auto here = cameras_.find(name);
    const bool goes_on =
        duty == CameraDuty::go_on && here != cameras_.end() && here->second.state != Camera::State::retiring;
    if (duty == CameraDuty::run || goes_on) wanted.insert(name);
  }
  for (auto& [name, camera] : cameras_) {
    if (!wanted.contains(name) && camera.state != Camera::State::retiring) retire(name);
  }
  std::vector<std::pair<int, std::string>> waiting;
  for (const std::string& name : wanted) {
    const auto failed = failed_.find(name);
    const bool has_failed = failed != failed_.end() && world_.now() < failed->second;
    if (!cameras_.contains(name) && !has_failed) waiting.emplace_back(-rig_.at(name).priority, name);
  }
  std::ranges::sort(waiting);
  std::vector<std::string> names;
  for (auto& [priority, name] : waiting) names.push_back(std::move(name));
  const auto starting = static_cast<std::size_t>(std::ranges::count_if(
      cameras_, [](const auto& camera) { return camera.second.state == Camera::State::starting; }));
  for (const std::string& name : pacer_.look(names, starting, world_.now()).start) start(name);
}

void SimRig::start(const std::string& name) {
  if (machine_.cannot_run.contains(name)) {
    failed_[name] = world_.now() + run_again;
    return;
  }
  failed_.erase(name);
  cameras_[name] = {rig_.at(name)};
  const std::uint64_t number = start_of_[name] = ++starts_;
  camera_processes_.soon(world_.random().between(shortest_camera_start, longest_camera_start),
                         [this, name, number] { try_to_run(name, number); });
}

void SimRig::try_to_run(const std::string& name, std::uint64_t number) {
  const auto found = cameras_.find(name);
  if (found == cameras_.end() || start_of_[name] != number || found->second.state != Camera::State::starting) return;
  if (machine_.slow.contains(name))
    return camera_processes_.soon(source_again, [this, name, number] { try_to_run(name, number); });
  found->second.state = Camera::State::running;
  found->second.has_begun = true;
  out_.begins_to_write(name, fences_.at(name));
  camera_processes_.soon(world_.random().between(longest_group / 2, longest_group), [this, name, number] {
    const auto running = cameras_.find(name);
    const bool is_same = running != cameras_.end() && start_of_[name] == number;
    if (is_same && running->second.state == Camera::State::running) running->second.is_recorded = true;
  });
}

void SimRig::retire(const std::string& name) {
  cameras_.at(name).state = Camera::State::retiring;
  const std::uint64_t number = start_of_[name];
  camera_processes_.soon(world_.random().between(Span{0}, longest_close), [this, name, number] {
    if (start_of_[name] == number) cameras_.erase(name);
  });
}

void SimRig::follow_recordings() {
  if (!duties_) return;
  std::map<std::string, std::string> recorded;
  bool has_files = has_files_;
  for (const auto& [name, leaves] : *duties_) {
    const std::string& fence = fences_.at(name);
    const auto before = recorded_.find(name);
    const bool was_recorded = before != recorded_.end() && before->second == fence;
    if (was_recorded || (is_written_whole(name) && !machine_.disk_is_full)) recorded[name] = fence;
    has_files = has_files || cameras_.contains(name);
  }
  const bool is_same = recorded == recorded_ && has_files == has_files_;
  recorded_ = std::move(recorded);
  has_files_ = has_files;
  if (!is_same) out_.recorded(recorded_, has_files_);
}

// As ClusterPushes does.
void SimRig::allow(const std::string& name, Camera& camera) {
  if (!camera.spec.pushes) return;
  camera.push_until = holds_.until(name);
  if (camera.push_until > to_ns(world_.now()))
    camera.open_until = Time(std::chrono::nanoseconds(camera.push_until)) + push_closes;
}

void SimRig::follow_pushes() {
  holds_.begin();
  for (auto& [name, camera] : cameras_) {
    if (!camera.spec.pushes) continue;
    const bool is_own = duties_ && duties_->contains(name);
    holds_.look(name, is_own);
    const bool was_permitted = camera.push_until > to_ns(world_.now());
    allow(name, camera);
    // A push that loses its permit sends nothing more, and takes a moment to be closed.
    if (was_permitted && camera.push_until <= to_ns(world_.now())) camera.open_until = world_.now() + push_closes;
    const bool is_open = world_.now() < camera.open_until;
    if (is_own || is_open) holds_.hold(name);
  }
  if (const auto held = holds_.end()) out_.hold(*held);
}

std::map<std::string, std::string> SimRig::writers() const {
  std::map<std::string, std::string> all;
  for (const auto& [name, camera] : cameras_) {
    if (writes(name)) all[name] = fences_.at(name);
  }
  return all;
}

bool SimRig::writes(const std::string& name) const {
  const auto found = cameras_.find(name);
  return runs() && !machine_.disk_is_full && found != cameras_.end() && found->second.has_begun;
}

bool SimRig::is_written_whole(const std::string& name) const {
  const auto found = cameras_.find(name);
  return found != cameras_.end() && found->second.is_recorded && found->second.state == Camera::State::running;
}

bool SimRig::pushes(const std::string& name) const {
  const auto found = cameras_.find(name);
  return runs() && found != cameras_.end() && found->second.has_begun && found->second.push_until > to_ns(world_.now());
}

}  // namespace campipe::sim
