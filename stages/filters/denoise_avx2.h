// The row kernels of denoise_rows.h for CPUs with AVX2, which the baseline of x86-64 does not have: chosen at run time.
// They compute exactly what the portable code does, for as many samples as fill whole vectors, and return how many
// these are: 0 where there is no AVX2, so that the caller goes on from there in any case.
#pragma once

#include "stages/filters/denoise_rows.h"

namespace campipe::avx2 {

int square_differences(const std::uint8_t* a, const std::uint8_t* b, int count, std::uint16_t* out);
int add_down(const std::uint16_t* first, std::ptrdiff_t pitch, int rows, int count, std::uint16_t* out);
int weigh_across(const std::uint16_t* sums, int step, const DenoiseRule& rule, int count, std::uint16_t* out);
int add_weighted(std::span<const WeightedRow> rows, int count, std::int32_t* weights, std::int32_t* samples);

}  // namespace campipe::avx2
