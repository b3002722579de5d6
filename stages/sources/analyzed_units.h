// Access units that libavformat's analysis of a stream (avformat_find_stream_info) has made of RTP packets. Its parser
// finds a unit's end in the next one, and gives it the capture time of the packet that it found it in; and it knows no
// time of the first unit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ffmpeg.h"

namespace campipe {

// Gives `units`, all that were made of the stream so far, their own capture times, and the first one its time: by
// `timestamps`, RTP's of each flow of packets that was received, of which one is theirs; else a frame before the
// second. `frame`: how long one lasts, 0: not known. Times are in `time_base`.
void correct_analyzed(std::span<AVPacket* const> units, std::span<const std::vector<std::uint32_t>> timestamps,
                      std::int64_t frame, AVRational time_base);

}  // namespace campipe
