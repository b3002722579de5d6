// The row kernels that the filter `denoise` is made of, and in which its time goes. All rows are the filter's own:
// `count` samples are a multiple of denoise_block, and may be read and written. They compute the same on any CPU;
// denoise_avx2.h has them for those with AVX2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/denoise_rule.h"

namespace campipe {

inline constexpr int denoise_block = 8;

// out[x] = (a[x] - b[x])²
void square_differences(const std::uint8_t* a, const std::uint8_t* b, int count, std::uint16_t* out);

// out[x] = the sum of `rows` samples below one another, 65535 at most. `rows`: 3, 5 or 7; `pitch`: from row to row.
void add_down(const std::uint16_t* first, std::ptrdiff_t pitch, int rows, int count, std::uint16_t* out);

// out[x] = the weight for the sum of sums[x], sums[x + step], …, as many as a patch has columns.
void weigh_across(const std::uint16_t* sums, int step, const DenoiseRule& rule, int count, std::uint16_t* out);

struct WeightedRow {
  const std::uint16_t* weights;
  const std::uint8_t* samples;
};
// Adds the weights of all `rows` to `weights`, and the samples times their weights to `samples`. The number of rows is
// even, and at most most_denoise_window + 1 with one of no weight.
void add_weighted(std::span<const WeightedRow> rows, int count, std::int32_t* weights, std::int32_t* samples);

// out[x] = (samples[x] + weights[x] / 2) / weights[x], where a weight `own_weight` of own[x] is counted, too.
void divide_sums(const std::int32_t* weights, const std::int32_t* samples, int own_weight, const std::uint8_t* own,
                 int count, std::uint8_t* out);

}  // namespace campipe
