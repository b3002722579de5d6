// The two row kernels that most of the time of `blur` and `resize` goes into, for CPUs with AVX2, which the baseline
// of x86-64 does not have: chosen at run time, they halve the time of a blur. They compute exactly what the portable
// code beside their callers does, for as many samples as fill whole blocks, and return how many these are: 0 where
// there is no AVX2, so that the caller goes on from there in any case.
#pragma once

#include <cstdint>
#include <span>

namespace campipe::avx2 {

// As combine_rows() of planes.h.
int combine_rows(std::span<const std::uint8_t* const> rows, std::span<const std::int16_t> weights, int width,
                 std::int16_t* out);

// out[x] = Σ half[i] · (line[x - i·step] + line[x + i·step]); the number of weights is even.
int combine_sides(const std::int16_t* line, std::span<const std::int16_t> half, int step, int width, std::uint8_t* out);

}  // namespace campipe::avx2
