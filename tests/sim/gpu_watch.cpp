#include "tests/sim/gpu_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace campipe::sim {
namespace {

constexpr auto longest_outage = seconds(15);  // 5 s are promised, and 3 s more where a check hangs; status comes late
constexpr auto first_wait = seconds(10);      // until a GPU that is gone is checked; then twice as long
constexpr unsigned most_doublings = 5;        // then it is 5 minutes
constexpr auto time_of_good_checks = seconds(8);  // three of them, and the way back

}  // namespace

void GpuWatch::on_absence(Clock::time_point until) {
  if (!first_absence_) first_absence_ = world_.now();
  back_ = std::max(back_, until);
  may_leave_ = true;
  changed_ = std::max(changed_, world_.now());
}

void GpuWatch::on_log(std::string_view line) {
  const bool leaves = line.find(" is gone: ") != std::string_view::npos;
  const bool returns = line.find(" is here ") != std::string_view::npos;
  if (!line.starts_with("GPU ") || (!leaves && !returns)) return;
  changed_ = world_.now();
  if (leaves && !may_leave_) world_.fail("a GPU is taken for gone that has nothing");
  if (leaves) ++failures_;
  world_.reached(leaves ? "a GPU is gone" : "a GPU is back");
}

void GpuWatch::on_status(const nlohmann::json& status) {
  for (const nlohmann::json& gpu : status.value("lost_gpus", nlohmann::json::array()))
    world_.reached("GPU " + gpu.at("state").get<std::string>());
  for (const auto& [name, camera] : status.at("cameras").items()) {
    if (camera.at("state") != "running") continue;
    const std::string place = camera.at("gpu");
    if (!first_absence_) places_.try_emplace(name, place);
    const auto first = places_.find(name);
    if (first != places_.end() && first->second != place) world_.reached("a camera runs on another device");
  }
}

Clock::time_point GpuWatch::delivers_at() const { return changed_ + longest_outage; }

// Each check waits for twice as long as the one before: for no longer than it has been away until then, but for the
// first wait, which is twice as long each time that it goes again.
nanoseconds GpuWatch::longest_return() const {
  return (back_ - *first_absence_ + first_wait) * (1U << std::min(failures_, most_doublings)) + time_of_good_checks;
}

void GpuWatch::require_back(const nlohmann::json& status, const nlohmann::json& config, bool moved) const {
  if (!first_absence_ || world_.now() < back_ + longest_return()) return;
  world_.reached("a GPU has to be back");
  if (status.contains("lost_gpus"))
    world_.fail("a GPU is not used, long after its return: " + status.at("lost_gpus").dump());
  for (const auto& [name, keys] : config.at("cameras").items()) {
    const nlohmann::json& shown = status.at("cameras").at(name);
    const auto first = places_.find(name);
    const bool is_named = keys.contains("gpu") && keys.at("gpu").is_number();
    const bool is_known = is_named || first != places_.end();
    if (moved || !is_known || shown.at("state") != "running") continue;
    const std::string wanted = is_named ? keys.at("gpu").dump() : first->second;
    if (shown.at("gpu") != wanted)
      world_.fail(fmt::format("{} runs on {}, long after the return of {}", name, shown.at("gpu").dump(), wanted));
  }
}

}  // namespace campipe::sim
