#include "app/costs/filter_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/error.h"
#include "kernels/motion_rule.h"
#include "stages/filters/filter_sequence.h"

namespace campipe {
namespace {

constexpr double motion_ms = 45;  // frames that are closer together are not analyzed (stages/filters/motion.cpp)

double parameter_of(const FilterConfig& filter, std::string_view name) {
  const auto found = filter.parameters.find(name);
  return found == filter.parameters.end() ? 0 : found->second;
}

// How many times the side of what is scaled shrinks; less than 1: it grows.
double scale_of(const FrameFormat& in, const FrameFormat& out, bool keeps_shape) {
  const double across = static_cast<double>(in.width) / std::max(out.width, 1);
  const double down = static_cast<double>(in.height) / std::max(out.height, 1);
  return keeps_shape ? std::max(across, down) : std::sqrt(across * down);
}

double motion_share(double rate) { return 1 / std::ceil(motion_ms * (rate > 0 ? rate : assumed_rate) / 1000); }

FilterParameters size_parameters(const FrameFormat& in, double scale) {
  const auto side = [scale](int of) { return std::clamp(2 * std::round(of / scale / 2), 16.0, 8192.0); };
  return {{"width", side(in.width)}, {"height", side(in.height)}};
}

// From just above 1 and 3 on scalers take more samples for each one that they make (stages/filters/scaler.cpp); 2.9, as
// sizes are rounded.
constexpr std::array scales{0.5, 1.0, 1.05, 1.5, 2.0, 2.4, 2.9, 3.1, 4.0, 6.0};
// A GPU has another kernel from just above 6.7 and 11.2 on (kernels/blur.cu, shapes). Nearer ones would be one curve.
constexpr std::array sigmas{0.4, 1.5, 3.0, 6.7, 6.8, 11.1, 11.3, 20.0};
constexpr std::array patches{3.0, 5.0, 7.0};
constexpr std::array windows{3.0, 9.0, 15.0};

std::vector<FilterParameters> crop_parameters(const FrameFormat& in) {
  const auto part = [&](int of) {
    return FilterParameters{{"x", 0}, {"y", 0}, {"width", in.width / of}, {"height", in.height / of}};
  };
  return {part(4), part(2), part(1)};
}

std::vector<FilterParameters> each_of(const char* name, std::span<const double> values) {
  std::vector<FilterParameters> all;
  for (const double value : values) all.push_back({{name, value}});
  return all;
}

std::vector<FilterParameters> unknown_parameters(const FilterInfo& filter) {
  FilterParameters parameters;
  for (const ParameterInfo& info : filter.parameters) {
    const double step = info.multiple > 1 ? info.multiple : 2;
    double middle = info.fallback.value_or((info.min + info.max) / 2);
    if (!info.fallback && (info.whole || info.odd)) middle = std::floor(middle / step) * step + (info.odd ? 1 : 0);
    parameters[std::string(info.name)] = std::clamp(middle, info.min, info.max);
  }
  return {parameters};
}

}  // namespace

Work filter_work(const FilterConfig& filter, const FrameFormat& in, const FrameFormat& out, double rate) {
  const auto whole = [&](std::string_view name) { return static_cast<int>(parameter_of(filter, name)); };
  Work work{filter.name, megapixels(in)};
  if (filter.name == "blur") {
    work.parameter = parameter_of(filter, "sigma");
  } else if (filter.name == "denoise") {
    work.name = fmt::format("denoise/{}", whole("patch"));
    work.parameter = std::pow(parameter_of(filter, "window"), 2);
  } else if (filter.name == "resize" || filter.name == "fit") {
    work.parameter = scale_of(in, out, filter.name == "fit");
  } else if (filter.name == "undistort") {
    // What is read twice depends on what it corrects. Never negative.
    work.parameter = 10 + parameter_of(filter, "k1");
  } else if (filter.name == "crop") {
    work.megapixels = megapixels(out);
  } else if (filter.name == "rotate") {
    work.name = whole("angle") == 180 ? "rotate/180" : "rotate/90";
  } else if (filter.name == "motion") {
    work.name = fmt::format("motion/{}", motion_cell_side(in.height));
    work.share = motion_share(rate);
  } else {
    work.megapixels = std::max(megapixels(in), megapixels(out));
  }
  return work;
}

std::vector<Work> chain_work(const std::vector<FilterConfig>& filters, const FrameFormat& in, double rate,
                             FrameFormat* out) {
  FilterSequence sequence(filters);
  const auto formats = sequence.configure(in);
  std::vector<Work> all;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const FilterConfig complete{filters[i].name,
                                complete_parameters(known_filter(filters[i].name), filters[i].parameters)};
    all.push_back(filter_work(complete, formats[i], formats[i + 1], rate));
  }
  if (out != nullptr) *out = formats.back();
  return all;
}

std::vector<FilterParameters> probed_parameters(const FilterInfo& filter, const FrameFormat& in) {
  std::vector<FilterParameters> all;
  if (filter.name == "blur") {
    all = each_of("sigma", sigmas);
  } else if (filter.name == "denoise") {
    for (const double patch : patches)
      for (const double window : windows) all.push_back({{"patch", patch}, {"window", window}});
  } else if (filter.name == "resize" || filter.name == "fit") {
    for (const double scale : scales) {
      if (in.width / scale > 8192 || in.height / scale > 8192) continue;
      all.push_back(size_parameters(in, scale));
      if (filter.name == "fit") all.back()["height"] += 4;  // bars above and below are a step of their own
    }
  } else if (filter.name == "crop") {
    all = crop_parameters(in);
  } else if (filter.name == "rotate") {
    all = {{{"angle", 90}}, {{"angle", 180}}};
  } else if (filter.name == "color") {  // what changes nothing is quicker
    all = {{{"brightness", 0.1}, {"contrast", 1.2}, {"saturation", 1.5}, {"gamma", 1.4}}};
  } else if (filter.name == "undistort") {
    all = {{{"k1", -0.28}, {"k2", 0.07}, {"p1", 0.001}, {"p2", -0.0005}}, {{"k1", 0.12}, {"k2", 0.01}}};
  } else {
    all = unknown_parameters(filter);
  }
  for (FilterParameters& parameters : all) parameters = complete_parameters(filter, parameters);
  return all;
}

}  // namespace campipe
