// denoise: non-local means on all planes, like FFmpeg's nlmeans. kernels/denoise_rule.h has the rule.
//
// The sums of squared differences over the patches at one offset are box sums: down and then across, not all of a patch
// for each sample (Darbon, Cunha, Chan, Osher, Jensen: Fast nonlocal filtering applied to electron cryomicroscopy, ISBI
// 2008, has them from a plane's integral image; a few rows in the cache are faster here, and 16 bits are enough). Two
// samples are as unlike one way as the other, so that only offsets downwards and to the right are looked at, and each
// weight is used for both.
//
// The plane is done in bands of rows, and these in strips that fit the cache. What a band adds to the rows below it is
// handed on to the next one. The first band begins above the rows that are asked for, with samples that are found in
// their windows.
#include <algorithm>
#include <cstring>

#include "kernels/denoise.h"
#include "stages/filters/denoise_rows.h"
#include "stages/filters/filter.h"
#include "stages/filters/planes.h"

namespace campipe {
namespace {

constexpr int band_rows = 8;
constexpr int strip_bytes = 256;
static_assert(strip_bytes % denoise_block == 0);

int whole_blocks(int count) { return (count + denoise_block - 1) / denoise_block * denoise_block; }

DenoiseRule rule_of(const FilterParameters& parameters) {
  const auto whole = [&](const char* name) { return static_cast<int>(parameters.find(name)->second); };
  return denoise_rule(parameters.find("strength")->second, whole("patch"), whole("window"));
}

// Rows one behind the other in one piece of memory.
template <typename Sample>
class Rows {
 public:
  void resize(int rows, int width) {
    pitch_ = whole_blocks(width);
    samples_.assign(static_cast<std::size_t>(rows) * static_cast<std::size_t>(pitch_), 0);
  }
  [[nodiscard]] Sample* at(int row) { return samples_.data() + row * pitch(); }
  [[nodiscard]] std::ptrdiff_t pitch() const { return pitch_; }
  // The rows from `first` on become the first ones; behind them all are 0.
  void drop(int first) {
    const auto kept = std::copy(samples_.begin() + first * pitch(), samples_.end(), samples_.begin());
    std::fill(kept, samples_.end(), 0);
  }
  void clear() { std::fill(samples_.begin(), samples_.end(), 0); }

 private:
  int pitch_ = 0;
  std::vector<Sample> samples_;
};

class Denoise : public Filter {
 public:
  explicit Denoise(const FilterParameters& parameters)
      : rule_(rule_of(parameters)), reach_(rule_.window / 2), radius_(rule_.patch / 2) {}

  FrameFormat configure(const FrameFormat& in) override {
    const int widest = whole_blocks(in.width + 1);
    const int beside = 2 * (2 * reach_ + radius_);  // a position of nv12's chroma is two samples
    samples_.resize(band_rows + reach_ + 2 * radius_, beside + widest + beside + 3 * denoise_block);
    const int in_patches = strip_bytes + 2 * beside + 2 * denoise_block;
    squares_.resize(band_rows + 2 * radius_, in_patches);
    squares_down_.resize(1, in_patches);
    weights_.resize(rule_.window * band_rows, in_patches);
    no_weights_.resize(1, strip_bytes);
    sums_of_weights_.resize(band_rows + reach_, widest);
    sums_of_samples_.resize(band_rows + reach_, widest);
    denoised_.resize(1, widest);
    return in;
  }

  [[nodiscard]] RowRange needs(int /*plane*/, RowRange rows) const override {
    return rows_around(rows, reach_ + radius_);
  }

  void process(const FrameView& in, const MutableFrameView& out) override {
    for (int i = 0; i < plane_count(in.format.pixels); ++i) denoise_plane(plane_of(in, i), plane_of(out, i));
  }

 private:
  void denoise_plane(const Plane& in, const MutablePlane& out);
  void load_band(const Plane& in, int top);
  void add_offsets_down(int down, int x, int bytes, int rows);
  void make_weights(int right, int down, int x, int bytes, int rows);
  void store_row(int row, const MutablePlane& out, int y);

  // Of row `row` of the band: byte `x` of the plane.
  [[nodiscard]] std::uint8_t* sample(int row, int x) { return samples_.at(row + radius_) + left_ + x; }
  // Of row `row` of the band, for the offset that is `right` positions across.
  [[nodiscard]] std::uint16_t* weights_of(int right, int row) {
    return weights_.at((right + reach_) * band_rows + row);
  }

