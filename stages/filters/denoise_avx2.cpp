#include "stages/filters/denoise_avx2.h"

#if defined(__x86_64__)
#include "stages/filters/avx2.h"

namespace campipe::avx2 {
namespace {

constexpr int lanes = 16;

CAMPIPE_AVX2 inline __m256i load_bytes(const std::uint8_t* from) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

CAMPIPE_AVX2 inline void add_to(std::int32_t* sums, __m256i more) { store(sums, _mm256_add_epi32(load(sums), more)); }

// `terms` of them, `pitch` apart, added up.
template <int terms>
CAMPIPE_AVX2 inline __m256i sum_of(const std::uint16_t* first, std::ptrdiff_t pitch) {
  __m256i sum = load(first);
#pragma GCC unroll 8
  for (int i = 1; i < terms; ++i) sum = _mm256_adds_epu16(sum, load(first + i * pitch));
  return sum;
}

template <int rows>
CAMPIPE_AVX2 void add_rows(const std::uint16_t* first, std::ptrdiff_t pitch, int count, std::uint16_t* out) {
  for (int x = 0; x < count; x += lanes) store(out + x, sum_of<rows>(first + x, pitch));
}

template <int patch>
CAMPIPE_AVX2 void weigh(const std::uint16_t* sums, int step, const DenoiseRule& rule, int count, std::uint16_t* out) {
  const __m256i cutoff = _mm256_set1_epi16(static_cast<short>(rule.cutoff));
  const __m256i scale = _mm256_set1_epi16(static_cast<short>(rule.scale));
  for (int x = 0; x < count; x += lanes) {
    const __m256i part = _mm256_mulhi_epu16(_mm256_subs_epu16(cutoff, sum_of<patch>(sums + x, step)), scale);
    store(out + x, _mm256_mullo_epi16(part, part));
  }
}

}  // namespace

CAMPIPE_AVX2 int square_differences(const std::uint8_t* a, const std::uint8_t* b, int count, std::uint16_t* out) {
  int x = 0;
  if (!available()) return x;
  for (; x + lanes <= count; x += lanes) {
    const __m256i difference = _mm256_sub_epi16(load_bytes(a + x), load_bytes(b + x));
    store(out + x, _mm256_mullo_epi16(difference, difference));
  }
  return x;
}

CAMPIPE_AVX2 int add_down(const std::uint16_t* first, std::ptrdiff_t pitch, int rows, int count, std::uint16_t* out) {
  if (!available()) return 0;
  const int whole = count / lanes * lanes;
  (rows == 3 ? add_rows<3> : rows == 5 ? add_rows<5> : add_rows<7>)(first, pitch, whole, out);
  return whole;
}

CAMPIPE_AVX2 int weigh_across(const std::uint16_t* sums, int step, const DenoiseRule& rule, int count,
                              std::uint16_t* out) {
  if (!available()) return 0;
  const int whole = count / lanes * lanes;
  (rule.patch == 3 ? weigh<3> : rule.patch == 5 ? weigh<5> : weigh<7>)(sums, step, rule, whole, out);
  return whole;
}

CAMPIPE_AVX2 int add_weighted(std::span<const WeightedRow> rows, int count, std::int32_t* weights,
                              std::int32_t* samples) {
  int x = 0;
  if (!available()) return x;
  const __m256i zero = _mm256_setzero_si256();
  for (; x + lanes <= count; x += lanes) {
    __m256i of_weights = zero, low = zero, high = zero;
    for (std::size_t i = 0; i < rows.size(); i += 2) {
      const __m256i weights_a = load(rows[i].weights + x), weights_b = load(rows[i + 1].weights + x);
      const __m256i samples_a = load_bytes(rows[i].samples + x), samples_b = load_bytes(rows[i + 1].samples + x);
      of_weights = _mm256_add_epi16(of_weights, _mm256_add_epi16(weights_a, weights_b));
      low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(weights_a, weights_b),
                                                    _mm256_unpacklo_epi16(samples_a, samples_b)));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(weights_a, weights_b),
                                                      _mm256_unpackhi_epi16(samples_a, samples_b)));
    }
    add_to(weights + x, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(of_weights)));
    add_to(weights + x + 8, _mm256_cvtepu16_epi32(_mm256_extracti128_si256(of_weights, 1)));
    // Unpacking goes by halves of a vector: samples 0…3 and 8…11 are in one, the others in the other.
    add_to(samples + x, _mm256_permute2x128_si256(low, high, 0x20));
    add_to(samples + x + 8, _mm256_permute2x128_si256(low, high, 0x31));
  }
  return x;
}

}  // namespace campipe::avx2

#else

namespace campipe::avx2 {

int square_differences(const std::uint8_t*, const std::uint8_t*, int, std::uint16_t*) { return 0; }
int add_down(const std::uint16_t*, std::ptrdiff_t, int, int, std::uint16_t*) { return 0; }
int weigh_across(const std::uint16_t*, int, const DenoiseRule&, int, std::uint16_t*) { return 0; }
int add_weighted(std::span<const WeightedRow>, int, std::int32_t*, std::int32_t*) { return 0; }

}  // namespace campipe::avx2

#endif
