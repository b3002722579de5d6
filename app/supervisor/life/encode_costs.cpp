#include "app/supervisor/life/encode_costs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/config/rig_config.h"
#include "app/placement/rig_needs.h"
#include "app/supervisor/rig/accounting.h"
#include "core/log.h"
#include "ipc/drop_causes.h"
#include "ipc/node_block.h"

namespace campipe {
namespace {

constexpr auto window = std::chrono::seconds(1);
constexpr std::size_t enough = 30;
constexpr std::size_t most_samples = 60;
// Beyond these something else was measured.
constexpr double least_factor = 0.1;
constexpr double most_factor = 10;
constexpr double same = 0.05;  // a change of the factor that is no news

}  // namespace

void CoreSamples::add(double cores) {
  samples_.push_back(cores);
  if (samples_.size() > most_samples) samples_.pop_front();
}

std::optional<double> CoreSamples::p95() const {
  if (samples_.size() < enough) return std::nullopt;
  std::vector<double> sorted(samples_.begin(), samples_.end());
  std::ranges::sort(sorted);
  return sorted[static_cast<std::size_t>(0.95 * static_cast<double>(sorted.size() - 1))];
}

// Nothing: it is not measured now.
std::optional<EncodeCosts::Sums> EncodeCosts::sums_of(const Camera& camera) const {
  if (!camera.is_at_work() || camera.move || camera.nodes.size() != 1 || camera.shed != ShedStep::none)
    return std::nullopt;
  const CameraNode& node = camera.nodes.front();
  Sums sums{.node = node.id};
  sums.cpu_time = rig_.page.node(node.id, node.process()).thread.cpu_time.load();
  for (const Output& output : camera.outputs) {
    if (output.is_copy()) continue;
    const FrameCounts counts = count(camera, output, rig_.page);
    if (output.config.on_demand) {
      sums.for_viewers += counts.encoded;
    } else if (counts.encoded > sums.encoded) {
      sums.encoded = counts.encoded;
      sums.came = counts.decoded + counts.repeated;
      sums.dropped = counts.dropped_for(DropCause::queue_full);
    }
  }
  return sums;
}

// `seconds` since the last look. Of frames that found its queue full, it takes as long as of the others.
void EncodeCosts::look_at(const Camera& camera, double seconds) {
  const auto sums = sums_of(camera);
  if (!sums) {
    cameras_.erase(camera.id);
    return;
  }
  const auto [found, is_new] = cameras_.try_emplace(camera.id);
  Measured& measured = found->second;
  const Sums before = std::exchange(measured.before, *sums);
  const bool restarted = sums->cpu_time <= before.cpu_time || sums->came <= before.came ||
                         sums->dropped < before.dropped || sums->encoded <= before.encoded;
  if (is_new || sums->node != before.node || restarted || sums->for_viewers != before.for_viewers) return;
  const auto came = static_cast<double>(sums->came - before.came);
  const double done = came - static_cast<double>(sums->dropped - before.dropped);
  if (done <= 0) return;
  measured.cores.add(static_cast<double>(sums->cpu_time - before.cpu_time) / 1e9 / seconds * came / done);
  ++measured.new_samples;
}

// Returns whether that is news.
bool EncodeCosts::enter(const Camera& camera, Measured& measured) {
  if (measured.new_samples < enough) return false;
  const auto cores = measured.cores.p95();
  if (!cores) return false;
  measured.new_samples = 0;
  RigConfig alone;
  alone.worker_count = rig_.config->worker_count;
  alone.cameras = {*camera.config};
  const RigNeeds needs = find_needs(alone, plan(alone, rig_.machine), rig_.machine.devices, rig_.costs, rig_.streams);
  if (needs.cores.encode <= 0) return false;
  double& known = rig_.costs.encode_factors.try_emplace(camera.name(), 1).first->second;
  const double encode = *cores - needs.cores.filter - needs.cores.rest;
  const double factor = std::clamp(known * encode / needs.cores.encode, least_factor, most_factor);
  if (std::abs(factor - known) <= same * known) return false;
  spdlog::debug("{}: encoding takes {:.2f} cores, {:.2f} times what is predicted", camera.name(), encode, factor);
  known = factor;
  return true;
}

bool EncodeCosts::follow() {
  const auto now = Clock::now();
  if (now - looked_ < window) return false;
  const double seconds = std::chrono::duration<double>(now - looked_).count();
  looked_ = now;
  bool news = false;
  for (const Camera& camera : rig_.cameras.all()) {
    look_at(camera, seconds);
    if (const auto found = cameras_.find(camera.id); found != cameras_.end()) news |= enter(camera, found->second);
  }
  std::erase_if(cameras_, [this](const auto& known) {
    return std::ranges::none_of(rig_.cameras.all(), [&](const Camera& camera) { return camera.id == known.first; });
  });
  return news;
}

}  // namespace campipe
