// resize: to a given size, whatever the shape (the sample aspect ratio, where known, is changed to fit).
#include <algorithm>
#include <numeric>

#include "stages/filters/filter.h"
#include "stages/filters/scaler.h"

namespace campipe {
namespace {

// The frame keeps its shape on the screen: what it loses in width, its samples gain.
void keep_display_aspect(const FrameFormat& in, FrameFormat& out) {
  if (in.sample_aspect_num <= 0 || in.sample_aspect_den <= 0) return;
  std::int64_t num = std::int64_t{in.sample_aspect_num} * in.width * out.height;
  std::int64_t den = std::int64_t{in.sample_aspect_den} * in.height * out.width;
  const std::int64_t common = std::gcd(num, den);
  num /= common;
  den /= common;
  while (std::max(num, den) > 65535) {  // all that H.264 can carry
    num = std::max<std::int64_t>(num / 2, 1);
    den = std::max<std::int64_t>(den / 2, 1);
  }
  out.sample_aspect_num = static_cast<std::int32_t>(num);
  out.sample_aspect_den = static_cast<std::int32_t>(den);
}

struct OutputSize {
  int width;
  int height;

  explicit OutputSize(const FilterParameters& parameters)
      : width(static_cast<int>(parameters.find("width")->second)),
        height(static_cast<int>(parameters.find("height")->second)) {}

  [[nodiscard]] FrameFormat scaled(const FrameFormat& in) const {
    FrameFormat out = in;
    out.width = width;
    out.height = height;
    keep_display_aspect(in, out);
    return out;
  }
};

class Resize : public Filter {
 public:
  explicit Resize(const FilterParameters& parameters) : size_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override {
    const FrameFormat out = size_.scaled(in);
    scaler_.configure(in, out);
    return out;
  }
  [[nodiscard]] RowRange needs(int plane, RowRange rows) const override { return scaler_.needs(plane, rows); }
  void process(const FrameView& in, const MutableFrameView& out) override { scaler_.scale(in, out); }

 private:
  OutputSize size_;
  Scaler scaler_;
};

class GpuResize : public GpuFilter {
 public:
  explicit GpuResize(const FilterParameters& parameters) : size_(parameters) {}

  FrameFormat configure(const FrameFormat& in) override {
    const FrameFormat out = size_.scaled(in);
    kernel_ = make_resize_kernel(in, out);
    return out;
  }
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) override {
    enqueue_resize(in, out, kernel_, stream);
  }

 private:
  OutputSize size_;
  ResizeKernel kernel_;
};

constexpr std::array parameters{
    ParameterInfo{"width", 16, 8192, std::nullopt, true, "samples", "width of the output"},
    ParameterInfo{"height", 16, 8192, std::nullopt, true, "samples", "height of the output"},
};

const FilterRegistration registration{
    {"resize", "scales to a given size", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Resize>(given); },
     gpu_path<GpuResize>()}};

}  // namespace
}  // namespace campipe
