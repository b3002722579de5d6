// Frames and formulas for the filters' tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "core/frame.h"

namespace campipe {

inline constexpr std::uint8_t guard = 0xA5;

inline FrameFormat format_of(PixelFormat pixels, int width, int height) {
  return {.pixels = pixels, .width = width, .height = height};
}

// A frame whose rows are further apart than they are wide, and whose memory ends with its last sample.
struct Picture {
  explicit Picture(const FrameFormat& format, std::uint8_t fill = guard) {
    view.format = format;
    for (int i = 0; i < plane_count(format.pixels); ++i) {
      const PlaneSize size = plane_size(format, i);
      const int stride = size.width + 7 + i;
      auto& plane = planes.emplace_back(static_cast<std::size_t>(stride * (size.height - 1) + size.width), guard);
      view.data[static_cast<std::size_t>(i)] = plane.data();
      view.stride[static_cast<std::size_t>(i)] = stride;
    }
    each([&](std::uint8_t& sample, int, int, int) { sample = fill; });
  }

  Picture(Picture&&) = default;  // a copy's view would be of the original's samples
  Picture& operator=(Picture&&) = default;

  void each(const std::function<void(std::uint8_t&, int plane, int x, int y)>& visit) {
    for (int i = 0; i < plane_count(view.format.pixels); ++i)
      for (int y = 0; y < plane_size(view.format, i).height; ++y)
        for (int x = 0; x < plane_size(view.format, i).width; ++x) visit(at(i, x, y), i, x, y);
  }
  std::uint8_t& at(int plane, int x, int y) {
    return view.data[static_cast<std::size_t>(plane)][y * view.stride[static_cast<std::size_t>(plane)] + x];
  }
  bool padding_untouched() {
    for (int i = 0; i < plane_count(view.format.pixels); ++i) {
      const PlaneSize size = plane_size(view.format, i);
      for (int y = 0; y + 1 < size.height; ++y)
        for (int x = size.width; x < view.stride[static_cast<std::size_t>(i)]; ++x)
          if (at(i, x, y) != guard) return false;
    }
    return true;
  }
  FrameRef ref() { return {as_const(view), nullptr}; }

  std::vector<std::vector<std::uint8_t>> planes;
  MutableFrameView view;
};

inline Picture random_picture(const FrameFormat& format, unsigned seed = 1) {
  Picture picture(format);
  std::minstd_rand random(seed);
  picture.each([&](std::uint8_t& sample, int, int, int) { sample = static_cast<std::uint8_t>(random() >> 7); });
  return picture;
}

// Black and white in blocks, lines and dots: what shows ringing, overflow and wrong borders.
inline Picture structured_picture(const FrameFormat& format) {
  Picture picture(format);
  picture.each([](std::uint8_t& sample, int, int x, int y) {
    const bool white = x / 12 % 2 != y / 9 % 2;
    sample = x % 17 == 3 || y % 13 == 5 ? 128 : white ? 255 : 0;
  });
  return picture;
}

// Exact references, in double precision.

inline int mirrored(int i, int size) {
  const int period = std::max(1, 2 * (size - 1));
  i = ((i % period) + period) % period;
  return std::min(i, period - i);
}

struct Samples {  // of one component
  int width, height;
  std::vector<double> value;
  double& at(int x, int y) { return value[static_cast<std::size_t>(y * width + x)]; }
};

// Of i420, any plane.
inline Samples samples_of(Picture& picture, int plane) {
  const PlaneSize size = plane_size(picture.view.format, plane);
  Samples samples{size.width, size.height, {}};
  for (int y = 0; y < samples.height; ++y)
    for (int x = 0; x < samples.width; ++x) samples.value.push_back(picture.at(plane, x, y));
  return samples;
}

inline Samples luma_of(Picture& picture) { return samples_of(picture, 0); }

inline Samples convolved(Samples in, const std::vector<double>& kernel) {
  const int radius = static_cast<int>(kernel.size() / 2);
  for (const bool across : {true, false}) {
    Samples out = in;
    for (int y = 0; y < in.height; ++y)
      for (int x = 0; x < in.width; ++x) {
        double sum = 0;
        for (int i = -radius; i <= radius; ++i)
          sum += kernel[static_cast<std::size_t>(i + radius)] *
                 (across ? in.at(mirrored(x + i, in.width), y) : in.at(x, mirrored(y + i, in.height)));
        out.at(x, y) = sum;
      }
    in = out;
  }
  return in;
}

inline std::vector<double> gaussian(double sigma) {
  const int radius = static_cast<int>(std::ceil(6 * sigma));
  std::vector<double> kernel;
  double sum = 0;
  for (int i = -radius; i <= radius; ++i) sum += kernel.emplace_back(std::exp(-i * i / (2 * sigma * sigma)));
  for (double& weight : kernel) weight /= sum;
  return kernel;
}

// One direction: the mean over the area where it shrinks, linear where it grows.
inline double resampled(const std::function<double(int)>& in, int size, double scale, int i) {
  if (scale > 1) {
    double sum = 0;
    for (int k = 0; k < size; ++k)
      sum += in(k)*std::max(0.0, std::min(k + 1.0, (i + 1) * scale) - std::max<double>(k, i * scale));
    return sum / scale;
  }
  const double centre = std::clamp((i + 0.5) * scale - 0.5, 0.0, size - 1.0);
  const int left = static_cast<int>(centre);
  return in(left) + (centre - left) * (in(std::min(left + 1, size - 1)) - in(left));
}

inline Samples resized(Samples in, int width, int height) {
  Samples wide{width, in.height, std::vector<double>(static_cast<std::size_t>(width * in.height))};
  for (int y = 0; y < in.height; ++y)
    for (int x = 0; x < width; ++x)
      wide.at(x, y) = resampled([&](int k) { return in.at(k, y); }, in.width, static_cast<double>(in.width) / width, x);
  Samples out{width, height, std::vector<double>(static_cast<std::size_t>(width * height))};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      out.at(x, y) =
          resampled([&](int k) { return wide.at(x, k); }, in.height, static_cast<double>(in.height) / height, y);
  return out;
}

// Linear between the four samples around a place; `outside` beyond the first and last ones.
inline double interpolated(Samples& in, double x, double y, double outside) {
  const double left = std::floor(x), top = std::floor(y);
  double sum = 0;
  for (const double column : {left, left + 1})
    for (const double row : {top, top + 1}) {
      const bool there = column >= 0 && row >= 0 && column < in.width && row < in.height;
      sum += (1 - std::abs(x - column)) * (1 - std::abs(y - row)) *
             (there ? in.at(static_cast<int>(column), static_cast<int>(row)) : outside);
    }
  return sum;
}

// Of all samples of two pictures of one size, in dB.
inline double psnr(Picture& a, Picture& b) {
  double squares = 0, samples = 0;
  a.each([&](std::uint8_t& sample, int plane, int x, int y) {
    squares += std::pow(sample - b.at(plane, x, y), 2);
    ++samples;
  });
  return 10 * std::log10(255 * 255 * samples / squares);
}

}  // namespace campipe
