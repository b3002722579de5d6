// Where the key frames of a `gop` that is a time lie: on a grid of the media clock (FrameTimes::media_time), not at a
// distance from the last key frame.
//
// The grid divides time into cells of one gop, and the first frame of each cell is a key frame. What cell a frame is in
// depends on its time alone. So an encoder that is made anew finds the key frames where the one before had them, all
// outputs of a camera with one gop have them at the same frames, and key frames that viewers get in between move none.
//
// Each camera shifts the grid by a part of the gop that its name gives, the same on every machine: a hundred cameras do
// not code their key frames, which are large, in the same instant.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace campipe {

// Used by one thread, for the frames of one output.
class KeyFrameGrid {
 public:
  // `gop`: at least 1 ns. `shift`: see key_frame_shift().
  KeyFrameGrid(std::chrono::nanoseconds gop, std::chrono::nanoseconds shift)
      : gop_(gop.count()), shift_(shift.count()) {}

  // For each frame, in order: it is the first of its cell. `time`: by the media clock, in ns. Where a clock went back,
  // time goes on in a cell that was there before; that is another one, too, so that no gop lasts longer than the rest.
  [[nodiscard]] bool is_due(std::int64_t time) {
    const std::int64_t cell = cell_of(time);
    return std::exchange(cell_, cell) != cell;
  }

 private:
  // A frame that rounding put a hair before its time counts as on time: files have times in milliseconds.
  static constexpr std::int64_t rounding = 1'000'000;

  [[nodiscard]] std::int64_t cell_of(std::int64_t time) const {
    const std::int64_t in_grid = time + rounding - shift_;
    return in_grid / gop_ - (in_grid % gop_ < 0 ? 1 : 0);
  }

  std::int64_t gop_;
  std::int64_t shift_;
  std::optional<std::int64_t> cell_;  // of the newest frame
};

// From nothing up to one gop, evenly spread over names: FNV-1a, whose upper bits hardly depend on the last letters of a
// short name, mixed by the finalizer of MurmurHash3 (Austin Appleby, public domain).
inline std::chrono::nanoseconds key_frame_shift(std::string_view camera, std::chrono::nanoseconds gop) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : camera) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  hash = (hash ^ hash >> 33U) * 0xff51afd7ed558ccdU;
  hash = (hash ^ hash >> 33U) * 0xc4ceb9fe1a85ec53U;
  hash ^= hash >> 33U;
  constexpr unsigned bits = 20;  // times a gop of two hours fits 63 bits
  const auto part = static_cast<std::int64_t>(hash >> (64U - bits));
  return gop * part / (1 << bits);
}

}  // namespace campipe
