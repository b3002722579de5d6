// Measures what filters, decoders, encoders and copies cost on this machine, for app/costs. Takes about a minute for
// each device, which should do nothing else meanwhile.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "app/costs/cost_table.h"
#include "app/costs/filter_work.h"
#include "core/frame.h"

namespace campipe {

using ReportProgress = std::function<void(const std::string& what)>;

// `key`: as cpu_key() and gpu_key() say. Throw Error.
DeviceCosts measure_cpu(const CostKey& key, const ReportProgress& progress);
// CUDA only.
DeviceCosts measure_gpu(const CostKey& key, const Device& gpu, const ReportProgress& progress);

// What is predicted of something that was not measured, and what it takes.
struct CostComparison {
  std::string what;
  double predicted_us = 0;
  double measured_us = 0;
  // How many times as long as the shorter the longer is.
  [[nodiscard]] double factor() const;
};
std::vector<CostComparison> compare_cpu(const DeviceCosts& costs, const ReportProgress& progress);
// CUDA only.
std::vector<CostComparison> compare_gpu(const DeviceCosts& costs, const Device& gpu, const ReportProgress& progress);

// ---- What the measurements of both kinds of device have in common

std::span<const FrameFormat> probed_filter_sizes();
std::span<const FrameFormat> probed_codec_sizes();
// Chains, sizes and codecs to compare; none of these sizes is measured.
struct ComparedChain {
  std::string what;
  std::vector<FilterConfig> filters;
  FrameFormat in;
};
std::vector<ComparedChain> compared_chains();
std::span<const FrameFormat> compared_codec_sizes();
// Frames are analyzed for motion each time: they come slowly enough.
inline constexpr double compared_rate = 20;

// Adds the times of each filter of the registry, by `time_of`, at each size; of one that takes long no larger ones. All
// of it twice, since virtual machines are slow for seconds at times: so often, and not more often in a row, it is
// measured.
inline constexpr int measured_passes = 2;
void measure_filters(DeviceCosts& costs, const ReportProgress& progress,
                     const std::function<double(const FilterConfig&, const FrameFormat&)>& time_of);
// The same of compared_chains().
std::vector<CostComparison> compare_chains(
    const DeviceCosts& costs, const ReportProgress& progress,
    const std::function<double(const std::vector<FilterConfig>&, const FrameFormat&)>& time_of);
std::string size_text(const FrameFormat& format);
std::string utc_text_of_now();

}  // namespace campipe
