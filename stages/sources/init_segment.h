// The part of a stream in fragments of MP4 (HLS) that says what its tracks are. A stream may have another one in the
// midst, for pieces that are of another size or codec. libavformat takes the first one alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ffmpeg.h"

namespace campipe {

inline constexpr std::size_t longest_init_segment = std::size_t{1} << 20U;  // bytes

// How many bytes of a file that begins with `head` are its init segment, as far as that shows; 0: it is none, or one
// that is too long. More than there are in `head`: so many more are needed to know. `seen`: of the boxes that were
// looked at; 0 at first, and with more of the same file as it was left, so that none is looked at twice.
std::size_t init_segment_size(std::span<const std::uint8_t> head, std::size_t& seen);

struct TrackHeader {
  AVCodecID codec = AV_CODEC_ID_NONE;
  std::vector<std::uint8_t> extradata;
  int ticks = 0;  // a second, of its times
  friend bool operator==(const TrackHeader&, const TrackHeader&) = default;
};

// Of its first track of each kind; nothing: it has none.
struct InitHeaders {
  std::optional<TrackHeader> video;
  std::optional<TrackHeader> audio;
};
InitHeaders headers_in(std::span<const std::uint8_t> init_segment);

}  // namespace campipe
