// undistort: takes the distortion of a lens out of the frame, with OpenCV's camera model (the formula stands in
// kernels/undistort.h), linear between samples; what the camera did not see is black. The same camera matrix before and
// after, like cv::undistort without a new one.
//
// The CPU looks up where each sample of the output lies in the input in a map that the first frame makes, in 1024ths of
// a sample, one for luma and one for chroma, of the rows that are asked for: 8 bytes a position, 83 MB for a whole
// frame of 3840x2160. Reading that is several times faster than computing it. The GPU computes it: there, reading is
// what costs.
#include <algorithm>
#include <cmath>

#include "kernels/undistort.h"
#include "stages/filters/filter.h"
#include "stages/filters/levels.h"
#include "stages/filters/planes.h"

namespace campipe {
namespace {

// Where the user gave none, a focal length of the frame's width (a lens of 53°), and the middle of the frame.
Lens lens_of(const FilterParameters& parameters, const FrameFormat& in) {
  const auto given = [&](const char* name) { return parameters.find(name)->second; };
  const auto or_else = [](double value, double fallback) { return value != 0 ? value : fallback; };
  Lens lens{.k1 = given("k1"), .k2 = given("k2"), .k3 = given("k3"), .p1 = given("p1"), .p2 = given("p2")};
  lens.fx = or_else(given("fx"), in.width);
  lens.fy = or_else(given("fy"), lens.fx);
  lens.cx = or_else(given("cx"), (in.width - 1) / 2.0);
  lens.cy = or_else(given("cy"), (in.height - 1) / 2.0);
  return lens;
}

struct Point {
  double x, y;
};

// The shift is computed and then added, so that a lens without distortion moves nothing, not even by a rounding.
Point place_in_input(const Lens& lens, double u, double v) {
  const double a = (u - lens.cx) / lens.fx;
  const double b = (v - lens.cy) / lens.fy;
  const double r = a * a + b * b;
  const double radial = r * (lens.k1 + r * (lens.k2 + r * lens.k3));
  return {u + lens.fx * (a * radial + 2 * lens.p1 * a * b + lens.p2 * (r + 2 * a * a)),
          v + lens.fy * (b * radial + 2 * lens.p2 * a * b + lens.p1 * (r + 2 * b * b))};
}

constexpr int fraction_bits = 10;
constexpr int one = 1 << fraction_bits;

struct Place {
  std::int32_t x, y;  // in 1024ths of a sample, at most a little outside of the frame
};

// A sample further outside than this is as black as one here. Also for what is no number.
std::int32_t to_fixed(double value, int size) {
  if (!(value > -2)) return -2 * one;
  return static_cast<std::int32_t>(std::lround(std::min(value, size + 1.0) * one));
}

class Undistort : public Filter {
 public:
  explicit Undistort(const FilterParameters& parameters) : parameters_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override {
    lens_ = lens_of(parameters_, in);
    grids_ = {Grid{in.width, in.height, 1, 0}, {(in.width + 1) / 2, (in.height + 1) / 2, 2, 0.5}};
    maps_ = {};
    return in;
  }

  // Places are looked up so far apart that between two of them none lies more than a row off the line through them.
  // That is one row more at either end, and so is what the GPU's places may lie further: a 256th of a sample.
  [[nodiscard]] RowRange needs(int plane, RowRange rows) const override {
    const Grid& grid = grids_[plane == 0 ? 0 : 1];
    if (rows == RowRange{0, grid.height}) return rows;  // near enough, and sooner known
    const int apart = columns_apart(grid);
    int first = grid.height, last = -1;
    for (int y = rows.begin; y < rows.end; ++y) {
      for (int x = 0; x < grid.width; x = x + 1 < grid.width ? std::min(x + apart, grid.width - 1) : grid.width) {
        const int row = place_of(grid, x, y).y >> fraction_bits;
        first = std::min(first, row);
        last = std::max(last, row + 1);
      }
    }
    return {first - 2, last + 3};
  }

  void process(const FrameView& in, const MutableFrameView& out) override {
    move_plane<1>(plane_of(in, 0), plane_of(out, 0), map_of(0, out), luma_black(in.format));
    const Place* const chroma = map_of(1, out);
    for (int i = 1; i < plane_count(in.format.pixels); ++i) {
      const Plane from = plane_of(in, i);
      if (from.channels == 2) {
        move_plane<2>(from, plane_of(out, i), chroma, chroma_black);
      } else {
        move_plane<1>(from, plane_of(out, i), chroma, chroma_black);
      }
    }
  }

 private:
  // A position of a plane is `scale` samples of luma wide, and the first one's middle `offset` behind luma's: chroma
  // lies in the middle of its four luma samples.
  struct Grid {
    int width, height;
    int scale;
    double offset;
  };
  struct Map {
    RowRange rows{0, 0};
    std::vector<Place> places;
  };

  [[nodiscard]] Place place_of(const Grid& grid, int x, int y) const {
    const Point place = place_in_input(lens_, grid.scale * x + grid.offset, grid.scale * y + grid.offset);
    return {to_fixed((place.x - grid.offset) / grid.scale, grid.width),
            to_fixed((place.y - grid.offset) / grid.scale, grid.height)};
  }

