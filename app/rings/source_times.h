// What the timestamps of a packet say. They are anybody's numbers: nothing here overflows, and what no stream means is
// taken for not given.
#pragma once

#include <cstdint>
#include <optional>

#include "core/frame.h"
#include "core/source_stream.h"

namespace campipe {

// Of a packet that is passed on, by PacketClock: when it arrived (monotonic ns), and when it was taken (UTC ns).
struct PacketTimes {
  std::int64_t arrival = 0;
  std::int64_t capture_utc = 0;
  CaptureClock capture_clock = CaptureClock::arrival;
};

// A timestamp of the stream's video in ns, counted from the stream's start. Some decades at most.
std::int64_t source_ns(const SourceStream& stream, std::int64_t timestamp);
// The same of its audio; counted from the start of the video, too.
std::int64_t audio_ns(const SourceStream& stream, std::int64_t timestamp);
// When a packet of the video is decoded, or shown if it does not say that; none: it has no timestamp.
std::optional<std::int64_t> decode_time(const SourceStream& stream, const AVPacket& packet);

// Frames that a decoder holds to show them in their order, by any codec.
inline constexpr int most_kept_back = 16;

// Of a frame, where nothing says how long it is; 0: not known.
std::int64_t usual_duration(const SourceStream& stream);

// A packet lasts a day at most, and is shown within a day of being decoded; one of a live source 10 s, and shown within
// as many frames as a codec may keep back (`frame`: how long one is, ns; 0: not known). Where a camera's clock jumps,
// libavformat says of some packets that they are shown later by so much.
void forget_absurd_times(AVPacket& packet, AVRational time_base, bool live, std::int64_t frame);

}  // namespace campipe
