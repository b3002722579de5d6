#include "stages/sinks/rotation.h"

extern "C" {
#include <libavutil/display.h>
#include <libavutil/spherical.h>
}

#include <algorithm>
#include <array>
#include <new>

#include "core/orientation.h"

namespace campipe {

void set_rotation(AVStream& track, int orientation) {
  if (orientation == 0) return;
  constexpr std::size_t size = 9 * sizeof(std::int32_t);
  std::uint8_t* matrix = av_stream_new_side_data(&track, AV_PKT_DATA_DISPLAYMATRIX, size);
  if (matrix == nullptr) throw std::bad_alloc();
  auto* numbers = static_cast<std::int32_t*>(static_cast<void*>(matrix));
  av_display_rotation_set(numbers, turn_of(orientation));
  if (is_mirrored(orientation)) av_display_matrix_flip(numbers, 1, 0);
}

void set_spherical_rotation(AVStream& track, int orientation) {
  const int clockwise = turn_of(orientation);
  if (clockwise == 0) return;
  std::size_t size = 0;
  AVSphericalMapping* mapping = av_spherical_alloc(&size);
  if (mapping == nullptr) throw std::bad_alloc();
  mapping->projection = AV_SPHERICAL_EQUIRECTANGULAR;
  const int roll = clockwise <= 180 ? -clockwise : 360 - clockwise;  // counterclockwise, -180 to 180
  mapping->roll = roll * (1 << 16);
  auto* data = static_cast<std::uint8_t*>(static_cast<void*>(mapping));
  if (av_stream_add_side_data(&track, AV_PKT_DATA_SPHERICAL, data, size) >= 0) return;
  av_free(mapping);
  throw std::bad_alloc();
}

void make_plane(std::vector<std::uint8_t>& header) {
  constexpr std::array<std::uint8_t, 4> equirectangular{0x76, 0x71, 0x81, 1};  // ProjectionType, of one byte
  const auto found = std::ranges::search(header, equirectangular);
  if (!found.empty()) found.back() = 0;  // rectangular
}

}  // namespace campipe
