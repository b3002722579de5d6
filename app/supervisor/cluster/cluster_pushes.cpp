#include "app/supervisor/cluster/cluster_pushes.h"

#include <algorithm>

#include "ipc/publish_block.h"
#include "ipc/shared_block.h"

namespace campipe {
namespace {

bool pushes(const Output& output) { return !output.config.push.empty(); }

bool has_pushes(const Camera& camera) { return camera.takes_part() && std::ranges::any_of(camera.outputs, pushes); }

}  // namespace

void ClusterPushes::send_setup(ManagedProcess& process) const { processes_.send(process, holds_.held()); }

void ClusterPushes::on(const messages::ClusterLease& lease) {
  holds_.on(lease);
  for (const Camera& camera : rig_.cameras.all()) {
    if (has_pushes(camera)) allow(camera);
  }
}

void ClusterPushes::allow(const Camera& camera) {
  const std::int64_t until = holds_.until(camera.name());
  for (const Output& output : camera.outputs) rig_.page.shared(output.id).push_until = until;
}

void ClusterPushes::follow(const std::function<bool(const std::string& camera)>& runs) {
  holds_.begin();
  for (const Camera& camera : rig_.cameras.all()) {
    if (!has_pushes(camera)) continue;
    const bool is_own = runs(camera.name());
    holds_.look(camera.name(), is_own);
    allow(camera);
    const bool is_open = std::ranges::any_of(camera.outputs, [&](const Output& output) {
      return pushes(output) && rig_.page.publish(output.id).pushing != 0;
    });
    if (is_own || is_open) holds_.hold(camera.name());
  }
  if (const auto held = holds_.end()) processes_.send_to_all(ProcessKind::cluster, *held);
}

}  // namespace campipe
