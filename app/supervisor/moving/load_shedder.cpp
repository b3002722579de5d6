#include "app/supervisor/moving/load_shedder.h"

#include <algorithm>
#include <set>
#include <vector>

#include "app/config/camera_config.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/nodes.h"
#include "app/supervisor/rig/accounting.h"
#include "core/clock.h"
#include "core/log.h"
#include "ipc/drop_causes.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

constexpr auto shed_interval = std::chrono::milliseconds(500);

// What is in step with others stays so; a file that is read as fast as it goes takes what is left in any case.
bool may_shed(const Camera& camera) {
  const CameraConfig& config = *camera.config;
  return !camera.is_mosaic() && !config.group && keeps_time(config.source) && encoded_outputs(config) > 0;
}

}  // namespace

// In a rig where all have one priority nobody can give way, and nothing is counted for it.
bool LoadShedder::may_change() const {
  const auto& cameras = rig_.cameras.all();
  return std::ranges::any_of(cameras, [&](const Camera& camera) {
    return camera.shed != ShedStep::none || camera.config->priority != cameras.front().config->priority;
  });
}

void LoadShedder::follow() {
  const auto now = Clock::now();
  if (now < next_look_ || rig_.phase != RunPhase::running) return;
  next_look_ = now + shed_interval;
  if (!may_change()) {
    policy_ = {};
    return;
  }
  std::vector<ShedPolicy::Load> loads;
  for (const Camera& camera : rig_.cameras.all()) {
    if (camera.is_at_work()) loads.push_back(load_of(camera));
  }
  for (const ShedPolicy::Change& asked : policy_.look_at(loads, now)) {
    Camera& camera = *rig_.cameras.find(asked.camera);
    change(camera, asked.step);
    if (!asked.late.empty()) {
      spdlog::warn("{}: gives way, its priority is {}: {} is late; {}", camera.name(), camera.config->priority,
                   asked.late, text_of(asked.step));
    } else if (asked.step != ShedStep::none) {
      spdlog::info("{}: has more again; {}", camera.name(), text_of(asked.step));
    } else {
      spdlog::info("{}: has all its frames again", camera.name());
    }
  }
}

void LoadShedder::turn_one_off(const std::vector<Camera*>& cameras) {
  std::vector<ShedPolicy::Load> loads;
  for (const Camera* camera : cameras)
    loads.push_back({camera->name(), "", camera->config->priority, camera->shed, may_shed(*camera)});
  const auto name = ShedPolicy::first_to_go(loads);
  if (!name) return;
  Camera& camera = *rig_.cameras.find(*name);
  change(camera, ShedStep::off);
  spdlog::warn("{}: gives way, its priority is {}: not all cameras fit where it runs; {}", camera.name(),
               camera.config->priority, text_of(ShedStep::off));
}

// Workers that are pinned share no cores.
ShedPolicy::Load LoadShedder::load_of(const Camera& camera) const {
  const CameraNode& node = camera.encoder_of(camera.own());
  const FrameCounts counts = count(camera, camera.own(), rig_.page);
  const bool own_cores = node.gpu == "cpu" && !processes_.worker(node.worker).place.cpus.empty();
  return {camera.name(),
          own_cores ? "worker " + std::to_string(node.worker) : node.gpu,
          camera.config->priority,
          camera.shed,
          may_shed(camera),
          counts.decoded - counts.dropped_for(DropCause::shed),
          counts.dropped_for(DropCause::queue_full),
          balancer_.may_relieve(node.worker)};
}

void LoadShedder::change(Camera& camera, ShedStep step) {
  const auto halves = [](ShedStep at) { return at >= ShedStep::half_size; };
  const bool other_size = halves(camera.shed) != halves(step);
  if (camera.shed == ShedStep::none) camera.shed_since = utc_now_ns();
  camera.shed = step;
  processes_.send_to_master(camera, messages::ShedCamera{camera.id, step});
  if (!other_size) return;
  std::set<NodeId> nodes;
  for (const Output& output : camera.outputs) {
    if (!output.is_copy()) nodes.insert(output.node);
  }
  if (camera.move) nodes.insert(camera.move->to);
  for (const NodeId id : nodes) {
    const CameraNode& node = camera.node(id);
    processes_.send_to_node(camera, node, messages::ShrinkNode{node.id, halves(step)});
  }
}

}  // namespace campipe
