#include "app/supervisor/moving/shed_policy.h"

#include <algorithm>
#include <tuple>

#include "app/supervisor/rig/source_waits.h"

namespace campipe {
namespace {

using std::chrono::seconds;
constexpr auto overload_window = seconds(2);
constexpr auto first_patience = seconds(15);
constexpr auto longest_patience = seconds(480);

ShedStep next(ShedStep step) { return static_cast<ShedStep>(static_cast<unsigned>(step) + 1); }
ShedStep before(ShedStep step) { return static_cast<ShedStep>(static_cast<unsigned>(step) - 1); }

using Loads = std::vector<const ShedPolicy::Load*>;

// The lowest gives way first, the highest comes back first.
auto rank(const ShedPolicy::Load& load) { return std::tie(load.priority, load.step, load.camera); }

// Null: nobody can give way any more.
const ShedPolicy::Load* next_to_shed(const Loads& loads) {
  const int highest = (*std::ranges::max_element(loads, {}, [](const auto* load) { return load->priority; }))->priority;
  const ShedPolicy::Load* found = nullptr;
  for (const ShedPolicy::Load* load : loads) {
    if (!load->may_shed || load->step == ShedStep::off || load->priority == highest) continue;
    if (found == nullptr || rank(*load) < rank(*found)) found = load;
  }
  return found;
}

const ShedPolicy::Load* next_to_return(const Loads& loads) {
  const ShedPolicy::Load* found = nullptr;
  for (const ShedPolicy::Load* load : loads) {
    if (load->step != ShedStep::none && (found == nullptr || rank(*load) > rank(*found))) found = load;
  }
  return found;
}

}  // namespace

std::vector<ShedPolicy::Change> ShedPolicy::look_at(const std::vector<Load>& loads, Clock::time_point now) {
  std::map<std::string, Loads> by_device;
  for (const Load& load : loads) by_device[load.device].push_back(&load);
  std::erase_if(devices_, [&](const auto& known) { return !by_device.contains(known.first); });
  std::vector<Change> changes;
  for (const auto& [name, of_device] : by_device) {
    const auto [known, is_new] = devices_.try_emplace(name, Device{now, {}, now, {}, first_patience});
    Device& device = known->second;
    if (is_new) begin_window(device, of_device, now);
    if (now - device.window < overload_window) continue;
    if (auto change = judge(device, of_device, now)) changes.push_back(std::move(*change));
    begin_window(device, of_device, now);
  }
  return changes;
}

std::optional<std::string> ShedPolicy::first_to_go(const std::vector<Load>& loads) {
  Loads all;
  for (const Load& load : loads) all.push_back(&load);
  const Load* first = all.empty() ? nullptr : next_to_shed(all);
  return first != nullptr ? std::optional(first->camera) : std::nullopt;
}

// A camera that came meanwhile, or another one under its name, has no window yet.
std::optional<ShedPolicy::Change> ShedPolicy::judge(Device& device, const Loads& loads, Clock::time_point now) {
  const auto is_late = [&](const Load* load) {
    const auto then = device.counted.find(load->camera);
    if (then == device.counted.end() || load->came < then->second.came || load->late < then->second.late) return false;
    return is_overload(load->late - then->second.late, load->came - then->second.came);
  };
  const auto late = std::ranges::find_if(loads, is_late);
  if (late != loads.end()) {
    device.quiet = now;
    if (device.undone && now - *device.undone < device.patience)
      device.patience = std::min<Clock::duration>(2 * device.patience, longest_patience);
    device.undone.reset();
    if ((*late)->may_move) return std::nullopt;
    const Load* shed = next_to_shed(loads);
    if (shed == nullptr) return std::nullopt;
    return Change{shed->camera, next(shed->step), (*late)->camera};
  }
  if (now - device.quiet < device.patience) return std::nullopt;
  device.quiet = now;
  const Load* back = next_to_return(loads);
  if (back == nullptr) {
    device.patience = first_patience;
    return std::nullopt;
  }
  device.undone = now;
  return Change{back->camera, before(back->step), ""};
}

void ShedPolicy::begin_window(Device& device, const Loads& loads, Clock::time_point now) {
  device.window = now;
  device.counted.clear();
  for (const Load* load : loads) device.counted.emplace(load->camera, Counted{load->came, load->late});
}

}  // namespace campipe
