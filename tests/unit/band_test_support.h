// Chains made at random, and frames of which only some rows may be read: what the tests of bands share.
#pragma once

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stages/filters/filter.h"
#include "tests/unit/filter_cases.h"
#include "tests/unit/filter_test_support.h"

namespace campipe {

// Printed, so that CAMPIPE_FUZZ_SEED can repeat the run.
inline std::minstd_rand seeded_random() {
  const char* given = std::getenv("CAMPIPE_FUZZ_SEED");  // NOLINT: no other thread sets it
  const auto seed = given != nullptr ? static_cast<unsigned>(std::stoul(given)) : 20261123U;
  std::cout << "seed " << seed << '\n';
  return std::minstd_rand(seed);
}

inline int pick(std::minstd_rand& random, int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(random);
}

// Filters of the registry, in any order, each of which takes what the one before gives.
inline std::vector<FilterConfig> random_filters(FrameFormat format, int count, std::minstd_rand& random) {
  const std::vector<FilterInfo> all = filter_registry();
  std::vector<FilterConfig> filters;
  while (static_cast<int>(filters.size()) < count) {
    const FilterInfo& info = all[static_cast<std::size_t>(pick(random, 0, static_cast<int>(all.size()) - 1))];
    const auto cases = filter_cases(info.name, format);
    if (cases.empty()) continue;
    const auto& given = cases[static_cast<std::size_t>(pick(random, 0, static_cast<int>(cases.size()) - 1))];
    format = info.create(complete_parameters(info, given))->configure(format);
    filters.push_back({std::string(info.name), given});
  }
  return filters;
}

inline std::string text_of(const std::vector<FilterConfig>& filters) {
  std::string text;
  for (const FilterConfig& filter : filters) {
    text += " " + filter.name;
    for (const auto& [name, value] : filter.parameters) text += " " + name + "=" + std::to_string(value);
    text += ",";
  }
  return text;
}

// Each filter by itself, on whole frames.
inline Picture whole_result(const std::vector<FilterConfig>& filters, const Picture& in) {
  Picture frame(in.view.format);
  frame.each([&](std::uint8_t& sample, int plane, int x, int y) {
    const auto i = static_cast<std::size_t>(plane);
    sample = in.view.data[i][y * in.view.stride[i] + x];
  });
  for (const FilterConfig& config : filters) {
    const FilterInfo& info = known_filter(config.name);
    if (info.only_looks) continue;
    const auto filter = info.create(complete_parameters(info, config.parameters));
    Picture out(filter->configure(frame.view.format));
    filter->process(as_const(frame.view), out.view);
    frame = std::move(out);
  }
  return frame;
}

inline bool has_row(const FrameRows& rows, int plane, int y) {
  return y >= rows.of(plane).begin && y < rows.of(plane).end;
}

// `in`, which says that it has `rows` alone: the others are noise, another one each time.
inline Picture with_rows_alone(const Picture& in, const FrameRows& rows, std::minstd_rand& random) {
  Picture out(in.view.format);
  out.each([&](std::uint8_t& sample, int plane, int x, int y) {
    const auto i = static_cast<std::size_t>(plane);
    const std::uint8_t known = in.view.data[i][y * in.view.stride[i] + x];
    sample = has_row(rows, plane, y) ? known : static_cast<std::uint8_t>(known ^ (1 + (random() >> 8) % 255));
  });
  out.view.rows = rows;
  return out;
}

// Puts the rows that `band` has into `whole`.
inline void copy_band(const FrameView& band, Picture& whole) {
  for (int plane = 0; plane < plane_count(band.format.pixels); ++plane) {
    const auto i = static_cast<std::size_t>(plane);
    const RowRange rows = plane_rows(band, plane);
    for (int y = rows.begin; y < rows.end; ++y)
      for (int x = 0; x < plane_size(band.format, plane).width; ++x)
        whole.at(plane, x, y) = band.data[i][y * band.stride[i] + x];
  }
}

// Of a frame of so many rows: even boundaries anywhere, so that the last band has one row where it can.
inline std::vector<RowRange> random_bands(int height, int count, std::minstd_rand& random) {
  std::vector<int> ends{height};
  for (int i = 1; i < count; ++i) ends.push_back(pick(random, 0, (height - 1) / 2) * 2);
  if (count > 1 && pick(random, 0, 3) == 0) ends[1] = (height - 1) / 2 * 2;
  std::ranges::sort(ends);
  std::vector<RowRange> bands;
  int begin = 0;
  for (const int end : ends) {
    if (end > begin) bands.push_back({begin, end});
    begin = end;
  }
  return bands;
}

}  // namespace campipe
