#include "stages/filters/denoise_rows.h"

#include "stages/filters/denoise_avx2.h"
#include "stages/filters/planes.h"

namespace campipe {

void square_differences(const std::uint8_t* a, const std::uint8_t* b, int count, std::uint16_t* out) {
  for (int x = avx2::square_differences(a, b, count, out); x < count; x += 8) {
    const cv::v_uint16x8 difference = cv::v_absdiff(cv::v_load_expand(a + x), cv::v_load_expand(b + x));
    cv::v_store(out + x, cv::v_mul_wrap(difference, difference));
  }
}

void add_down(const std::uint16_t* first, std::ptrdiff_t pitch, int rows, int count, std::uint16_t* out) {
  for (int x = avx2::add_down(first, pitch, rows, count, out); x < count; x += 8) {
    cv::v_uint16x8 sum = cv::v_load(first + x);
    for (int i = 1; i < rows; ++i) sum = sum + cv::v_load(first + i * pitch + x);  // this + saturates
    cv::v_store(out + x, sum);
  }
}

void weigh_across(const std::uint16_t* sums, int step, const DenoiseRule& rule, int count, std::uint16_t* out) {
  const cv::v_uint16x8 cutoff = cv::v_setall_u16(static_cast<std::uint16_t>(rule.cutoff));
  const cv::v_uint16x8 scale = cv::v_setall_u16(static_cast<std::uint16_t>(rule.scale));
  for (int x = avx2::weigh_across(sums, step, rule, count, out); x < count; x += 8) {
    cv::v_uint16x8 squares = cv::v_load(sums + x);
    for (int i = 1; i < rule.patch; ++i) squares = squares + cv::v_load(sums + x + i * step);
    const cv::v_uint16x8 part = cv::v_mul_hi(cutoff - squares, scale);  // nor does - go below 0
    cv::v_store(out + x, cv::v_mul_wrap(part, part));
  }
}

namespace {

// 8 samples: 16-bit sums of the weights, and 32-bit ones of the samples.
struct Sums8 {
  cv::v_uint16x8 weights = cv::v_setzero_u16();
  cv::v_int32x4 low = cv::v_setzero_s32();
  cv::v_int32x4 high = cv::v_setzero_s32();
};

void add_pair(const WeightedRow& a, const WeightedRow& b, int x, Sums8& sums) {
  const cv::v_uint16x8 weights_a = cv::v_load(a.weights + x), weights_b = cv::v_load(b.weights + x);
  cv::v_int16x8 weights_low, weights_high, samples_low, samples_high;
  cv::v_zip(cv::v_reinterpret_as_s16(weights_a), cv::v_reinterpret_as_s16(weights_b), weights_low, weights_high);
  cv::v_zip(cv::v_reinterpret_as_s16(cv::v_load_expand(a.samples + x)),
            cv::v_reinterpret_as_s16(cv::v_load_expand(b.samples + x)), samples_low, samples_high);
  sums.weights = cv::v_add_wrap(sums.weights, cv::v_add_wrap(weights_a, weights_b));
  sums.low = cv::v_dotprod(weights_low, samples_low, sums.low);
  sums.high = cv::v_dotprod(weights_high, samples_high, sums.high);
}

// a / b, rounded down, of integers of at most 28 and 20 bits. Floats are off by one at most, where a multiple is near.
cv::v_int32x4 quotient(const cv::v_int32x4& a, const cv::v_int32x4& b) {
  const cv::v_int32x4 near = cv::v_trunc(cv::v_cvt_f32(a) / cv::v_cvt_f32(b));
  const cv::v_int32x4 rest = a - near * b;
  const cv::v_int32x4 too_high = rest < cv::v_setzero_s32(), too_low = rest >= b;  // -1 where it is so
  return near + too_high - too_low;
}

cv::v_int32x4 divide_4(const std::int32_t* weights, const std::int32_t* samples, const cv::v_int32x4& own_weight,
                       const cv::v_uint32x4& own) {
  const cv::v_int32x4 all = cv::v_load(weights) + own_weight;
  return quotient(cv::v_load(samples) + own_weight * cv::v_reinterpret_as_s32(own) + (all >> 1), all);
}

void add_to(std::int32_t* sums, const cv::v_int32x4& more) { cv::v_store(sums, cv::v_load(sums) + more); }

}  // namespace

void add_weighted(std::span<const WeightedRow> rows, int count, std::int32_t* weights, std::int32_t* samples) {
  for (int x = avx2::add_weighted(rows, count, weights, samples); x < count; x += 8) {
    Sums8 sums;
    for (std::size_t i = 0; i < rows.size(); i += 2) add_pair(rows[i], rows[i + 1], x, sums);
    cv::v_uint32x4 low, high;
    cv::v_expand(sums.weights, low, high);
    add_to(weights + x, cv::v_reinterpret_as_s32(low));
    add_to(weights + x + 4, cv::v_reinterpret_as_s32(high));
    add_to(samples + x, sums.low);
    add_to(samples + x + 4, sums.high);
  }
}

void divide_sums(const std::int32_t* weights, const std::int32_t* samples, int own_weight, const std::uint8_t* own,
                 int count, std::uint8_t* out) {
  const cv::v_int32x4 own_weights = cv::v_setall_s32(own_weight);
  for (int x = 0; x < count; x += 8) {
    cv::v_uint32x4 own_low, own_high;
    cv::v_expand(cv::v_load_expand(own + x), own_low, own_high);
    const cv::v_int32x4 low = divide_4(weights + x, samples + x, own_weights, own_low);
    const cv::v_int32x4 high = divide_4(weights + x + 4, samples + x + 4, own_weights, own_high);
    cv::v_pack_u_store(out + x, cv::v_pack(low, high));
  }
}

}  // namespace campipe
