#include "app/calibrate/footage.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>

namespace campipe {
namespace {

constexpr std::size_t grain_size = 1U << 16;
constexpr int objects_across = 4;  // each takes an eighth of the width and a sixth of the height: a quarter in all
constexpr int objects_down = 3;

struct Octave {
  int cell;  // samples from one value to the next
  int amplitude;
};
constexpr std::array octaves{Octave{128, 50}, Octave{32, 25}, Octave{8, 12}, Octave{2, 4}};

// Values at the corners of cells, linear in between, added up.
class Noise {
 public:
  explicit Noise(unsigned seed) : random_(seed) {
    for (auto& value : values_) value = static_cast<int>(random_() % 255) - 127;
  }
  // -127 to 127.
  [[nodiscard]] int at(int x, int y, int cell) const {
    const int column = x / cell, row = y / cell;
    const int right = x % cell, below = y % cell;
    const int upper = corner(column, row) * (cell - right) + corner(column + 1, row) * right;
    const int lower = corner(column, row + 1) * (cell - right) + corner(column + 1, row + 1) * right;
    return (upper * (cell - below) + lower * below) / (cell * cell);
  }

 private:
  [[nodiscard]] int corner(int column, int row) const {
    return values_[(static_cast<std::size_t>(column) * 61 + static_cast<std::size_t>(row) * 177) % values_.size()];
  }
  std::minstd_rand random_;
  std::array<int, 4093> values_{};
};

}  // namespace

Footage::Footage(const FrameFormat& format, bool interlaced) : format_(format), interlaced_(interlaced) {
  format_.pixels = PixelFormat::i420;
  for (int plane = 0; plane < plane_count(format_.pixels); ++plane) {
    const PlaneSize size = plane_size(format_, plane);
    const Noise noise(static_cast<unsigned>(plane) + 1);
    PlaneTexture& texture = textures_.emplace_back(PlaneTexture{size.width, size.height, {}});
    texture.samples.reserve(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height));
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        int sum = 128 * 127;
        for (const Octave& octave : octaves) {
          if (plane == 0 || octave.cell >= 32) sum += noise.at(x, y, octave.cell) * octave.amplitude / (plane + 1);
        }
        texture.samples.push_back(static_cast<std::uint8_t>(std::clamp(sum / 127, 16, 235)));
      }
    }
  }
  std::minstd_rand random(7);  // NOLINT(cert-msc51-cpp): each footage is the same
  grain_.resize(2 * grain_size);
  for (auto& grain : grain_) grain = static_cast<std::int8_t>(static_cast<int>(random() % 3 + random() % 3) - 2);
}

FrameRef Footage::frame(int number) const {
  struct Bytes {
    std::array<std::vector<std::uint8_t>, 3> planes;
  };
  auto bytes = std::make_shared<Bytes>();
  FrameRef made;
  made.view.format = format_;
  for (int plane = 0; plane < plane_count(format_.pixels); ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    const PlaneSize size = plane_size(format_, plane);
    bytes->planes[at].resize(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) + 64);
    draw(plane, number, bytes->planes[at].data());
    made.view.data[at] = bytes->planes[at].data();
    made.view.stride[at] = size.width;
  }
  made.owner = std::move(bytes);
  return made;
}

void Footage::draw(int plane, int number, std::uint8_t* out) const {
  const PlaneTexture& texture = textures_[static_cast<std::size_t>(plane)];
  for (int y = 0; y < texture.height; ++y) {
    const int moment = interlaced_ ? 2 * number + y % 2 : number;
    draw_row(texture, plane, moment, y, out + std::ptrdiff_t{texture.width} * y);
  }
}

// Each object shows another place of the texture, which goes with it.
void Footage::draw_row(const PlaneTexture& texture, int plane, int number, int y, std::uint8_t* out) const {
  const std::uint8_t* const row = texture.samples.data() + std::ptrdiff_t{texture.width} * y;
  std::copy_n(row, texture.width, out);
  const int width = texture.width / (2 * objects_across);
  const int height = texture.height / (2 * objects_down);
  for (int down = 0; down < objects_down; ++down) {
    const int top = height / 2 + 2 * height * down;
    if (y < top || y >= top + height) continue;
    for (int across = 0; across < objects_across; ++across) {
      const int speed = 1 + down + across;
      const int step = std::max(1, texture.width * speed / 960);
      const int left = (2 * width * across + step * number) % (texture.width - width);
      const int from =
          (left + texture.width / 3 - step * number % texture.width + 2 * texture.width) % (texture.width - width);
      const std::uint8_t* const other =
          texture.samples.data() + std::ptrdiff_t{texture.width} * ((y + texture.height / 2) % texture.height);
      std::copy_n(other + from, width, out + left);
    }
  }
  if (plane > 0) return;
  const auto begin = (static_cast<std::size_t>(number) * 7919 + static_cast<std::size_t>(y) * 104'729) % grain_size;
  const std::int8_t* grain = grain_.data() + begin;
  for (int x = 0; x < texture.width; ++x)
    out[x] = static_cast<std::uint8_t>(out[x] + grain[x % static_cast<int>(grain_size)]);
}

}  // namespace campipe
