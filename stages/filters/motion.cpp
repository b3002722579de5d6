// motion: hands its frame on and reports how much of it moves, by background subtraction on a coarse grid
// (kernels/motion_rule.h says how). Nothing moves, and the score is 0, while the background settles, for 1.3 s.
//
// sensitivity: from 1 over 50 to 100 a cell has changed where its mean is off by more than 40, 11 or 3 levels, and at
// least 1 %, 0.009 % or 0.00008 % of the watched cells must have, with a sharp edge (the threshold of the score); in
// between both fall by the same factor from one number to the next. At 50 a person whose height is 3 % of the frame's
// is enough.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "core/metadata_types.h"
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
  rule.side = motion_cell_side(in.height);
  rule.columns = (in.width + rule.side - 1) / rule.side;
  rule.rows = (in.height + rule.side - 1) / rule.side;
  const Range across = cells_in(settings.x, settings.width, rule.columns);
  const Range down = cells_in(settings.y, settings.height, rule.rows);
  rule.left = across.first, rule.right = across.end;
  rule.top = down.first, rule.bottom = down.end;
  rule.threshold = static_cast<int>(std::lround(settings.between(40, 3) * motion_level));
  rule.least = static_cast<int>(std::ceil(settings.between(0.01, 0.0000008) * rule.watched()));
  return rule;
}

MotionScore score_of(const MotionRule& rule, const MotionCount& count) {
  const auto part = [&](int cells) { return static_cast<float>(cells) / static_cast<float>(rule.watched()); };
  return {count.sharp < rule.least ? 0 : part(count.moving), part(count.sharp), part(rule.least)};
}

// Which frames are analyzed: at most 22 a second.
class Steps {
 public:
  void reset() { last_.reset(); }
  // Milliseconds since the last frame that is analyzed. Nothing: this one is not.
  std::optional<int> next(std::int64_t pts) {
    constexpr std::int64_t shortest = 45;
    const std::int64_t now = pts / 1'000'000;
    const std::int64_t step = last_ ? now - *last_ : shortest;
    if (step >= 0 && step < shortest) return std::nullopt;
    last_ = now;
    return static_cast<int>(std::clamp<std::int64_t>(step, shortest, motion_longest_step));
  }

 private:
  std::optional<std::int64_t> last_;
};

using Bins = std::array<int, motion_bins>;  // differences of cells

class Motion : public Filter {
 public:
  explicit Motion(const FilterParameters& parameters) : settings_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override {
    rule_ = rule_for(settings_, in);
    means_.assign(static_cast<std::size_t>(rule_.cells()), 0);
    cells_.assign(means_.size(), {});
    matches_.assign(means_.size(), 0);
    off_.assign(static_cast<std::size_t>(rule_.framed_cells()), motion_outside);
    columns_.assign(static_cast<std::size_t>(rule_.columns) * motion_largest_cell + row_slack, 0);
    steps_.reset();
    settling_ = 0;
    result_ = {};
    return in;
  }

  void process(const FrameView& in, const MutableFrameView& out) override {
    for (int i = 0; i < plane_count(in.format.pixels); ++i) copy_plane(plane_of(in, i), plane_of(out, i));
  }

  void look(const FrameView& in, std::int64_t pts) override {
    if (const auto step = steps_.next(pts)) analyze(in, *step);
  }

  void add_metadata(FrameMetadata& metadata) const override { metadata.add(score_of(rule_, result_)); }

 private:
  void analyze(const FrameView& in, int step) {
    measure(plane_of(in, 0));
    find_shifts();
    const bool another = motion_is_another_scene(compare(), rule_.cells()) && settling_ == 0;
    if (another) {
      settling_ = motion_settling;
      shifts_ = {};
      std::ranges::fill(matches_, std::int8_t{-1});
    }
    result_ = settling_ > 0 ? MotionCount{} : count();
    for (std::size_t i = 0; i < means_.size(); ++i)
      motion_adapt(cells_[i], means_[i], shifts_.data(), matches_[i], settling_ > 0, step);
    if (!another) settling_ = std::max(settling_ - step, 0);
  }
  void measure(const Plane& in);
  void find_shifts();
  int compare();
  [[nodiscard]] MotionCount count() const;

