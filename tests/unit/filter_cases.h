// The parameters that tests and benchmarks try each filter with. A new filter is entered here: one that is not has no
// tests, and that fails them.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "stages/filters/filter.h"

namespace campipe {

inline std::vector<FilterParameters> crop_cases(const FrameFormat& in) {
  if (in.width < 16 || in.height < 16) return {};
  const int x = (in.width - 16) / 4 * 2;
  const int y = (in.height - 16) / 4 * 2;
  const auto whole = [](int value) { return static_cast<double>(value); };
  return {{{"x", 0}, {"y", 0}, {"width", whole(in.width)}, {"height", whole(in.height)}},
          {{"x", whole(x)}, {"y", whole(y)}, {"width", whole(in.width - x)}, {"height", whole(in.height - y)}},
          {{"x", whole(x / 4 * 2)}, {"y", 0}, {"width", whole(std::max(16, in.width / 2))}, {"height", 16}}};
}

inline std::vector<FilterParameters> resize_cases(const FrameFormat& in) {
  const auto scaled = [](int size, int by, int to) {
    return static_cast<double>(std::clamp(size * to / by, 16, 8192));
  };
  std::vector<FilterParameters> cases;
  for (const auto [by, to] : {std::array{3, 2}, {1, 1}, {7, 2}, {4, 5}})
    cases.push_back({{"width", scaled(in.width, by, to)}, {"height", scaled(in.height, by, to)}});
  return cases;
}

inline std::vector<FilterParameters> fit_cases(const FrameFormat& in) {
  const auto size = [](int width, int height, int level) {
    const auto allowed = [](int given) { return static_cast<double>(std::clamp(given / 2 * 2, 16, 8192)); };
    return FilterParameters{
        {"width", allowed(width)}, {"height", allowed(height)}, {"red", level}, {"green", 40}, {"blue", 120}};
  };
  return {size(2 * in.width, 2 * in.height, 0), size(in.width / 2, in.height, 255), size(in.width, in.height / 3, 7),
          size(in.width + 50, in.height + 10, 90)};
}

// For frames of `in`; none where the filter cannot take them. The first one changes a flat frame in nothing.
inline std::vector<FilterParameters> filter_cases(std::string_view name, const FrameFormat& in) {
  const auto color = [](double brightness, double contrast, double saturation, double gamma) {
    return FilterParameters{
        {"brightness", brightness}, {"contrast", contrast}, {"saturation", saturation}, {"gamma", gamma}};
  };
  const auto lens = [&](double k1, double k2, double p1, double p2, double k3, double focal, double off_centre) {
    const double centre_x = off_centre * in.width, centre_y = off_centre * in.height;
    return FilterParameters{{"k1", k1}, {"k2", k2},       {"p1", p1},
                            {"p2", p2}, {"k3", k3},       {"fx", focal * in.width},
                            {"fy", 0},  {"cx", centre_x}, {"cy", centre_y}};
  };
  if (name == "blur") return {{{"sigma", 1.5}}, {{"sigma", 0.4}}, {{"sigma", 6}}, {{"sigma", 20}}};
  if (name == "sharpen") return {{{"amount", 1}}, {{"amount", 0}}, {{"amount", 0.3}}, {{"amount", 5}}};
  if (name == "resize") return resize_cases(in);
  if (name == "fit") return fit_cases(in);
  if (name == "crop") return crop_cases(in);
  if (name == "color") return {color(0, 1, 1, 1), color(0.1, 1.2, 1.5, 1.4), color(-0.3, 0.5, 0, 0.5)};
  if (name == "undistort")
    return {lens(0, 0, 0, 0, 0, 0, 0), lens(-0.28, 0.07, 0.001, -0.0005, 0, 0.6, 0),
            lens(0.2, 0, 0, 0, 0.05, 0.9, 0.4)};
  if (name == "denoise") {
    const auto denoise = [](double strength, int patch, int window) {
      return FilterParameters{{"strength", strength}, {"patch", patch}, {"window", window}};
    };
    return {denoise(4, 5, 9), denoise(1, 3, 3), denoise(16, 7, 15), denoise(9.5, 5, 11), denoise(16, 3, 5)};
  }
  if (name == "motion")
    return {{{"sensitivity", 50}, {"x", 0}, {"y", 0}, {"width", 100}, {"height", 100}},
            {{"sensitivity", 100}, {"x", 30}, {"y", 99}, {"width", 12.5}, {"height", 50}}};
  if (name == "deinterlace") return {{{"field", 0}}, {{"field", 1}}};
  if (name == "rotate") {
    std::vector<FilterParameters> cases;
    for (const double angle : {90, 180, 270, 0}) {
      for (const double mirror : {0, 1}) cases.push_back({{"angle", angle}, {"mirror", mirror}});
    }
    return cases;
  }
  return {};
}

}  // namespace campipe
