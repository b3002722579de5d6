#include "app/supervisor/faults/gpu_arrivals.h"

#include <algorithm>
#include <utility>

namespace campipe {
namespace {

constexpr auto first_look = std::chrono::seconds(10);
constexpr auto longest_search_wait = std::chrono::minutes(5);
constexpr auto between_signs = std::chrono::seconds(2);
constexpr auto longest_search = std::chrono::seconds(20);

Devices none(std::string problem) {
  Devices devices;
  devices.problem = std::move(problem);
  return devices;
}

}  // namespace

std::optional<Devices> GpuArrivals::look(Clock::time_point now) {
  if (!port_.may_have_gpus()) return std::nullopt;  // none ever comes
  look_at_signs(now);
  if (search_) {
    auto found = search_->look();
    if (found) search_.reset();
    return found;
  }
  if (now < next_) return std::nullopt;
  next_ = now + wait_;
  wait_ = std::min<Clock::duration>(2 * wait_, longest_search_wait);
  if (!signs_->mps.empty()) return none(signs_->mps);
  try {
    search_ = port_.search_gpus(longest_search, mps_);
  } catch (const std::exception& error) {
    return none(error.what());
  }
  return std::nullopt;
}

void GpuArrivals::look_at_signs(Clock::time_point now) {
  if (now < next_signs_) return;
  next_signs_ = now + between_signs;
  GpuSigns signs = port_.look_for_gpu_signs(mps_);
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
  search_.reset();
  signs_.reset();
  next_signs_ = {};
}

void GpuArrivals::add_waits(Waits& waits) const {
  if (search_) search_->add_waits(waits);
}

}  // namespace campipe