  // How many columns lie between two whose rows are a line but for one row: a chord of length h misses a function by at
  // most h² / 8 times its second derivative, here that of place_in_input()'s y across. 1: no more than that.
  [[nodiscard]] int columns_apart(const Grid& grid) const {
    const auto furthest = [&](double middle, int size, double f) {
      return std::max(std::abs(middle), std::abs(size * grid.scale - middle)) / f;
    };
    const double a = furthest(lens_.cx, grid.width, lens_.fx), b = furthest(lens_.cy, grid.height, lens_.fy);
    const double r = a * a + b * b;
    const double bend = b * (2 * std::abs(lens_.k1) + std::abs(lens_.k2) * (4 * r + 8 * a * a) +
                             std::abs(lens_.k3) * (6 * r * r + 24 * a * a * r)) +
                        2 * std::abs(lens_.p1);
    const double apart = lens_.fx * std::sqrt(8 / (lens_.fy * bend)) / grid.scale;
    return apart >= 1 ? static_cast<int>(std::min<double>(apart, grid.width)) : 1;
  }

  // Of the rows of `out`, from its first on.
  const Place* map_of(int plane, const MutableFrameView& out) {
    const auto i = static_cast<std::size_t>(plane);
    const RowRange rows = plane_rows(out, plane);
    Map& map = maps_[i];
    if (map.rows != rows) {
      map.places.resize(static_cast<std::size_t>(grids_[i].width) * static_cast<std::size_t>(rows.end - rows.begin));
      Place* to = map.places.data();
      for (int y = rows.begin; y < rows.end; ++y) {
        for (int x = 0; x < grids_[i].width; ++x) *to++ = place_of(grids_[i], x, y);
      }
      map.rows = rows;
    }
    return map.places.data();
  }

  template <int channels>
  static void move_plane(const Plane& in, const MutablePlane& out, const Place* place, std::uint8_t black) {
    const auto last_column = static_cast<unsigned>(in.width - 1), last_row = static_cast<unsigned>(in.height - 1);
    for (int y = out.rows.begin; y < out.rows.end; ++y) {
      std::uint8_t* to = out.row(y);
      for (int x = 0; x < out.width; ++x, ++place, to += channels) {
        const int column = place->x >> fraction_bits, row = place->y >> fraction_bits;
        const bool inside = static_cast<unsigned>(column) < last_column && static_cast<unsigned>(row) < last_row;
        if (inside) {
          const std::uint8_t* from = in.row(row) + column * channels;
          for (int c = 0; c < channels; ++c)
            to[c] = blend(*place, from[c], from[c + channels], from[c + in.stride], from[c + in.stride + channels]);
        } else {
          for (int c = 0; c < channels; ++c) to[c] = at_edge(in, *place, c, black);
        }
      }
    }
  }

  static std::uint8_t blend(const Place& place, int left, int right, int left_below, int right_below) {
    const int fx = place.x & (one - 1), fy = place.y & (one - 1);
    const int upper = left * one + fx * (right - left);
    const int lower = left_below * one + fx * (right_below - left_below);
    return static_cast<std::uint8_t>((upper * (one - fy) + lower * fy + one * one / 2) >> 2 * fraction_bits);
  }

  static std::uint8_t at_edge(const Plane& in, const Place& place, int channel, std::uint8_t black) {
    const int column = place.x >> fraction_bits, row = place.y >> fraction_bits;
    const auto at = [&](int x, int y) {
      const bool there = x >= 0 && y >= 0 && x < in.width && y < in.height;
      return there ? in.row(y)[x * in.channels + channel] : black;
    };
    return blend(place, at(column, row), at(column + 1, row), at(column, row + 1), at(column + 1, row + 1));
  }

  FilterParameters parameters_;
  Lens lens_;
  std::array<Grid, 2> grids_{};  // luma's, chroma's
  std::array<Map, 2> maps_;
};

class GpuUndistort : public GpuFilter {
 public:
  explicit GpuUndistort(const FilterParameters& parameters) : parameters_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override {
    lens_ = lens_of(parameters_, in);
    return in;
  }
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) override {
    enqueue_undistort(in, out, lens_, luma_black(in.format), stream);
  }

 private:
  FilterParameters parameters_;
  Lens lens_;
};

constexpr std::array parameters{
    ParameterInfo{"k1", -10, 10, 0, false, "", "radial distortion, second power"},
    ParameterInfo{"k2", -10, 10, 0, false, "", "radial distortion, fourth power"},
    ParameterInfo{"p1", -1, 1, 0, false, "", "tangential distortion, vertical"},
    ParameterInfo{"p2", -1, 1, 0, false, "", "tangential distortion, horizontal"},
    ParameterInfo{"k3", -10, 10, 0, false, "", "radial distortion, sixth power"},
    ParameterInfo{"fx", 0, 65536, 0, false, "samples", "focal length across; 0: the frame's width"},
    ParameterInfo{"fy", 0, 65536, 0, false, "samples", "focal length down; 0: as across"},
    ParameterInfo{"cx", 0, 8192, 0, false, "samples", "optical axis from the left; 0: the middle"},
    ParameterInfo{"cy", 0, 8192, 0, false, "samples", "optical axis from the top; 0: the middle"},
};

const FilterRegistration registration{
    {"undistort", "takes out the distortion of a lens (OpenCV's camera model)", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Undistort>(given); },
     gpu_path<GpuUndistort>()}};

}  // namespace
}  // namespace campipe
