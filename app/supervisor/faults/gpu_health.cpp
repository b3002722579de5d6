#include "app/supervisor/faults/gpu_health.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace campipe {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Processes that lose it so often have it leave, whatever its checks say: twice within a short time, or three times
// within a longer one. The first of these bounds how long cameras can be without frames.
constexpr auto short_window = seconds(10);
constexpr std::size_t most_in_short_window = 2;
constexpr auto long_window = seconds(60);
constexpr std::size_t most_in_long_window = 3;
constexpr auto on_trial = seconds(60);  // after it has come back: then one loss is enough

constexpr auto first_wait = seconds(10);
constexpr auto longest_check_wait = minutes(5);
constexpr auto good_time = minutes(10);  // here for so long: what was before is forgotten
constexpr unsigned enough_good_checks = 3;
constexpr auto between_good_checks = seconds(1);

double seconds_of(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

const char* name_of(GpuHealth::State state) {
  switch (state) {
    case GpuHealth::State::here:
      return "here";
    case GpuHealth::State::suspected:
      return "suspected";
    case GpuHealth::State::gone:
      return "gone";
    case GpuHealth::State::returning:
      return "returning";
  }
  return "";
}

GpuHealth::Known& GpuHealth::known(const Device& device) {
  const auto found = std::ranges::find(gpus_, device, [](const Known& gpu) { return gpu.gpu.device; });
  if (found != gpus_.end()) return *found;
  Known& added = gpus_.emplace_back();
  added.gpu.device = device;
  return added;
}

const GpuHealth::Known* GpuHealth::find(const Device& device) const {
  const auto found = std::ranges::find(gpus_, device, [](const Known& gpu) { return gpu.gpu.device; });
  return found != gpus_.end() ? &*found : nullptr;
}

bool GpuHealth::is_gone(const Device& device) const {
  const Known* gpu = find(device);
  return gpu != nullptr && (gpu->gpu.state == State::gone || gpu->gpu.state == State::returning);
}

bool GpuHealth::is_suspected(const Device& device) const {
  const Known* gpu = find(device);
  return gpu != nullptr && gpu->gpu.state == State::suspected;
}

std::vector<GpuHealth::Gpu> GpuHealth::all() const {
  std::vector<Gpu> all;
  for (const Known& gpu : gpus_) all.push_back(gpu.gpu);
  return all;
}

void GpuHealth::become(Known& gpu, State state, const std::string& reason, Clock::time_point now) {
  if (gpu.gpu.state != state) gpu.gpu.since = now;
  gpu.gpu.state = state;
  gpu.gpu.reason = reason;
}

// Without those that were long ago.
bool GpuHealth::loses_again(const Known& gpu, Clock::time_point now) {
  if (gpu.losses.empty()) return false;
  const auto within = [&](Clock::duration window) {
    return static_cast<std::size_t>(
        std::ranges::count_if(gpu.losses, [&](Clock::time_point loss) { return now - loss <= window; }));
  };
  const bool is_on_trial = gpu.back && gpu.losses.back() - *gpu.back <= on_trial;
  return is_on_trial || within(short_window) >= most_in_short_window || within(long_window) >= most_in_long_window;
}

// Where what goes wrong moves along with the cameras, it is not the GPUs that are to blame.
bool GpuHealth::may_leave_against_check(const Known& gpu) const {
  return std::ranges::none_of(gpus_, [&](const Known& other) { return &other != &gpu && other.against_check; });
}

void GpuHealth::on_loss(const Device& device, const std::string& what, Clock::time_point now) {
  if (is_gone(device)) return;
  Known& gpu = known(device);
  const bool had_good_check = gpu.gpu.state == State::here && !gpu.losses.empty();
  gpu.losses.push_back(now);
  while (now - gpu.losses.front() > long_window) gpu.losses.pop_front();
  // It was checked a moment ago, and its check has no news to give.
  if (had_good_check && loses_again(gpu, now) && may_leave_against_check(gpu)) {
    return leave(gpu, fmt::format("{}, again and again, though a new process can use it", what), true, now);
  }
  suspect(gpu, what, now);
}

void GpuHealth::miss(const Device& device, const std::string& reason, Clock::time_point now) {
  become(known(device), State::gone, reason, now);
}

void GpuHealth::forget(const Device& device) {
  std::erase_if(gpus_, [&](const Known& gpu) { return gpu.gpu.device == device; });
}

void GpuHealth::on_hang(const Device& device, const std::string& what, Clock::time_point now) {
  if (!is_gone(device)) suspect(known(device), what, now);
}

void GpuHealth::suspect(Known& gpu, const std::string& what, Clock::time_point now) {
  become(gpu, State::suspected, what, now);
  if (!gpu.checking) gpu.next_check = now;
}

void GpuHealth::leave(Known& gpu, const std::string& reason, bool against_check, Clock::time_point now) {
  const bool was_good = !gpu.back || now - *gpu.back > good_time;
  gpu.wait = was_good ? first_wait : std::min<Clock::duration>(2 * gpu.wait, longest_check_wait);
  gpu.against_check = against_check;
  gpu.good_checks = 0;
  gpu.left = now;
  gpu.losses.clear();
  gpu.next_check = now + gpu.wait;
  become(gpu, State::gone, reason, now);
  due_.push_back({Step::What::leave, gpu.gpu.device, reason});
}

void GpuHealth::on_check(const Device& device, const std::string& problem, Clock::time_point now) {
  Known& gpu = known(device);
  gpu.checking = false;
  switch (gpu.gpu.state) {
    case State::here:
      return;
    case State::suspected:
      if (problem.empty()) return judge_good_check(gpu, now);
      return leave(gpu, gpu.gpu.reason + "; " + problem, false, now);
    case State::gone:
    case State::returning:
      if (problem.empty()) return on_good_check_while_gone(gpu, now);
      gpu.good_checks = 0;
      gpu.wait = std::min<Clock::duration>(2 * gpu.wait, longest_check_wait);
      gpu.next_check = now + gpu.wait;
      become(gpu, State::gone, problem, now);
  }
}

void GpuHealth::judge_good_check(Known& gpu, Clock::time_point now) {
  const bool other_may_be_cause = !may_leave_against_check(gpu);
  if (loses_again(gpu, now) && !other_may_be_cause)
    return leave(gpu, gpu.gpu.reason + ", again and again, though a new process can use it", true, now);
  if (other_may_be_cause) due_.push_back({Step::What::send_on, gpu.gpu.device, gpu.gpu.reason});
  become(gpu, State::here, "", now);
}

void GpuHealth::on_good_check_while_gone(Known& gpu, Clock::time_point now) {
  if (++gpu.good_checks < enough_good_checks) {
    gpu.next_check = now + between_good_checks;
    return become(gpu, State::returning, gpu.gpu.reason, now);
  }
  gpu.against_check = false;
  gpu.back = now;
  gpu.next_check.reset();
  become(gpu, State::here, "", now);
  due_.push_back({Step::What::come_back, gpu.gpu.device, fmt::format("after {:.0f} s", seconds_of(now - gpu.left))});
}

std::vector<GpuHealth::Step> GpuHealth::follow(Clock::time_point now) {
  for (Known& gpu : gpus_) {
    if (gpu.checking || !gpu.next_check || now < *gpu.next_check) continue;
    gpu.checking = true;
    gpu.next_check.reset();
    due_.push_back({Step::What::check, gpu.gpu.device, ""});
  }
  return std::exchange(due_, {});
}

}  // namespace campipe
