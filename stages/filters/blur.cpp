// blur: a Gaussian, like FFmpeg's gblur, with the same sigma (in samples of the plane) on every plane.
#include <algorithm>
#include <cmath>

#include "kernels/blur.h"
#include "stages/filters/filter.h"
#include "stages/filters/planes.h"
#include "stages/filters/planes_avx2.h"

namespace campipe {
namespace {

// The kernel from its centre outwards, in weight_one-ths; its other half is the same. It ends at 3.5 sigma: what lies
// further out is 0.05 % of the whole, an eighth of a level. The radius is odd, so that there is an integer of
// pairs.
std::vector<std::int16_t> half_gaussian(double sigma) {
  const int radius = static_cast<int>(std::ceil(3.5 * sigma - 0.5)) | 1;
  std::vector<double> tail(static_cast<std::size_t>(radius) + 2);  // Σ of the weights from here outwards
  const auto value = [&](std::size_t i) { return std::exp(-static_cast<double>(i * i) / (2 * sigma * sigma)); };
  for (std::size_t i = tail.size() - 1; i-- > 0;) tail[i] = tail[i + 1] + value(i);
  const double whole = tail[0] + tail[1];
  // Rounding these sums and not the weights: so errors do not add up, however many weights there are.
  const auto rounded = [&](std::size_t i) { return std::lround(weight_one * tail[i] / whole); };
  std::vector<std::int16_t> half(static_cast<std::size_t>(radius) + 1);
  for (std::size_t i = 1; i < half.size(); ++i) half[i] = static_cast<std::int16_t>(rounded(i) - rounded(i + 1));
  half[0] = static_cast<std::int16_t>(weight_one - 2 * rounded(1));
  return half;
}

struct Sums {
  cv::v_int32x4 low = cv::v_setzero_s32();
  cv::v_int32x4 high = cv::v_setzero_s32();
};

inline void add(const cv::v_int16x8& inner, const cv::v_int16x8& outer, const cv::v_int16x8& weights, Sums& sums) {
  cv::v_int16x8 low, high;
  cv::v_zip(inner, outer, low, high);
  sums.low = cv::v_dotprod(low, weights, sums.low);
  sums.high = cv::v_dotprod(high, weights, sums.high);
}

inline cv::v_int16x8 both_sides(const std::int16_t* centre, int distance) {
  return cv::v_load(centre - distance) + cv::v_load(centre + distance);
}

class Blur : public Filter {
 public:
  explicit Blur(const FilterParameters& parameters)
      : half_(half_gaussian(parameters.find("sigma")->second)), radius_(static_cast<int>(half_.size()) - 1) {
    for (int i = -radius_; i <= radius_; ++i) column_.push_back(half_[static_cast<std::size_t>(std::abs(i))]);
    column_.push_back(0);  // combine_rows takes pairs
    rows_.resize(column_.size());
    half_[0] /= 2;  // across, the centre is added to itself as if it had two sides
  }

  FrameFormat configure(const FrameFormat& in) override {
    centre_ = 2 * radius_;  // on either side, a position of nv12's chroma is two samples
    line_.assign(static_cast<std::size_t>(centre_ + (in.width + 1) + centre_ + row_slack), 0);
    return in;
  }

  // One row more than the radius: it has no weight, but combine_rows reads it; and where the GPU takes rows by twos, it
  // has some.
  [[nodiscard]] RowRange needs(int /*plane*/, RowRange rows) const override { return rows_around(rows, radius_ + 1); }

  void process(const FrameView& in, const MutableFrameView& out) override {
    for (int i = 0; i < plane_count(in.format.pixels); ++i) blur_plane(plane_of(in, i), plane_of(out, i));
  }

 private:
  void blur_plane(const Plane& in, const MutablePlane& out) {
    std::int16_t* line = line_.data() + centre_;
    for (int y = out.rows.begin; y < out.rows.end; ++y) {
      for (int i = 0; i <= 2 * radius_ + 1; ++i)
        rows_[static_cast<std::size_t>(i)] = in.row(reflect_101(y - radius_ + i, in.height));
      combine_rows(rows_, column_, in.row_bytes(), line);
      mirror_ends(line, in.width, in.channels, radius_);
      blur_line(line, in.row_bytes(), in.channels, out.row(y));
    }
  }

  void blur_line(const std::int16_t* line, int width, int step, std::uint8_t* out) const {
    int x = avx2::combine_sides(line, half_, step, width, out);
    for (; x + 16 <= width; x += 16) cv::v_store(out + x, blur_16(line + x, step));
    if (x == width) return;
    std::array<std::uint8_t, 16> last;
    cv::v_store(last.data(), blur_16(line + x, step));
    std::copy_n(last.begin(), width - x, out + x);
  }

  [[nodiscard]] cv::v_uint8x16 blur_16(const std::int16_t* centre, int step) const {
    constexpr int shift = weight_bits + row_fraction;
    Sums left, right;
    const int end = (radius_ + 1) * step;
    const std::int16_t* weights = half_.data();
    for (int distance = 0; distance < end; distance += 2 * step, weights += 2) {
      const cv::v_int16x8 pair = weight_pairs(weights);
      add(both_sides(centre, distance), both_sides(centre, distance + step), pair, left);
      add(both_sides(centre + 8, distance), both_sides(centre + 8, distance + step), pair, right);
    }
    return cv::v_pack_u(cv::v_rshr_pack<shift>(left.low, left.high), cv::v_rshr_pack<shift>(right.low, right.high));
  }

  std::vector<std::int16_t> half_;
  int radius_;
  std::vector<std::int16_t> column_;  // the whole kernel
  std::vector<const std::uint8_t*> rows_;
  std::vector<std::int16_t> line_;
  int centre_ = 0;
};

class GpuBlur : public GpuFilter {
 public:
  explicit GpuBlur(const FilterParameters& parameters) : half_(half_gaussian(parameters.find("sigma")->second)) {}

  FrameFormat configure(const FrameFormat& in) override {
    kernel_ = BlurKernel(half_);
    return in;
  }
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) override {
    enqueue_blur(in, out, kernel_, stream);
  }

 private:
  std::vector<std::int16_t> half_;
  BlurKernel kernel_;
};

constexpr std::array parameters{
    ParameterInfo{"sigma", 0.1, 20, std::nullopt, false, "samples", "standard deviation of the Gaussian"},
};

const FilterRegistration registration{
    {"blur", "Gaussian blur of all planes", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Blur>(given); },
     gpu_path<GpuBlur>()}};

}  // namespace
}  // namespace campipe
