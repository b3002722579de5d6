// deinterlace: keeps the lines of one field and makes the others, of each frame by itself, at the same rate. A sample
// that shows no combing, and has no neighbour in its line that does, stays as it is, so that what stands still keeps
// all of its lines; the others are interpolated along the edge that goes through them (kernels/deinterlace_rule.h).
//
// Combing is looked for as in TFM (FFmpeg's fieldmatch): a sample lies beyond both of its neighbours above and below;
// but what stands for it is the field's own next line, not a 5-tap filter, so that still lines stay. The interpolation
// is the spatial one of yadif (MPlayer, FFmpeg), an edge-based line average (ELA) of five directions, each of which is
// judged by three differences.
#include <vector>

#include "kernels/deinterlace.h"
#include "kernels/deinterlace_rule.h"
#include "stages/filters/filter.h"
#include "stages/filters/planes.h"

namespace campipe {
namespace {

int field_of(const FilterParameters& parameters) { return static_cast<int>(parameters.find("field")->second); }

// A line that is not kept, with those around it.
struct Lines {
  const std::uint8_t *up2, *up, *own, *down, *down2;
  int width;
  int channels;

  Lines(const Plane& in, int y)
      : up2(line(in, y - 2)),
        up(line(in, y - 1)),
        own(line(in, y)),
        down(line(in, y + 1)),
        down2(line(in, y + 2)),
        width(in.width),
        channels(in.channels) {}

  static const std::uint8_t* line(const Plane& in, int y) { return in.row(reflect_101(y, in.height)); }
  [[nodiscard]] int bytes() const { return width * channels; }
};

// Unsigned bytes have no absolute value: differences that would be negative are 0.
cv::v_uint8x16 combed_16(const Lines& lines, int x) {
  const cv::v_uint8x16 up = cv::v_load(lines.up + x), own = cv::v_load(lines.own + x),
                       down = cv::v_load(lines.down + x);
  const cv::v_uint8x16 above = cv::v_min(own - up, own - down), below = cv::v_min(up - own, down - own);
  const cv::v_uint8x16 from_own =
      cv::v_min(cv::v_absdiff(own, cv::v_load(lines.up2 + x)), cv::v_absdiff(own, cv::v_load(lines.down2 + x)));
  return cv::v_max(above, below) > from_own + cv::v_setall_u8(comb_threshold);
}

// 255 where a sample shows combing, else 0; one position beyond the line's ends as well.
void find_combs(const Lines& lines, std::uint8_t* combs) {
  int x = 0;
  for (; x + 16 <= lines.bytes(); x += 16) cv::v_store(combs + x, combed_16(lines, x));
  for (; x < lines.bytes(); ++x)
    combs[x] = is_combed(lines.up2[x], lines.up[x], lines.own[x], lines.down[x], lines.down2[x]) ? 255 : 0;
  mirror_ends(combs, lines.width, lines.channels, 1);
}

cv::v_uint8x16 mean_16(const cv::v_uint8x16& a, const cv::v_uint8x16& b) {
  const cv::v_uint8x16 half = cv::v_reinterpret_as_u8(cv::v_shr<1>(cv::v_reinterpret_as_u16(a ^ b)));
  return (a | b) - (half & cv::v_setall_u8(127));
}

// edge_directed() for 16 bytes at once.
class Edges16 {
 public:
  Edges16(const Lines& lines, int x) : up_(lines.up + x), down_(lines.down + x), step_(lines.channels) {
    a_ = above(0);
    b_ = below(0);
    best_ = misfit(0);
    // Where nothing is wrong, nothing is better: 0 does not have to become -1.
    best_ = best_ - cv::v_setall_u8(1);
    for (const int side : {-1, 1}) take_if_better(2 * side, take_if_better(side, cv::v_setall_u8(255)));
  }

  [[nodiscard]] cv::v_uint8x16 mean() const { return mean_16(a_, b_); }

