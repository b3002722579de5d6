// fit: to a given size, keeping the shape that the frame has on the screen: it is scaled until it fills the size in one
// direction, and lies in the middle of a background in the other one ("letterboxed").
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/frame_colour.h"
#include "core/frame_region.h"
#include "kernels/fill.h"
#include "stages/filters/filter.h"
#include "stages/filters/scaler.h"

namespace campipe {
namespace {

int even(double size) { return static_cast<int>(2 * std::lround(size / 2)); }

struct Placement {
  int width;
  int height;
  Rgb background;

  explicit Placement(const FilterParameters& parameters) {
    const auto number = [&](const char* name) { return static_cast<int>(parameters.find(name)->second); };
    const auto level = [&](const char* name) { return static_cast<std::uint8_t>(number(name)); };
    width = number("width");
    height = number("height");
    background = {level("red"), level("green"), level("blue")};
  }

  // Where a sample's aspect ratio is known, those of the output are square.
  [[nodiscard]] FrameFormat output(const FrameFormat& in) const {
    FrameFormat out = in;
    out.width = width;
    out.height = height;
    if (has_aspect(in)) out.sample_aspect_num = out.sample_aspect_den = 1;
    return out;
  }

  // What the frame becomes lies there.
  [[nodiscard]] FrameRegion inner(const FrameFormat& in) const {
    const double sample_aspect = has_aspect(in) ? static_cast<double>(in.sample_aspect_num) / in.sample_aspect_den : 1;
    const double aspect = in.width * sample_aspect / in.height;
    FrameRegion region{0, 0, width, height};
    if (aspect > static_cast<double>(width) / height)
      region.height = std::clamp(even(width / aspect), 2, height);
    else
      region.width = std::clamp(even(height * aspect), 2, width);
    region.x = (width - region.width) / 4 * 2;
    region.y = (height - region.height) / 4 * 2;
    return region;
  }

  static bool has_aspect(const FrameFormat& format) {
    return format.sample_aspect_num > 0 && format.sample_aspect_den > 0;
  }
};

FrameFormat format_of(const FrameFormat& out, const FrameRegion& region) {
  FrameFormat format = out;
  format.width = region.width;
  format.height = region.height;
  return format;
}

void fill(std::uint8_t* row, int first, int count, int channels, const std::uint8_t* colour) {
  row += first * channels;
  if (channels == 1 || colour[0] == colour[1]) {
    std::memset(row, colour[0], static_cast<std::size_t>(count * channels));
  } else {
    for (int x = 0; x < count; ++x) std::memcpy(row + 2 * x, colour, 2);
  }
}

// In the rows that are there.
void fill_around(const MutablePlane& plane, const FrameRegion& inner, const std::uint8_t* colour) {
  const int right = inner.x + inner.width;
  for (int y = plane.rows.begin; y < plane.rows.end; ++y) {
    if (y < inner.y || y >= inner.y + inner.height) {
      fill(plane.row(y), 0, plane.width, plane.channels, colour);
    } else {
      fill(plane.row(y), 0, inner.x, plane.channels, colour);
      fill(plane.row(y), right, plane.width - right, plane.channels, colour);
    }
  }
}

class Fit : public Filter {
 public:
  explicit Fit(const FilterParameters& parameters) : placement_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override {
    const FrameFormat out = placement_.output(in);
    inner_ = placement_.inner(in);
    colour_ = yuv_colour(placement_.background, out);
    scaler_.configure(in, format_of(out, inner_));
    return out;
  }

  // None where there is background alone.
  [[nodiscard]] RowRange needs(int plane, RowRange rows) const override {
    const int scale = plane == 0 ? 1 : 2;
    const RowRange inside = rows_inside(rows, inner_.y / scale, inner_.height / scale);
    return inside.count() == 0 ? RowRange{0, 0} : scaler_.needs(plane, inside);
  }

  void process(const FrameView& in, const MutableFrameView& out) override {
    const std::array components{colour_.y, colour_.u, colour_.v};
    const FrameRegion chroma{inner_.x / 2, inner_.y / 2, inner_.width / 2, inner_.height / 2};
    for (int i = 0; i < plane_count(out.format.pixels); ++i)
      fill_around(plane_of(out, i), i == 0 ? inner_ : chroma, &components[static_cast<std::size_t>(i)]);
    scaler_.scale(in, region_of(out, inner_));
  }

 private:
  Placement placement_;
  FrameRegion inner_;
  YuvColour colour_;
  Scaler scaler_;
};

class GpuFit : public GpuFilter {
 public:
  explicit GpuFit(const FilterParameters& parameters) : placement_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override {
    const FrameFormat out = placement_.output(in);
    inner_ = placement_.inner(in);
    colour_ = yuv_colour(placement_.background, out);
    kernel_ = make_resize_kernel(in, format_of(out, inner_));
    return out;
  }
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) override {
    const bool fills_all = inner_.width == out.format.width && inner_.height == out.format.height;
    if (!fills_all) enqueue_fill_around(out, inner_, colour_, stream);
    enqueue_resize(in, region_of(out, inner_), kernel_, stream);
  }

 private:
  Placement placement_;
  FrameRegion inner_;
  YuvColour colour_;
  ResizeKernel kernel_;
};

constexpr std::array parameters{
    ParameterInfo{"width", 16, 8192, std::nullopt, true, "samples", "width of the output", 2},
    ParameterInfo{"height", 16, 8192, std::nullopt, true, "samples", "height of the output", 2},
    ParameterInfo{"red", 0, 255, 0, true, "", "red of the background"},
    ParameterInfo{"green", 0, 255, 0, true, "", "green of the background"},
    ParameterInfo{"blue", 0, 255, 0, true, "", "blue of the background"},
};

const FilterRegistration registration{
    {"fit", "scales to a given size, keeping the shape, on a background", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Fit>(given); },
     gpu_path<GpuFit>()}};

}  // namespace
}  // namespace campipe
