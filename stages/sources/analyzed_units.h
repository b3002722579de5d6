// What libavformat's analysis of a stream (avformat_find_stream_info) has made of RTP packets: it hands all of that out
// at once when it is done, and has the time and the capture time of some of it wrong.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ffmpeg.h"
#include "stages/sources/rtp_marks.h"

namespace campipe {

// Finds among `flows`, all RTP packets that were received, those that `units` came in: all that were made of a video
// so far. Returns one for each unit; nothing where that is not certain. `frame`: how long one lasts, 0: not known.
// Times are in `time_base`. The time of the first unit does not matter.
std::vector<RtpMark> find_marks(std::span<AVPacket* const> units, std::span<const std::vector<RtpMark>> flows,
                                std::int64_t frame, AVRational time_base);
// The same of a sound beside that video.
std::vector<RtpMark> find_marks_of_sound(std::span<AVPacket* const> packets,
                                         std::span<const std::vector<RtpMark>> flows, std::span<const RtpMark> video,
                                         AVRational time_base);

// For a codec whose access units libavformat's parser puts together: it finds a unit's end in the next one, and gives
// it the capture time of the packet that it found it in; and it knows no time of the first unit. Gives `units` their
// own capture times, and the first one its time: by `marks`, else a frame before the second.
void correct_analyzed(std::span<AVPacket* const> units, std::span<const RtpMark> marks, std::int64_t frame,
                      AVRational time_base);

}  // namespace campipe
