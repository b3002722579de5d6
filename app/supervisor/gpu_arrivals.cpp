#include "app/supervisor/gpu_arrivals.h"

#include <algorithm>
#include <utility>

#include "core/gpu.h"
#include "core/pretended_gpus.h"

namespace campipe {
namespace {

constexpr auto first_look = std::chrono::seconds(10);
constexpr auto longest_wait = std::chrono::minutes(5);
constexpr auto between_signs = std::chrono::seconds(2);
constexpr auto longest_probe = std::chrono::seconds(20);

Devices none(std::string problem) {
  Devices devices;
  devices.problem = std::move(problem);
  return devices;
}

}  // namespace

std::optional<Devices> GpuArrivals::look(Clock::time_point now) {
  if (!with_cuda && pretended_gpus() == 0) return std::nullopt;  // none ever comes
  look_at_signs(now);
  if (probe_) {
    auto found = probe_->look();
    if (found) probe_.reset();
    return found;
  }
  if (now < next_) return std::nullopt;
  next_ = now + wait_;
  wait_ = std::min<Clock::duration>(2 * wait_, longest_wait);
  if (!signs_->mps.empty()) return none(signs_->mps);
  try {
    probe_.emplace(longest_probe, mps_);
  } catch (const std::exception& error) {
    return none(error.what());
  }
  return std::nullopt;
}

void GpuArrivals::look_at_signs(Clock::time_point now) {
  if (now < next_signs_) return;
  next_signs_ = now + between_signs;
  Signs signs{find_gpu_files(), mps_problem(mps_)};
  if (!signs_) {
    wait_ = first_look;
    next_ = now + first_look;
  } else if (*signs_ != signs) {
    wait_ = first_look;
    next_ = now;
  }
  signs_ = std::move(signs);
}

void GpuArrivals::stop() {
  probe_.reset();
  signs_.reset();
  next_signs_ = {};
}

void GpuArrivals::add_waits(Waits& waits) const {
  if (probe_) probe_->add_waits(waits);
}

}  // namespace campipe
