#include "app/costs/estimates.h"

#include <array>
#include <string_view>

namespace campipe {
namespace {

// For a million pixels, with common parameters: of an H200, and of one core of an AMD EPYC, as gpu_kernels_bench and
// filters_bench (case 0) measure them.
struct Estimate {
  std::string_view work;
  double gpu_us;  // 0: it is not done there
  double cpu_us;
};
constexpr std::array estimates{
    Estimate{"resize", 1.3, 460},
    Estimate{"fit", 1.5, 500},
    Estimate{"color", 1.3, 300},
    Estimate{"crop", 0.3, 30},
    Estimate{"sharpen", 1.5, 410},
    Estimate{"undistort", 2.6, 4800},
    Estimate{"rotate/90", 1.4, 410},
    Estimate{"rotate/180", 1.2, 200},
    Estimate{"deinterlace", 8.5, 1200},
    Estimate{"motion/4", 2, 250},
    Estimate{"motion/8", 2, 150},
    Estimate{"motion/16", 2, 120},
    // Of the hardware's decoders together.
    Estimate{"decode/h264", 90, 1900},
    Estimate{"decode/hevc", 80, 2500},
    Estimate{"decode/mjpeg", 250, 2200},
    Estimate{"decode/pattern", 0, 120},
    Estimate{"encode/libx264", 0, 9600},
    Estimate{"encode/libx265", 0, 70000},
    Estimate{"encode/mjpeg", 0, 4000},
    Estimate{"copy", 3.8, 250},
    Estimate{"upload", 30, 0},
    Estimate{"download", 30, 0},
};

// Work that depends on a parameter, at two values of it.
struct EstimateOfTwo {
  std::string_view work;
  double parameter;
  double gpu_us;
  double cpu_us;
};
constexpr std::array estimates_of_two{
    EstimateOfTwo{"blur", 1.5, 2.3, 740},    EstimateOfTwo{"blur", 15, 3.6, 4500},
    EstimateOfTwo{"denoise/3", 9, 9, 2600},  EstimateOfTwo{"denoise/3", 225, 213, 58700},
    EstimateOfTwo{"denoise/5", 9, 9, 2600},  EstimateOfTwo{"denoise/5", 225, 213, 58700},
    EstimateOfTwo{"denoise/7", 9, 11, 3200}, EstimateOfTwo{"denoise/7", 225, 260, 70000},
};

template <typename Take>
DeviceCosts estimated(const CostKey& key, const Take& take) {
  DeviceCosts costs{key, ""};
  const auto add = [&](std::string_view work, double parameter, double us) {
    if (us > 0) costs.at(std::string(work)).add(parameter, {1, us});
  };
  for (const Estimate& estimate : estimates) add(estimate.work, 0, take(estimate));
  for (const EstimateOfTwo& estimate : estimates_of_two) add(estimate.work, estimate.parameter, take(estimate));
  return costs;
}

}  // namespace

DeviceCosts estimated_cpu_costs(const CostKey& key) {
  return estimated(key, [](const auto& estimate) { return estimate.cpu_us; });
}

DeviceCosts estimated_gpu_costs(const CostKey& key) {
  DeviceCosts costs = estimated(key, [](const auto& estimate) { return estimate.gpu_us; });
  costs.at("color").merges = true;
  costs.at("crop").merges = true;
  return costs;
}

}  // namespace campipe
