#include "app/calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/utc_text.h"
#include "stages/filters/filter.h"

namespace campipe {
namespace {

constexpr double longest_us = 150'000;  // for a frame: of larger ones it is predicted

constexpr FrameFormat frames_of(int width, int height) {
  FrameFormat format;
  format.width = width;
  format.height = height;
  return format;
}

// Two at least of each side that motion's cells have.
constexpr std::array filter_sizes{frames_of(640, 360),  frames_of(848, 480),   frames_of(960, 540),
                                  frames_of(1280, 720), frames_of(1920, 1080), frames_of(2560, 1440),
                                  frames_of(3840, 2160)};
constexpr std::array codec_sizes{frames_of(640, 360), frames_of(1280, 720), frames_of(1920, 1080),
                                 frames_of(3840, 2160)};
constexpr std::array other_codec_sizes{frames_of(960, 540), frames_of(1600, 896), frames_of(2560, 1440)};

FilterConfig filter(std::string name, FilterParameters parameters = {}) {
  return {std::move(name), std::move(parameters)};
}

// An even number of pixels.
double part_of(int side, double part) { return 2 * std::floor(side * part / 2); }

FilterConfig scaled(const char* name, const FrameFormat& in, double by) {
  return filter(name, {{"width", part_of(in.width, by)}, {"height", part_of(in.height, by)}});
}

FilterConfig cut(const FrameFormat& in, double part) {
  return filter("crop",
                {{"x", 62}, {"y", 34}, {"width", part_of(in.width, part)}, {"height", part_of(in.height, part)}});
}

std::vector<std::vector<FilterConfig>> chains_for(const FrameFormat& in) {
  return {{filter("blur", {{"sigma", 0.8}})},
          {filter("blur", {{"sigma", 2.2}})},
          {filter("blur", {{"sigma", 9}})},
          {filter("sharpen", {{"amount", 0.7}})},
          {scaled("resize", in, 0.8)},
          {scaled("resize", in, 0.6)},
          {scaled("resize", in, 0.4)},
          {scaled("resize", in, 0.22)},
          {scaled("fit", in, 0.45)},
          {cut(in, 0.35)},
          {cut(in, 0.8)},
          {filter("color", {{"gamma", 1.4}, {"saturation", 1.3}})},
          {filter("undistort", {{"k1", 0.15}, {"k3", 0.02}})},
          {filter("denoise", {{"patch", 5}, {"window", 7}})},
          {filter("denoise", {{"patch", 3}, {"window", 11}})},
          {filter("rotate", {{"angle", 270}})},
          {filter("motion", {{"sensitivity", 70}})},
          {filter("deinterlace", {{"field", 1}})},
          {scaled("resize", in, 0.66), filter("blur", {{"sigma", 1.5}}), filter("sharpen", {{"amount", 1}})},
          {cut(in, 0.6), filter("color", {{"contrast", 1.2}}), filter("motion")}};
}

std::string describe(const std::vector<FilterConfig>& filters) {
  std::string text;
  for (const FilterConfig& one : filters) {
    text += (text.empty() ? "" : ", ") + one.name;
    for (const auto& [name, value] : one.parameters) text += fmt::format(" {}={:g}", name, value);
  }
  return text;
}

}  // namespace

std::span<const FrameFormat> probed_filter_sizes() { return filter_sizes; }
std::span<const FrameFormat> probed_codec_sizes() { return codec_sizes; }
std::span<const FrameFormat> compared_codec_sizes() { return other_codec_sizes; }

std::string size_text(const FrameFormat& format) { return fmt::format("{}x{}", format.width, format.height); }

std::string utc_text_of_now() {
  constexpr std::int64_t second = 1'000'000'000;
  return utc_text(utc_now_ns() / second * second);
}

double CostComparison::factor() const {
  return std::max(predicted_us, measured_us) / std::min(predicted_us, measured_us);
}

std::vector<ComparedChain> compared_chains() {
  std::vector<ComparedChain> all;
  for (const FrameFormat& in : {frames_of(1024, 576), frames_of(1600, 900), frames_of(3200, 1800)}) {
    for (const auto& filters : chains_for(in)) {
      // It takes long, and is linear.
      if (filters.front().name == "denoise" && in.height > 1080) continue;
      all.push_back({fmt::format("{}, {}", size_text(in), describe(filters)), filters, in});
    }
  }
  return all;
}

void measure_filters(DeviceCosts& costs, const ReportProgress& progress,
                     const std::function<double(const FilterConfig&, const FrameFormat&)>& time_of) {
  const auto filters = filter_registry();
  for (std::size_t turn = 0; turn < measured_passes * filters.size(); ++turn) {
    const FilterInfo& info = filters[turn % filters.size()];
    progress(fmt::format("filter {}", info.name));
    std::vector<std::string> too_long;  // works that took long at the size before
    for (const FrameFormat& in : probed_filter_sizes()) {
      for (const FilterParameters& parameters : probed_parameters(info, in)) {
        const FilterConfig config{std::string(info.name), parameters};
        const Work work = chain_work({config}, in, compared_rate).front();
        const std::string place = fmt::format("{} {}", work.name, work.parameter);
        if (std::ranges::find(too_long, place) != too_long.end()) continue;
        const double us = time_of(config, in);
        if (us > longest_us) too_long.push_back(place);
        costs.at(work.name).add(work.parameter, {work.megapixels, us});
      }
    }
  }
}

std::vector<CostComparison> compare_chains(
    const DeviceCosts& costs, const ReportProgress& progress,
    const std::function<double(const std::vector<FilterConfig>&, const FrameFormat&)>& time_of) {
  const std::vector<ComparedChain> chains = compared_chains();
  std::vector<CostComparison> all;
  for (std::size_t turn = 0; turn < measured_passes * chains.size(); ++turn) {
    const ComparedChain& chain = chains[turn % chains.size()];
    progress(chain.what);
    const double us = time_of(chain.filters, chain.in);
    if (turn < chains.size()) {
      const double predicted = chain_us(costs, chain_work(chain.filters, chain.in, compared_rate));
      all.push_back({"filter " + chain.what, predicted, us});
    } else {
      double& least = all[turn - chains.size()].measured_us;
      least = std::min(least, us);
    }
  }
  return all;
}

}  // namespace campipe