  DenoiseRule rule_;
  int reach_;     // of a window, to either side
  int radius_;    // of a patch
  int step_ = 1;  // bytes from one sample to the next of its component
  int left_ = 0;  // bytes before a plane's first one, in samples_
  Rows<std::uint8_t> samples_;
  Rows<std::uint16_t> squares_;
  Rows<std::uint16_t> squares_down_;
  Rows<std::uint16_t> weights_;
  Rows<std::uint16_t> no_weights_;
  Rows<std::int32_t> sums_of_weights_;
  Rows<std::int32_t> sums_of_samples_;
  Rows<std::uint8_t> denoised_;
};

void Denoise::denoise_plane(const Plane& in, const MutablePlane& out) {
  step_ = in.channels;
  left_ = (2 * reach_ + radius_) * step_;
  sums_of_weights_.clear();
  sums_of_samples_.clear();
  const auto [first, end] = out.rows;
  for (int top = first - reach_; top < end; top += band_rows) {
    const int rows = std::min(band_rows, end - top);
    load_band(in, top);
    for (int x = 0; x < in.row_bytes(); x += strip_bytes) {
      const int bytes = whole_blocks(std::min(strip_bytes, in.row_bytes() - x));
      for (int down = 0; down <= reach_; ++down) add_offsets_down(down, x, bytes, rows);
    }
    for (int row = std::max(0, first - top); row < rows; ++row) store_row(row, out, top + row);
    sums_of_weights_.drop(band_rows);
    sums_of_samples_.drop(band_rows);
  }
}

// The rows that patches of the band, and of the rows that it reaches, have; with their edges repeated. Rows that are
// not there only count for samples that are not asked for.
void Denoise::load_band(const Plane& in, int top) {
  const int end = band_rows + reach_ + radius_;
  for (int row = -radius_; row < end; ++row) {
    const std::uint8_t* from = in.row(std::clamp(top + row, in.rows.begin, in.rows.end - 1));
    std::uint8_t* to = sample(row, 0);
    std::memcpy(to, from, static_cast<std::size_t>(in.row_bytes()));
    for (int i = 1; i <= left_; ++i) {
      to[-i] = from[step_ - 1 - (i - 1) % step_];
      to[in.row_bytes() - 1 + i] = from[in.row_bytes() - step_ + (i - 1) % step_];
    }
  }
}

// Adds what the rows of the band, and those `down` below them, are to each other, in the columns from `x` on.
void Denoise::add_offsets_down(int down, int x, int bytes, int rows) {
  const int first = down == 0 ? 1 : -reach_;
  for (int right = first; right <= reach_; ++right) make_weights(right, down, x, bytes, rows);
  const int before = reach_ * step_;
  std::array<WeightedRow, most_denoise_window + 1> terms;
  for (int row = 0; row < rows; ++row) {
    std::size_t count = 0;
    const auto add = [&](int target) {
      if (count % 2 != 0) terms[count++] = {no_weights_.at(0), sample(row, x)};
      add_weighted(std::span(terms).first(count), bytes, sums_of_weights_.at(target) + x,
                   sums_of_samples_.at(target) + x);
      count = 0;
    };
    for (int right = first; right <= reach_; ++right)
      terms[count++] = {weights_of(right, row) + before, sample(row + down, x + right * step_)};
    if (down > 0) add(row);
    for (int right = first; right <= reach_; ++right)
      terms[count++] = {weights_of(right, row) + before - right * step_, sample(row, x - right * step_)};
    add(row + down);
  }
}

// For the columns from `x` on, and those to either side that the window reaches.
void Denoise::make_weights(int right, int down, int x, int bytes, int rows) {
  const int reached = whole_blocks(bytes + 2 * reach_ * step_);
  const int in_patches = whole_blocks(reached + 2 * radius_ * step_);
  const int begin = x - (reach_ + radius_) * step_;
  for (int row = 0; row < rows + 2 * radius_; ++row) {
    square_differences(sample(row - radius_, begin), sample(row - radius_ + down, begin + right * step_), in_patches,
                       squares_.at(row));
  }
  for (int row = 0; row < rows; ++row) {
    add_down(squares_.at(row), squares_.pitch(), rule_.patch, in_patches, squares_down_.at(0));
    weigh_across(squares_down_.at(0), step_, rule_, reached, weights_of(right, row));
  }
}

// Each sample counts for itself, too.
void Denoise::store_row(int row, const MutablePlane& out, int y) {
  divide_sums(sums_of_weights_.at(row), sums_of_samples_.at(row), static_cast<int>(rule_.weight(0)), sample(row, 0),
              whole_blocks(out.row_bytes()), denoised_.at(0));
  std::memcpy(out.row(y), denoised_.at(0), static_cast<std::size_t>(out.row_bytes()));
}

class GpuDenoise : public GpuFilter {
 public:
  explicit GpuDenoise(const FilterParameters& parameters) : rule_(rule_of(parameters)) {}

  FrameFormat configure(const FrameFormat& in) override { return in; }
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) override {
    enqueue_denoise(in, out, rule_, stream);
  }

 private:
  DenoiseRule rule_;
};

constexpr std::array parameters{
    ParameterInfo{"strength", 1, most_denoise_strength, 4.0, false, "levels",
                  "standard deviation of the noise; higher: less noise, fewer details"},
    ParameterInfo{.name = "patch",
                  .min = 3,
                  .max = most_denoise_patch,
                  .fallback = 5.0,
                  .whole = true,
                  .unit = "samples",
                  .description = "side of the squares that are compared",
                  .odd = true},
    ParameterInfo{.name = "window",
                  .min = 3,
                  .max = most_denoise_window,
                  .fallback = 9.0,
                  .whole = true,
                  .unit = "samples",
                  .description = "side of the square that is searched for similar ones; the time grows with its area",
                  .odd = true},
};

const FilterRegistration registration{
    {"denoise", "non-local means on all planes", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Denoise>(given); },
     gpu_path<GpuDenoise>()}};

}  // namespace
}  // namespace campipe