  Settings settings_;
  MotionRule rule_{.right = 1, .bottom = 1};
  std::vector<std::uint16_t> columns_;  // of a row of cells, added up
  std::vector<std::uint16_t> means_;
  std::vector<MotionCell> cells_;
  std::vector<std::int8_t> matches_;  // modes
  std::vector<std::int16_t> off_;     // framed
  std::array<Bins, motion_ranges> bins_{};
  std::array<int, motion_ranges> shifts_{};
  Steps steps_;
  int settling_ = 0;  // so long still, in ms
  MotionCount result_;
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

template <int side>
unsigned sum_of(const std::uint16_t* sums) {
  constexpr std::uint64_t odd = 0x0000ffff0000ffff;
  std::uint64_t sum = 0;
  for (int i = 0; i < side; i += 4) {
    std::uint64_t four;
    std::memcpy(&four, sums + i, sizeof four);
    sum += (four & odd) + (four >> 16 & odd);
  }
  return static_cast<unsigned>(sum) + static_cast<unsigned>(sum >> 32);
}

// Of a row of cells, whose columns are added up in `sums`: what is behind the last column is 0, and stays it.
template <int side>
void find_means(const std::uint16_t* sums, int width, int height, std::uint16_t* mean) {
  int left = width;
  for (; left >= side && height == side; left -= side, sums += side)
    *mean++ = motion_mean(sum_of<side>(sums), side * side);
  for (; left > 0; left -= side, sums += side)
    *mean++ = motion_mean(sum_of<side>(sums), static_cast<unsigned>(std::min(left, side) * height));
}

void Motion::measure(const Plane& in) {
  const int side = rule_.side;
  const auto find = side == 4 ? find_means<4> : side == 8 ? find_means<8> : find_means<16>;
  for (int row = 0; row < rule_.rows; ++row) {
    const int height = std::min(side, in.height - row * side);
    add_columns(in, row * side, height, columns_.data());
    find(columns_.data(), in.width, height, means_.data() + std::ptrdiff_t{row} * rule_.columns);
  }
}

int median_of(const Bins& bins, int cells) {
  std::size_t bin = 0;
  int below = 0;
  for (; below + bins[bin] < (cells + 1) / 2; ++bin) below += bins[bin];
  return motion_median(static_cast<int>(bin), below, bins[bin], cells);
}

void Motion::find_shifts() {
  bins_ = {};
  for (std::size_t i = 0; i < means_.size(); ++i) {
    const MotionMode& mode = cells_[i].modes[0];
    const auto bin = static_cast<std::size_t>(motion_bin(motion_difference(means_[i], mode)));
    ++bins_[static_cast<std::size_t>(motion_range(mode.mean))][bin];
  }
  std::array<int, motion_ranges> medians{}, in_range{};
  for (std::size_t range = 0; range < bins_.size(); ++range) {
    in_range[range] = std::accumulate(bins_[range].begin(), bins_[range].end(), 0);
    medians[range] = median_of(bins_[range], in_range[range]);
  }
  for (int range = 0; range < motion_ranges; ++range)
    shifts_[static_cast<std::size_t>(range)] = motion_shift(range, medians.data(), in_range.data(), rule_.cells());
}

// Cells that have changed.
int Motion::compare() {
  int changed = 0;
  std::size_t i = 0;
  for (int row = 0; row < rule_.rows; ++row) {
    std::int16_t* off = off_.data() + rule_.framed(0, row);
    for (int column = 0; column < rule_.columns; ++column, ++i, ++off) {
      const MotionMatch match = motion_match(rule_, &cells_[i], means_[i], column, row, shifts_.data());
      matches_[i] = static_cast<std::int8_t>(match.mode);
      *off = static_cast<std::int16_t>(match.off);
      changed += motion_changed(match.off, rule_.threshold) ? 1 : 0;
    }
  }
  return changed;
}

MotionCount Motion::count() const {
  MotionCount found;
  for (int row = rule_.top; row < rule_.bottom; ++row) {
    const std::int16_t* off = off_.data() + rule_.framed(rule_.left, row);
    for (int column = rule_.left; column < rule_.right; ++column, ++off) {
      if (!motion_changed(*off, rule_.threshold)) continue;
      const MotionEdge edge = motion_edge(off, rule_.columns, rule_.threshold);
      found.moving += edge.accompanied ? 1 : 0;
      found.sharp += edge.accompanied && edge.sharp ? 1 : 0;
    }
  }
  return found;
}

class GpuMotion : public GpuFilter {
 public:
  explicit GpuMotion(const FilterParameters& parameters) : settings_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override {
    rule_ = rule_for(settings_, in);
    background_ = MotionBackground(rule_);
    steps_.reset();
    return in;
  }
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) override {
    const Pointwise nothing = no_change();
    enqueue_pointwise(in, out, nothing.luma, nothing.chroma, 0, 0, stream);
  }
  void enqueue_look(const FrameView& in, std::int64_t pts, GpuStream stream) override {
    if (const auto step = steps_.next(pts)) enqueue_motion(in, background_, *step, stream);
  }
  void add_metadata(FrameMetadata& metadata) const override { metadata.add(score_of(rule_, background_.count())); }

 private:
  Settings settings_;
  MotionRule rule_{.right = 1, .bottom = 1};
  MotionBackground background_;
  Steps steps_;
};

constexpr std::array parameters{
    ParameterInfo{"sensitivity", 1, 100, 50, true, "", "higher: smaller and fainter changes are motion"},
    ParameterInfo{"x", 0, 99, 0, false, "%", "left edge of the zone that is watched, of the frame's width"},
    ParameterInfo{"y", 0, 99, 0, false, "%", "its top edge, of the frame's height"},
    ParameterInfo{"width", 1, 100, 100, false, "%", "its width; what would lie beyond the frame is left out"},
    ParameterInfo{"height", 1, 100, 100, false, "%", "its height"},
};

const FilterRegistration registration{
    {"motion", "measures how much of the frame moves, and hands it on unchanged", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Motion>(given); },
     gpu_path<GpuMotion>(), true}};

}  // namespace
}  // namespace campipe
