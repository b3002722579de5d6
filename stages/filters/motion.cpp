// motion: hands its picture on and tells how much of it moves, by background subtraction on a coarse grid
// (kernels/motion_rule.h says how). No motion is told while the background settles, of 32 pictures.
//
// sensitivity: from 1 over 50 to 100 a cell has changed where its mean is off by more than 40, 11 or 3 levels, and at
// least 2 %, 0.15 % or 0.01 % of the watched cells must have; in between both fall by the same factor from one number
// to the next.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/motion.h"
#include "stages/filters/filter.h"
#include "stages/filters/gpu_pointwise.h"
#include "stages/filters/planes.h"

namespace campipe {
namespace {

struct Settings {
  double sensitivity, x, y, width, height;

  explicit Settings(const FilterParameters& parameters)
      : sensitivity(parameters.find("sensitivity")->second),
        x(parameters.find("x")->second),
        y(parameters.find("y")->second),
        width(parameters.find("width")->second),
        height(parameters.find("height")->second) {}

  [[nodiscard]] double between(double at_1, double at_100) const {
    return at_1 * std::pow(at_100 / at_1, (sensitivity - 1) / 99);
  }
};

struct Range {
  int first, end;
};

// The cells of `count` that lie in the zone, wholly or in part: at least one.
Range cells_in(double from_percent, double percent, int count) {
  const double to_percent = std::min(from_percent + percent, 100.0);
  const int first = std::min(static_cast<int>(from_percent * count / 100), count - 1);
  return {first, std::clamp(static_cast<int>(std::ceil(to_percent * count / 100)), first + 1, count)};
}

MotionRule rule_for(const Settings& settings, const FrameFormat& in) {
  MotionRule rule;
  rule.columns = (in.width + motion_cell - 1) / motion_cell;
  rule.rows = (in.height + motion_cell - 1) / motion_cell;
  const Range across = cells_in(settings.x, settings.width, rule.columns);
  const Range down = cells_in(settings.y, settings.height, rule.rows);
  rule.left = across.first, rule.right = across.end;
  rule.top = down.first, rule.bottom = down.end;
  rule.threshold = static_cast<int>(std::lround(settings.between(40, 3) * motion_level));
  rule.least = static_cast<int>(std::ceil(settings.between(0.02, 0.0001) * rule.watched()));
  return rule;
}

float score_of(const MotionRule& rule, int changed) {
  return static_cast<float>(changed) / static_cast<float>(rule.watched());
}

using Bins = std::array<int, motion_bins>;  // differences of cells

class Motion : public Filter {
 public:
  explicit Motion(const FilterParameters& parameters) : settings_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override {
    rule_ = rule_for(settings_, in);
    means_.assign(static_cast<std::size_t>(rule_.cells()), 0);
    backgrounds_.assign(means_.size(), 0);
    columns_.assign(static_cast<std::size_t>(rule_.columns) * motion_cell + row_slack, 0);
    pictures_ = 0;
    changed_ = 0;
    return in;
  }

  void process(const FrameView& in, const MutableFrameView& out) override {
    look(in);
    for (int i = 0; i < plane_count(in.format.pixels); ++i) copy_plane(plane_of(in, i), plane_of(out, i));
  }

  void look(const FrameView& in) override {
    measure(plane_of(in, 0));
    find_shifts();
    changed_ = count();
    adapt();
  }

  std::optional<float> motion() const override { return score_of(rule_, changed_); }

 private:
  void measure(const Plane& in);
  void find_shifts();
  int count();
  void adapt();
  [[nodiscard]] int shift(std::size_t cell) const {
    return shifts_[static_cast<std::size_t>(motion_range(backgrounds_[cell]))];
  }
  [[nodiscard]] bool changed(std::size_t cell) const {
    return motion_changed(motion_difference(means_[cell], backgrounds_[cell]), shift(cell), rule_.threshold);
  }

