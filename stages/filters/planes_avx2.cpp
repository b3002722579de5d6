#include "stages/filters/planes_avx2.h"

#include "stages/filters/planes.h"

#if defined(__x86_64__)
#include "stages/filters/avx2.h"

namespace campipe::avx2 {
namespace {

constexpr int block = 32;

CAMPIPE_AVX2 inline __m256i weight_pair(const std::int16_t* weights) {
  std::int32_t both;
  std::memcpy(&both, weights, sizeof both);
  return _mm256_set1_epi32(both);
}

CAMPIPE_AVX2 inline __m256i multiply_add(__m256i samples, __m256i weights, __m256i sum) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(samples, weights));
}

// Two vectors of sums to one of samples, rounded.
template <int shift>
CAMPIPE_AVX2 inline __m256i round_and_pack(__m256i a, __m256i b) {
  const __m256i half = _mm256_set1_epi32(1 << (shift - 1));
  return _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(a, half), shift),
                            _mm256_srai_epi32(_mm256_add_epi32(b, half), shift));
}

CAMPIPE_AVX2 inline void combine_rows_block(std::span<const std::uint8_t* const> rows, const std::int16_t* weights,
                                            int x, std::int16_t* out) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i sum_0 = zero, sum_1 = zero, sum_2 = zero, sum_3 = zero;
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    const __m256i first = load(rows[i] + x);
    const __m256i second = load(rows[i + 1] + x);
    const __m256i weight = weight_pair(weights + i);
    const __m256i low = _mm256_unpacklo_epi8(first, second);
    const __m256i high = _mm256_unpackhi_epi8(first, second);
    sum_0 = multiply_add(_mm256_unpacklo_epi8(low, zero), weight, sum_0);
    sum_1 = multiply_add(_mm256_unpackhi_epi8(low, zero), weight, sum_1);
    sum_2 = multiply_add(_mm256_unpacklo_epi8(high, zero), weight, sum_2);
    sum_3 = multiply_add(_mm256_unpackhi_epi8(high, zero), weight, sum_3);
  }
  // Unpacking and packing go by halves of a vector: samples 0…7 and 16…23 are in one, the others in the other.
  const __m256i a = round_and_pack<weight_bits - row_fraction>(sum_0, sum_1);
  const __m256i b = round_and_pack<weight_bits - row_fraction>(sum_2, sum_3);
  store(out, _mm256_permute2x128_si256(a, b, 0x20));
  store(out + 16, _mm256_permute2x128_si256(a, b, 0x31));
}

CAMPIPE_AVX2 inline __m256i both_sides(const std::int16_t* centre, int distance) {
  return _mm256_add_epi16(load(centre - distance), load(centre + distance));
}

CAMPIPE_AVX2 inline void combine_sides_block(const std::int16_t* line, std::span<const std::int16_t> half, int step,
                                             std::uint8_t* out) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i sum_0 = zero, sum_1 = zero, sum_2 = zero, sum_3 = zero;
  int distance = 0;
  for (std::size_t i = 0; i < half.size(); i += 2, distance += 2 * step) {
    const __m256i weight = weight_pair(&half[i]);
    const __m256i inner = both_sides(line, distance), outer = both_sides(line, distance + step);
    sum_0 = multiply_add(_mm256_unpacklo_epi16(inner, outer), weight, sum_0);
    sum_1 = multiply_add(_mm256_unpackhi_epi16(inner, outer), weight, sum_1);
    const __m256i inner_16 = both_sides(line + 16, distance), outer_16 = both_sides(line + 16, distance + step);
    sum_2 = multiply_add(_mm256_unpacklo_epi16(inner_16, outer_16), weight, sum_2);
    sum_3 = multiply_add(_mm256_unpackhi_epi16(inner_16, outer_16), weight, sum_3);
  }
  const __m256i a = round_and_pack<weight_bits + row_fraction>(sum_0, sum_1);
  const __m256i b = round_and_pack<weight_bits + row_fraction>(sum_2, sum_3);
  store(out, _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xD8));
}

}  // namespace

CAMPIPE_AVX2 int combine_rows(std::span<const std::uint8_t* const> rows, std::span<const std::int16_t> weights,
                              int width, std::int16_t* out) {
  int x = 0;
  if (!available()) return x;
  for (; x + block <= width; x += block) combine_rows_block(rows, weights.data(), x, out + x);
  return x;
}

CAMPIPE_AVX2 int combine_sides(const std::int16_t* line, std::span<const std::int16_t> half, int step, int width,
                               std::uint8_t* out) {
  int x = 0;
  if (!available()) return x;
  for (; x + block <= width; x += block) combine_sides_block(line + x, half, step, out + x);
  return x;
}

}  // namespace campipe::avx2

#else

namespace campipe::avx2 {

int combine_rows(std::span<const std::uint8_t* const>, std::span<const std::int16_t>, int, std::int16_t*) { return 0; }
int combine_sides(const std::int16_t*, std::span<const std::int16_t>, int, int, std::uint8_t*) { return 0; }

}  // namespace campipe::avx2

#endif
