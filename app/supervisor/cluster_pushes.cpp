#include "app/supervisor/cluster_pushes.h"

#include <algorithm>
#include <utility>

#include "ipc/publish_block.h"
#include "ipc/shared_block.h"

namespace campipe {
namespace {

bool pushes(const Output& output) { return !output.config.push.empty(); }

bool has_pushes(const Camera& camera) { return camera.takes_part() && std::ranges::any_of(camera.outputs, pushes); }

}  // namespace

messages::HoldPushes ClusterPushes::held() const {
  messages::HoldPushes message{number_, {}};
  for (const auto& [camera, since] : held_) message.cameras.push_back(camera);
  return message;
}

void ClusterPushes::send_setup(ManagedProcess& process) const { processes_.send(process, held()); }

void ClusterPushes::on(const messages::ClusterLease& lease) {
  lease_ = lease;
  may_ = {lease.may_push.begin(), lease.may_push.end()};
  for (const Camera& camera : rig_.cameras.all()) {
    if (has_pushes(camera)) allow(camera);
  }
}

// One that was given back and is wanted again has to be asked for again: a lease that was sent before does not count.
bool ClusterPushes::may_push(const std::string& camera) const {
  const auto runs = runs_.find(camera);
  const auto held = held_.find(camera);
  const bool is_asked_for = held != held_.end() && held->second <= lease_.held;
  return is_asked_for && runs != runs_.end() && runs->second && may_.contains(camera);
}

void ClusterPushes::allow(const Camera& camera) {
  const std::int64_t until = may_push(camera.name()) ? lease_.until : 0;
  for (const Output& output : camera.outputs) rig_.page.shared(output.id).push_until = until;
}

// A camera is held from before it may push until no push of it is open: what the page has of that counts only behind
// the permit's end.
void ClusterPushes::follow(const std::function<bool(const std::string& camera)>& runs) {
  runs_.clear();
  std::map<std::string, std::uint64_t> held;
  for (const Camera& camera : rig_.cameras.all()) {
    if (!has_pushes(camera)) continue;
    const bool is_own = runs_[camera.name()] = runs(camera.name());
    allow(camera);
    const bool is_open = std::ranges::any_of(camera.outputs, [&](const Output& output) {
      return pushes(output) && rig_.page.publish(output.id).pushing != 0;
    });
    if (!is_own && !is_open) continue;
    const auto before = held_.find(camera.name());
    held[camera.name()] = before == held_.end() ? number_ + 1 : before->second;
  }
  if (held == std::exchange(held_, held)) return;
  ++number_;
  processes_.send_to_all(ProcessKind::cluster, this->held());
}

}  // namespace campipe
