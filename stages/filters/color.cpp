// color: brightness, contrast, saturation and gamma, like FFmpeg's eq. Each sample goes through a table:
//
//   luma:   v = (Y - black) / range;  w = contrast · (v - 0.5) + 0.5 + brightness;  Y' = black + range · w^(1 / gamma)
//   chroma: C' = 128 + saturation · (C - 128)
//
// rounded and clipped to 0…255, where black is 16 and range 219, or 0 and 255 in frames of full range (FFmpeg's eq
// takes all frames for those). Below black there is no power: w stays what it is. So neutral values change nothing,
// not even what lies beyond black and white.
#include <algorithm>
#include <cmath>

#include "stages/filters/filter.h"
#include "stages/filters/gpu_pointwise.h"
#include "stages/filters/levels.h"
#include "stages/filters/planes.h"

namespace campipe {
namespace {

using Table = std::array<std::uint8_t, 256>;

struct Adjustment {
  double brightness, contrast, saturation, gamma;

  explicit Adjustment(const FilterParameters& parameters)
      : brightness(parameters.find("brightness")->second),
        contrast(parameters.find("contrast")->second),
        saturation(parameters.find("saturation")->second),
        gamma(parameters.find("gamma")->second) {}
};

std::uint8_t rounded(double value) { return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0))); }

Table luma_table(const Adjustment& by, const FrameFormat& format) {
  const double black = luma_black(format);
  const double range = is_full_range(format) ? 255 : 219;
  Table table;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double linear = by.contrast * ((static_cast<double>(i) - black) / range - 0.5) + 0.5 + by.brightness;
    table[i] = rounded(black + range * (linear > 0 ? std::pow(linear, 1 / by.gamma) : linear));
  }
  return table;
}

Table chroma_table(const Adjustment& by) {
  Table table;
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = rounded(128 + by.saturation * (static_cast<double>(i) - 128));
  return table;
}

void look_up_plane(const Plane& in, const MutablePlane& out, const Table& table) {
  for (int y = out.rows.begin; y < out.rows.end; ++y)
    std::transform(in.row(y), in.row(y) + in.row_bytes(), out.row(y),
                   [&](std::uint8_t sample) { return table[sample]; });
}

class Color : public Filter {
 public:
  explicit Color(const FilterParameters& parameters) : adjustment_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override {
    luma_ = luma_table(adjustment_, in);
    chroma_ = chroma_table(adjustment_);
    return in;
  }

  [[nodiscard]] RowRange needs(int /*plane*/, RowRange rows) const override { return rows; }

  void process(const FrameView& in, const MutableFrameView& out) override {
    look_up_plane(plane_of(in, 0), plane_of(out, 0), luma_);
    for (int i = 1; i < plane_count(in.format.pixels); ++i) {
      if (adjustment_.saturation == 1) {
        copy_plane(plane_of(in, i), plane_of(out, i));
      } else {
        look_up_plane(plane_of(in, i), plane_of(out, i), chroma_);
      }
    }
  }

 private:
  Adjustment adjustment_;
  Table luma_{};
  Table chroma_{};
};

class GpuColor : public GpuPointwise {
 public:
  explicit GpuColor(const FilterParameters& parameters) : adjustment_(parameters) {}
  FrameFormat configure(const FrameFormat& in) override {
    pointwise_.luma = luma_table(adjustment_, in);
    pointwise_.chroma = chroma_table(adjustment_);
    return in;
  }

 private:
  Adjustment adjustment_;
};

constexpr std::array parameters{
    ParameterInfo{"brightness", -1, 1, 0, false, "", "added to luma, as a part of the way from black to white"},
    ParameterInfo{"contrast", 0, 4, 1, false, "", "factor of luma about mid-grey"},
    ParameterInfo{"saturation", 0, 4, 1, false, "", "factor of the colours about grey"},
    ParameterInfo{"gamma", 0.1, 10, 1, false, "", "above 1, dark parts get brighter; below 1, darker"},
};

const FilterRegistration registration{
    {"color", "brightness, contrast, saturation and gamma", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Color>(given); },
     gpu_path<GpuColor>()}};

}  // namespace
}  // namespace campipe
