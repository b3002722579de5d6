// The box `moov` of a whole MP4 file, made from the one that a file in fragments begins with and from the heads of its
// fragments (ISO/IEC 14496-12): with it, the same bytes are an ordinary file. What libavformat writes into fragments is
// understood; nothing is believed of bytes that others may have changed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stages/sinks/mp4_boxes.h"
#include "stages/sinks/sample_table.h"

namespace campipe {

class Mp4Index {
 public:
  // `moov`: the box, as a whole. Throws Error.
  explicit Mp4Index(std::span<const std::uint8_t> moov);

  // `moof`: the box, as a whole, which lies at `at` in the file. False: no box `moov` could say what it says, nor
  // anything of what follows.
  bool add_fragment(std::span<const std::uint8_t> moof, std::uint64_t at);
  [[nodiscard]] bool has_samples() const;
  // `duration`: of the file, ns; nothing: as long as its tracks. Throws Error.
  [[nodiscard]] std::vector<std::uint8_t> movie(std::optional<std::int64_t> duration);

 private:
  struct Track {
    std::uint32_t id = 0;
    std::uint32_t timescale = 0;
    SampleTable samples;
  };
  bool add_track_fragment(std::span<const std::uint8_t> traf, std::uint64_t at);
  void put_track(std::vector<std::uint8_t>& out, const BoxView& box, const Track& track) const;
  void put_edits(std::vector<std::uint8_t>& out, const Track& track) const;
  [[nodiscard]] std::int64_t in_movie(std::int64_t ticks, const Track& track) const;

  std::vector<std::uint8_t> moov_;
  std::uint32_t timescale_ = 1000;          // of the movie
  std::vector<Track> tracks_;               // in the order of the boxes
  std::uint32_t samples_left_ = 1U << 24U;  // until there are too many for memory: three days of video and audio
};

}  // namespace campipe
