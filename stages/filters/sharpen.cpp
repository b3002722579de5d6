// sharpen: an unsharp mask on luma, like FFmpeg's unsharp=5:5:amount; chroma is copied.
//
//   out = clip(in + amount * (in - soft)),  soft = in convolved with k·kᵀ,  k = [1 4 6 4 1] / 16
//
// `soft` is exact (its sums fit 16 bits); the whole is within 0.2 levels of the formula before the final rounding.
#include <algorithm>
#include <cmath>

#include "kernels/sharpen.h"
#include "stages/filters/filter.h"
#include "stages/filters/planes.h"

namespace campipe {
namespace {

constexpr int radius = 2;

template <typename Vector>
Vector binomial(const Vector& a, const Vector& b, const Vector& c, const Vector& d, const Vector& e) {
  return a + e + ((b + c + d) << 2) + (c << 1);
}

using RowsOf5 = std::array<const std::uint8_t*, 5>;

// out = 16 times the five rows combined.
void combine_5_rows(const RowsOf5& rows, int width, std::uint16_t* out) {
  int x = 0;
  for (; x + 8 <= width; x += 8) {
    const auto at = [&](std::size_t i) { return cv::v_load_expand(rows[i] + x); };
    cv::v_store(out + x, binomial(at(0), at(1), at(2), at(3), at(4)));
  }
  for (; x < width; ++x) {
    const auto at = [&](std::size_t i) -> int { return rows[i][x]; };
    out[x] = static_cast<std::uint16_t>(binomial(at(0), at(1), at(2), at(3), at(4)));
  }
}

// In 4096ths.
std::int16_t amount_of(const FilterParameters& parameters) {
  return static_cast<std::int16_t>(std::lround(4096 * parameters.find("amount")->second));
}

class Sharpen : public Filter {
 public:
  explicit Sharpen(const FilterParameters& parameters) : amount_(amount_of(parameters)) {}

  FrameFormat configure(const FrameFormat& in) override {
    line_.assign(static_cast<std::size_t>(in.width + 2 * radius + row_slack), 0);
    return in;
  }

  [[nodiscard]] RowRange needs(int plane, RowRange rows) const override {
    return plane == 0 ? rows_around(rows, radius) : rows;
  }

  void process(const FrameView& in, const MutableFrameView& out) override {
    sharpen_plane(plane_of(in, 0), plane_of(out, 0));
    for (int i = 1; i < plane_count(in.format.pixels); ++i) copy_plane(plane_of(in, i), plane_of(out, i));
  }

 private:
  void sharpen_plane(const Plane& in, const MutablePlane& out) {
    std::uint16_t* line = line_.data() + radius;
    for (int y = out.rows.begin; y < out.rows.end; ++y) {
      RowsOf5 rows;
      for (int i = 0; i < 5; ++i) rows[static_cast<std::size_t>(i)] = in.row(reflect_101(y - radius + i, in.height));
      combine_5_rows(rows, in.width, line);
      mirror_ends(line, in.width, 1, radius);
      sharpen_line(in.row(y), line, in.width, out.row(y));
    }
  }

  void sharpen_line(const std::uint8_t* in, const std::uint16_t* line, int width, std::uint8_t* out) const {
    int x = 0;
    for (; x + 8 <= width; x += 8) cv::v_pack_u_store(out + x, sharpen_8(in + x, line + x));
    if (x == width) return;
    std::array<std::uint8_t, 8> last{};
    std::copy_n(in + x, width - x, last.begin());
    cv::v_pack_u_store(last.data(), sharpen_8(last.data(), line + x));
    std::copy_n(last.begin(), width - x, out + x);
  }

  [[nodiscard]] cv::v_int16x8 sharpen_8(const std::uint8_t* in, const std::uint16_t* line) const {
    const auto at = [&](int i) { return cv::v_load(line + i); };
    const cv::v_uint16x8 soft = binomial(at(-2), at(-1), at(0), at(1), at(2));  // times 256
    const cv::v_uint16x8 sharp = cv::v_load_expand(in);
    // 128 times the difference: all that 16 bits with a sign can hold. Then 8 times the change.
    const cv::v_int16x8 difference = cv::v_reinterpret_as_s16(sharp << 7) - cv::v_reinterpret_as_s16(soft >> 1);
    const cv::v_int16x8 change = cv::v_mul_hi(difference, cv::v_setall_s16(amount_));
    return cv::v_reinterpret_as_s16(sharp) + ((change + cv::v_setall_s16(4)) >> 3);
  }

  std::int16_t amount_;
  std::vector<std::uint16_t> line_;
};

class GpuSharpen : public GpuFilter {
 public:
  explicit GpuSharpen(const FilterParameters& parameters) : amount_(amount_of(parameters)) {}

  FrameFormat configure(const FrameFormat& in) override { return in; }
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) override {
    enqueue_sharpen(in, out, amount_, stream);
  }

 private:
  std::int16_t amount_;
};

constexpr std::array parameters{
    ParameterInfo{"amount", 0, 5, 1.0, false, "", "how much of the difference to the blurred frame is added"},
};

const FilterRegistration registration{
    {"sharpen", "unsharp mask (5 × 5) of luma", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Sharpen>(given); },
     gpu_path<GpuSharpen>()}};

}  // namespace
}  // namespace campipe
