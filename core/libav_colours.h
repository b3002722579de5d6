// A frame's colours as libav's enums. What another process or a configuration has written may be any number: what none
// of these has is unspecified.
#pragma once

#include <cstdint>

#include "core/ffmpeg.h"
#include "core/frame.h"

namespace campipe {

struct LibavColours {
  AVColorRange range = AVCOL_RANGE_UNSPECIFIED;
  AVColorSpace space = AVCOL_SPC_UNSPECIFIED;
  AVColorPrimaries primaries = AVCOL_PRI_UNSPECIFIED;
  AVColorTransferCharacteristic transfer = AVCOL_TRC_UNSPECIFIED;
  AVChromaLocation chroma_location = AVCHROMA_LOC_UNSPECIFIED;
};

// `end`: behind the last one.
template <typename Enum>
Enum checked_colour(std::uint8_t number, Enum end, Enum unspecified) {
  return number < static_cast<unsigned>(end) ? static_cast<Enum>(number) : unspecified;
}

inline LibavColours colours_of(const FrameFormat& format) {
  return {checked_colour(format.color_range, AVCOL_RANGE_NB, AVCOL_RANGE_UNSPECIFIED),
          checked_colour(format.color_space, AVCOL_SPC_NB, AVCOL_SPC_UNSPECIFIED),
          checked_colour(format.color_primaries, AVCOL_PRI_NB, AVCOL_PRI_UNSPECIFIED),
          checked_colour(format.color_transfer, AVCOL_TRC_NB, AVCOL_TRC_UNSPECIFIED),
          checked_colour(format.chroma_location, AVCHROMA_LOC_NB, AVCHROMA_LOC_UNSPECIFIED)};
}

}  // namespace campipe
