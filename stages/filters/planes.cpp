#include "stages/filters/planes.h"

#include "stages/filters/planes_avx2.h"

namespace campipe {
namespace {

constexpr int shift = weight_bits - row_fraction;  // from sums to 16-bit samples

struct Sums {
  cv::v_int32x4 part[4];  // of 16 samples
};

// Adds two rows at once: their samples are interleaved, so that one multiply-add serves a pair.
inline void add_pair(const std::uint8_t* first, const std::uint8_t* second, const std::int16_t* weights, Sums& sums) {
  const cv::v_int16x8 pair = weight_pairs(weights);
  cv::v_uint8x16 low, high;
  cv::v_zip(cv::v_load(first), cv::v_load(second), low, high);
  cv::v_uint16x8 a, b, c, d;
  cv::v_expand(low, a, b);
  cv::v_expand(high, c, d);
  sums.part[0] = cv::v_dotprod(cv::v_reinterpret_as_s16(a), pair, sums.part[0]);
  sums.part[1] = cv::v_dotprod(cv::v_reinterpret_as_s16(b), pair, sums.part[1]);
  sums.part[2] = cv::v_dotprod(cv::v_reinterpret_as_s16(c), pair, sums.part[2]);
  sums.part[3] = cv::v_dotprod(cv::v_reinterpret_as_s16(d), pair, sums.part[3]);
}

}  // namespace

void combine_rows(std::span<const std::uint8_t* const> rows, std::span<const std::int16_t> weights, int width,
                  std::int16_t* out) {
  int x = avx2::combine_rows(rows, weights, width, out);
  for (; x + 16 <= width; x += 16) {
    Sums sums{{cv::v_setzero_s32(), cv::v_setzero_s32(), cv::v_setzero_s32(), cv::v_setzero_s32()}};
    for (std::size_t i = 0; i < rows.size(); i += 2) add_pair(rows[i] + x, rows[i + 1] + x, &weights[i], sums);
    cv::v_store(out + x, cv::v_rshr_pack<shift>(sums.part[0], sums.part[1]));
    cv::v_store(out + x + 8, cv::v_rshr_pack<shift>(sums.part[2], sums.part[3]));
  }
  for (; x < width; ++x) {  // the rows of a frame may end where its memory ends: no vector reads past them
    int sum = 1 << (shift - 1);
    for (std::size_t i = 0; i < rows.size(); ++i) sum += rows[i][x] * weights[i];
    out[x] = static_cast<std::int16_t>(sum >> shift);
  }
}

}  // namespace campipe
