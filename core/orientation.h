// How a source's frames are to be shown, as one number: by how many degrees they are turned clockwise (0, 90, 180,
// 270), and 360 more where they are mirrored behind that (left and right change places).
#pragma once

namespace campipe {

inline constexpr int mirrored = 360;

constexpr bool is_orientation(int number) { return number >= 0 && number < 2 * mirrored && number % 90 == 0; }
constexpr int turn_of(int orientation) { return orientation % mirrored; }
constexpr bool is_mirrored(int orientation) { return orientation >= mirrored; }

}  // namespace campipe