 private:
  [[nodiscard]] cv::v_uint8x16 above(int k) const { return cv::v_load(up_ + k * step_); }
  [[nodiscard]] cv::v_uint8x16 below(int k) const { return cv::v_load(down_ + k * step_); }
  [[nodiscard]] cv::v_uint8x16 misfit(int k) const {
    return cv::v_absdiff(above(k - 1), below(-k - 1)) + cv::v_absdiff(above(k), below(-k)) +
           cv::v_absdiff(above(k + 1), below(-k + 1));
  }
  // Where `allowed`; returns where it was.
  cv::v_uint8x16 take_if_better(int k, const cv::v_uint8x16& allowed) {
    const cv::v_uint8x16 found = misfit(k);
    const cv::v_uint8x16 better = (found < best_) & allowed;
    best_ = cv::v_select(better, found, best_);
    a_ = cv::v_select(better, above(k), a_);
    b_ = cv::v_select(better, below(-k), b_);
    return better;
  }

  const std::uint8_t* up_;
  const std::uint8_t* down_;
  int step_;
  cv::v_uint8x16 a_, b_, best_;
};

std::uint8_t made_sample(const Lines& lines, int x) {
  const int channel = x % lines.channels;
  const auto along = [&](const std::uint8_t* line) {
    return
        [&, line](int k) { return line[reflect_101(x / lines.channels + k, lines.width) * lines.channels + channel]; };
  };
  return static_cast<std::uint8_t>(edge_directed(along(lines.up), along(lines.down)));
}

void make_line(const Lines& lines, const std::uint8_t* combs, std::uint8_t* out) {
  const int step = lines.channels;
  const int reach = edge_reach * step;
  for (int x = 0; x < lines.bytes();) {
    if (x < reach || x + 16 + reach > lines.bytes()) {
      const bool keep = (combs[x - step] | combs[x] | combs[x + step]) == 0;
      out[x] = keep ? lines.own[x] : made_sample(lines, x);
      ++x;
      continue;
    }
    const cv::v_uint8x16 combed = cv::v_load(combs + x - step) | cv::v_load(combs + x) | cv::v_load(combs + x + step);
    const cv::v_uint8x16 own = cv::v_load(lines.own + x);
    cv::v_store(out + x, cv::v_check_any(combed) ? cv::v_select(combed, Edges16(lines, x).mean(), own) : own);
    x += 16;
  }
}

class Deinterlace : public Filter {
 public:
  explicit Deinterlace(const FilterParameters& parameters) : field_(field_of(parameters)) {}

  FrameFormat configure(const FrameFormat& in) override {
    combs_.assign(static_cast<std::size_t>(in.width) + 1 + 2 * margin, 0);
    return in;
  }

  [[nodiscard]] RowRange needs(int /*plane*/, RowRange rows) const override { return rows_around(rows, 2); }

  void process(const FrameView& in, const MutableFrameView& out) override {
    for (int i = 0; i < plane_count(in.format.pixels); ++i) make_plane(plane_of(in, i), plane_of(out, i));
  }

 private:
  static constexpr int margin = 2;  // bytes of a position

  void make_plane(const Plane& in, const MutablePlane& out) {
    for (int y = out.rows.begin; y < out.rows.end; ++y) {
      if (y % 2 == field_) {
        std::memcpy(out.row(y), in.row(y), static_cast<std::size_t>(in.row_bytes()));
        continue;
      }
      const Lines lines(in, y);
      find_combs(lines, combs_.data() + margin);
      make_line(lines, combs_.data() + margin, out.row(y));
    }
  }

  int field_;
  std::vector<std::uint8_t> combs_;
};

class GpuDeinterlace : public GpuFilter {
 public:
  explicit GpuDeinterlace(const FilterParameters& parameters) : field_(field_of(parameters)) {}

  FrameFormat configure(const FrameFormat& in) override { return in; }
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) override {
    enqueue_deinterlace(in, out, field_, stream);
  }

 private:
  int field_;
};

constexpr std::array parameters{
    ParameterInfo{"field", 0, 1, 0, true, "", "whose lines are kept: 0, the top one's (the first, third, …), or 1"},
};

const FilterRegistration registration{
    {"deinterlace", "makes whole frames out of one field of each", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Deinterlace>(given); },
     gpu_path<GpuDeinterlace>()}};

}  // namespace
}  // namespace campipe
