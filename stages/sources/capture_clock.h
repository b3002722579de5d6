// The capture times that libavformat puts on packets (AV_PKT_DATA_PRFT), made right where it miscounts.
#pragma once

#include <cstdint>
#include <optional>

#include "core/ffmpeg.h"

namespace campipe {

// What a packet says of when it was taken, in UTC microseconds; nothing: it does not say.
std::optional<std::int64_t> wall_clock(const AVPacket& packet);
// Nothing: it is to say nothing any more. Throws std::bad_alloc.
void set_wall_clock(AVPacket& packet, std::optional<std::int64_t> utc);

// RTP timestamps have 32 bits and wrap every 13 hours at 90 kHz. libavformat counts from the last sender report and
// ignores the wrap: from the wrap to the next report its times are wrong by that period. If the first packet is wrong
// already, this machine's time of day shows it.
class RtpCaptureClock {
 public:
  // For each packet of one stream, in order.
  void mend(AVPacket& packet, AVRational time_base);

 private:
  struct Seen {
    std::int64_t utc = 0;  // microseconds
    std::int64_t time = 0;
  };
  std::optional<Seen> last_;
};

}  // namespace campipe
