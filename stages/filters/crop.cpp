// crop: a rectangle of the frame. It begins at even numbers, since two samples of luma share one of chroma.
#include <algorithm>
#include <string>

#include "core/error.h"
#include "stages/filters/filter.h"
#include "stages/filters/gpu_pointwise.h"
#include "stages/filters/planes.h"

namespace campipe {
namespace {

struct Rectangle {
  int x, y, width, height;

  explicit Rectangle(const FilterParameters& parameters)
      : x(static_cast<int>(parameters.find("x")->second)),
        y(static_cast<int>(parameters.find("y")->second)),
        width(static_cast<int>(parameters.find("width")->second)),
        height(static_cast<int>(parameters.find("height")->second)) {}

  [[nodiscard]] FrameFormat cut_from(const FrameFormat& in) const {
    if (x + width > in.width || y + height > in.height) {
      const auto size = [](int w, int h) { return std::to_string(w) + "x" + std::to_string(h); };
      throw Error("crop: " + size(width, height) + " at " + std::to_string(x) + ", " + std::to_string(y) +
                  " does not lie in the frame, which is " + size(in.width, in.height));
    }
    FrameFormat out = in;
    out.width = width;
    out.height = height;
    return out;
  }
};

class Crop : public Filter {
 public:
  explicit Crop(const FilterParameters& parameters) : rectangle_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override { return rectangle_.cut_from(in); }

  [[nodiscard]] RowRange needs(int plane, RowRange rows) const override {
    const int down = plane == 0 ? rectangle_.y : rectangle_.y / 2;
    return {rows.begin + down, rows.end + down};
  }

  void process(const FrameView& in, const MutableFrameView& out) override {
    for (int i = 0; i < plane_count(in.format.pixels); ++i) {
      const MutablePlane to = plane_of(out, i);
      const int scale = i == 0 ? 1 : 2;
      Plane from = plane_of(in, i);
      from.data = from.row(rectangle_.y / scale) + rectangle_.x / scale * from.channels;
      from.width = to.width;
      from.height = to.height;
      copy_plane(from, to);
    }
  }

 private:
  Rectangle rectangle_;
};

class GpuCrop : public GpuPointwise {
 public:
  explicit GpuCrop(const FilterParameters& parameters) : rectangle_(parameters) {
    pointwise_.x = rectangle_.x;
    pointwise_.y = rectangle_.y;
  }
  FrameFormat configure(const FrameFormat& in) override { return rectangle_.cut_from(in); }

 private:
  Rectangle rectangle_;
};

constexpr std::array parameters{
    ParameterInfo{"x", 0, 8190, 0, true, "samples", "left edge in the input", 2},
    ParameterInfo{"y", 0, 8190, 0, true, "samples", "top edge in the input", 2},
    ParameterInfo{"width", 16, 8192, std::nullopt, true, "samples", "width of the output"},
    ParameterInfo{"height", 16, 8192, std::nullopt, true, "samples", "height of the output"},
};

const FilterRegistration registration{
    {"crop", "cuts out a rectangle", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Crop>(given); },
     gpu_path<GpuCrop>()}};

}  // namespace
}  // namespace campipe
