// Frames that cost decoders, encoders and filters about what a camera's do: surfaces with some texture, objects that
// move over a quarter of them, and the grain of a sensor. The same each time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/frame.h"

namespace campipe {

class Footage {
 public:
  // i420. `interlaced`: the lines of a frame are of two moments.
  explicit Footage(const FrameFormat& format, bool interlaced = false);

  // Frame number `number`, in memory of its own.
  [[nodiscard]] FrameRef frame(int number) const;
  [[nodiscard]] const FrameFormat& format() const { return format_; }

 private:
  struct PlaneTexture {
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> samples;
  };
  void draw(int plane, int number, std::uint8_t* out) const;
  void draw_row(const PlaneTexture& texture, int plane, int number, int y, std::uint8_t* out) const;

  FrameFormat format_;
  bool interlaced_;
  std::vector<PlaneTexture> textures_;
  std::vector<std::int8_t> grain_;
};

}  // namespace campipe
