#include "app/supervisor/moving/balancer.h"

#include <algorithm>
#include <utility>

#include "app/config/rig_config.h"
#include "app/placement/wanted_nodes.h"
#include "app/supervisor/moving/move_rules.h"
#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/rig/source_waits.h"
#include "core/gpu.h"
#include "core/log.h"
#include "ipc/drop_causes.h"
#include "ipc/node_block.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

constexpr auto balance_interval = std::chrono::seconds(1);

}  // namespace

bool Balancer::is_wanted() const {
  return rig_.config->balance == Balance::automatic && rig_.phase == RunPhase::running &&
         processes_.count(ProcessKind::worker) > 1;
}

void Balancer::follow() {
  const auto now = Clock::now();
  if (now < next_look_) return;
  next_look_ = now + balance_interval;
  if (!is_wanted()) {
    policy_ = {};
    return;
  }
  const RigLoad rig = load();
  if (rig.workers.empty()) return;
  const BalancePolicy::Decision decision = policy_.look_at(rig, now);
  for (const std::string& stuck : decision.stuck) spdlog::warn("balance: {}", stuck);
  if (!decision.move) return;
  const auto& [name, from, to, reason] = *decision.move;
  Camera* const camera = rig_.cameras.find(name);
  if (camera == nullptr) return;
  const std::string refusal = moves_.begin(*camera, to, reason);
  if (!refusal.empty()) spdlog::warn("balance: {} is not moved to worker {}: {}", name, to, refusal);
}

RigLoad Balancer::load() {
  RigLoad load;
  add_workers(load);
  for (const Camera& camera : rig_.cameras.all()) {
    if (camera.is_at_work() && camera.uses_worker()) add_nodes(load, camera);
  }
  return load;
}

void Balancer::add_workers(RigLoad& load) {
  const CoreTimes idle = port_.read_idle_times();
  for (const ManagedProcess& process : processes_.all()) {
    if (!is_own_worker(process) || !process.child) continue;
    RigLoad::Worker& worker = load.workers.emplace_back();
    worker.number = process.number;
    worker.on_gpu = on_gpu(process.place.gpu);
    worker.cores = process.place.cpus.empty() ? rig_.machine.cpus : process.place.cpus;
    for (const unsigned core : worker.cores) {
      const auto found = idle.find(core);
      if (found != idle.end()) {
        worker.idle_s += found->second;
        continue;
      }
      if (!std::exchange(said_blind_, true))
        spdlog::warn("balance: no camera is moved, since the kernel does not report the idle time of core {}", core);
      load.workers.clear();
      return;
    }
  }
  load.most_cores = rig_.machine.limits.cores;
  if (!load.most_cores) return;
  load.used_s = port_.own_cpu_seconds();
  for (const ManagedProcess& process : processes_.all())
    load.used_s += process.cpu_s + (process.child ? process.child->cpu_seconds() : 0);
}

// By stage or by tile it has several; during a move the second one is not at work yet.
void Balancer::add_nodes(RigLoad& load, const Camera& camera) {
  const FrameCounts counts = count(camera, camera.own(), rig_.page);
  for (const CameraNode& node : camera.nodes) {
    if (node.done || (camera.move && node.id == camera.move->to)) continue;
    RigLoad::Camera& its = load.cameras.emplace_back();
    its.name = camera.name();
    its.node = node.id;
    its.worker = node.worker;
    its.stays = why_it_stays(camera);
    if (its.stays.empty()) its.others = others_for(camera);
    its.busy = camera.move.has_value();
    its.cpu_s = static_cast<double>(rig_.page.node(node.id, node.process()).thread.cpu_time.load()) / 1e9;
    its.came = counts.decoded - counts.dropped_for(DropCause::shed);
    its.late = counts.dropped_for(DropCause::queue_full);
    its.takes_rest = !camera.is_mosaic() && !keeps_time(camera.config->source);
    if (node.gpu != "cpu") its.gpu = rig_.weights.of(*camera.config, rig_.machine, rig_.costs, rig_.streams).gpu;
    if (camera.is_mosaic() || !may_wait(camera)) continue;
    its.source_waits = source_waits(camera);
    const auto stream = rig_.streams.find(camera.name());
    if (stream != rig_.streams.end()) its.rate = stream->second.rate;
  }
}

std::string Balancer::why_it_stays(const Camera& camera) const {
  if (camera.is_staged()) return "it is processed by stage or by tile";
  if (std::string why = never_moved(camera, camera.nodes.front()); !why.empty()) return why;
  if (camera.config->placement) return "its configuration says where it runs (placement)";
  if (!is_choice(camera.asked->gpu)) return "its configuration says where it runs (gpu)";
  if (camera.last_move && camera.last_move->by_user) return "somebody has moved it there";
  if (!camera.is_mosaic() && !keeps_time(camera.config->source)) return "it is a file that is read as fast as it goes";
  return "";
}

std::vector<unsigned> Balancer::others_for(const Camera& camera) {
  std::vector<unsigned> others;
  const CameraNode& node = camera.nodes.front();
  for (const ManagedProcess& process : processes_.all()) {
    if (!is_own_worker(process) || !process.child || process.number == node.worker) continue;
    const bool same_kind = on_gpu(process.place.gpu) == (node.gpu != "cpu");
    if (same_kind && why_unreadable(rig_, camera, node, process).empty()) others.push_back(process.number);
  }
  return others;
}

}  // namespace campipe