  Settings settings_;
  MotionRule rule_{.right = 1, .bottom = 1};
  std::vector<std::uint16_t> columns_;  // of a row of cells, added up
  std::vector<std::uint16_t> means_;
  std::vector<std::int32_t> backgrounds_;
  std::array<Bins, motion_ranges> bins_{};
  std::array<int, motion_ranges> shifts_{};
  int pictures_ = 0;  // that the backgrounds are made of
  int changed_ = 0;   // watched cells
};

void add_columns(const Plane& in, int first, int rows, std::uint16_t* sums) {
  int x = 0;
  for (; x + 16 <= in.width; x += 16) {
    cv::v_uint16x8 left = cv::v_setzero_u16(), right = cv::v_setzero_u16();
    for (int i = 0; i < rows; ++i) {
      cv::v_uint16x8 low, high;
      cv::v_expand(cv::v_load(in.row(first + i) + x), low, high);
      left = left + low;
      right = right + high;
    }
    cv::v_store(sums + x, left);
    cv::v_store(sums + x + 8, right);
  }
  for (; x < in.width; ++x) {
    sums[x] = 0;
    for (int i = 0; i < rows; ++i) sums[x] = static_cast<std::uint16_t>(sums[x] + in.row(first + i)[x]);
  }
}

void Motion::measure(const Plane& in) {
  std::uint16_t* mean = means_.data();
  for (int row = 0; row < rule_.rows; ++row) {
    const int height = std::min(motion_cell, in.height - row * motion_cell);
    add_columns(in, row * motion_cell, height, columns_.data());
    // What is behind the last column is 0, and stays it.
    const std::uint16_t* sums = columns_.data();
    for (int column = 0; column < rule_.columns; ++column, sums += motion_cell) {
      const int width = std::min(motion_cell, in.width - column * motion_cell);
      const unsigned sum = cv::v_reduce_sum(cv::v_load(sums));
      *mean++ = motion_mean(sum, static_cast<unsigned>(width * height));
    }
  }
}

// The first bin up to which at least half of the cells lie.
int median(const Bins& bins, int cells) {
  std::size_t bin = 0;
  for (int left = (cells + 1) / 2 - bins[0]; left > 0; left -= bins[bin]) ++bin;
  return static_cast<int>(bin);
}

void Motion::find_shifts() {
  bins_ = {};
  for (std::size_t i = 0; i < means_.size(); ++i) {
    const auto bin = static_cast<std::size_t>(motion_bin(motion_difference(means_[i], backgrounds_[i])));
    ++bins_[static_cast<std::size_t>(motion_range(backgrounds_[i]))][bin];
  }
  std::array<int, motion_ranges> medians{}, in_range{};
  for (std::size_t range = 0; range < bins_.size(); ++range) {
    in_range[range] = std::accumulate(bins_[range].begin(), bins_[range].end(), 0);
    medians[range] = median(bins_[range], in_range[range]);
  }
  for (int range = 0; range < motion_ranges; ++range)
    shifts_[static_cast<std::size_t>(range)] = motion_shift(range, medians.data(), in_range.data(), rule_.cells());
}

// Watched cells that have changed, if these are enough; begins anew where another scene has come.
int Motion::count() {
  int all = 0, watched = 0;
  std::size_t i = 0;
  for (int row = 0; row < rule_.rows; ++row)
    for (int column = 0; column < rule_.columns; ++column, ++i) {
      const int one = changed(i) ? 1 : 0;
      all += one;
      watched += rule_.watches(column, row) ? one : 0;
    }
  if (pictures_ == motion_settling_pictures && motion_is_another_scene(all, rule_.cells())) pictures_ = 0;
  return pictures_ < motion_settling_pictures || watched < rule_.least ? 0 : watched;
}

void Motion::adapt() {
  const bool settling = pictures_ < motion_settling_pictures;
  for (std::size_t i = 0; i < means_.size(); ++i) {
    std::int32_t& background = backgrounds_[i];
    background = settling ? motion_settled(background, means_[i], pictures_)
                          : motion_adapted(background, means_[i], shift(i), changed(i));
  }
  if (settling) ++pictures_;
}

class GpuMotion : public GpuFilter {
 public:
  explicit GpuMotion(const FilterParameters& parameters) : settings_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override {
    rule_ = rule_for(settings_, in);
    background_ = MotionBackground(rule_);
    return in;
  }
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) override {
    enqueue_look(in, stream);
    const Pointwise nothing = no_change();
    enqueue_pointwise(in, out, nothing.luma, nothing.chroma, 0, 0, stream);
  }
  void enqueue_look(const FrameView& in, GpuStream stream) override { enqueue_motion(in, background_, stream); }
  std::optional<float> motion() const override { return score_of(rule_, background_.changed()); }

 private:
  Settings settings_;
  MotionRule rule_{.right = 1, .bottom = 1};
  MotionBackground background_;
};

constexpr std::array parameters{
    ParameterInfo{"sensitivity", 1, 100, 50, true, "", "higher: smaller and fainter changes are motion"},
    ParameterInfo{"x", 0, 99, 0, false, "%", "left edge of the zone that is watched, of the picture's width"},
    ParameterInfo{"y", 0, 99, 0, false, "%", "its top edge, of the picture's height"},
    ParameterInfo{"width", 1, 100, 100, false, "%", "its width; what would lie beyond the picture is left out"},
    ParameterInfo{"height", 1, 100, 100, false, "%", "its height"},
};

const FilterRegistration registration{
    {"motion", "tells how much of the picture moves, and hands it on unchanged", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Motion>(given); },
     gpu_path<GpuMotion>()}};

}  // namespace
}  // namespace campipe
