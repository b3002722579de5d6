#include "tests/unit/moving_picture.h"

#include <cstdlib>
#include <memory>
#include <vector>

namespace campipe::test {

std::uint8_t moving_luma(int x, int y, int number) {
  const int left = 8 + number * 3 % 64;
  const bool inside = x >= left && x < left + 32 && y >= 24 && y < 56;
  return static_cast<std::uint8_t>(inside ? 220 : 40 + (x + y + number) % 100);
}

FrameRef moving_picture(const FrameFormat& format, int number) {
  auto pixels = std::make_shared<std::vector<std::uint8_t>>();
  FrameRef picture;
  picture.view.format = format;
  std::size_t size = 0;
  for (int plane = 0; plane < plane_count(format.pixels); ++plane) {
    const PlaneSize plane_bytes = plane_size(format, plane);
    picture.view.stride[static_cast<std::size_t>(plane)] = plane_bytes.width;
    size += static_cast<std::size_t>(plane_bytes.width) * static_cast<std::size_t>(plane_bytes.height);
  }
  pixels->assign(size, 128);
  std::uint8_t* start = pixels->data();
  for (int plane = 0; plane < plane_count(format.pixels); ++plane) {
    const PlaneSize plane_bytes = plane_size(format, plane);
    picture.view.data[static_cast<std::size_t>(plane)] = start;
    start += plane_bytes.width * plane_bytes.height;
  }
  for (int y = 0; y < format.height; ++y) {
    for (int x = 0; x < format.width; ++x)
      (*pixels)[static_cast<std::size_t>(y * format.width + x)] = moving_luma(x, y, number);
  }
  picture.owner = std::move(pixels);
  return picture;
}

double difference(const std::uint8_t* luma, int stride, int width, int height, int number) {
  std::int64_t sum = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) sum += std::abs(luma[y * stride + x] - moving_luma(x, y, number));
  }
  return static_cast<double>(sum) / (width * height);
}

}  // namespace campipe::test
