// When the frames of a stream are decoded that says only when they are shown: RTP has no more.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ffmpeg.h"

namespace campipe {

class DecodeTimes {
 public:
  // `delay`: how many frames are decoded before one that is shown before them (`video_delay`). `frame`: how long one
  // lasts, in the unit of the packets' times; 0: not known.
  DecodeTimes(int delay, std::int64_t frame);
  // From the next packet on, a key frame, it is another delay.
  void change_delay(int delay);
  // Sets the packet's dts, by its pts and those before it: never later than the pts, and growing as long as the pts are
  // those of one clock. None where there is no pts; none of the first few where `frame` is not known. `is_b_frame`: the
  // packet's frame is shown before one that came before it.
  void date(AVPacket& packet, bool is_b_frame);

 private:
  void begin_at(std::int64_t pts);
  void fit_to_delay(std::int64_t pts);

  std::size_t delay_;
  std::int64_t frame_;
  std::int64_t longest_step_;            // more is another clock
  std::vector<std::int64_t> waiting_;    // that are no dts yet; in order
  std::optional<std::int64_t> newest_;   // pts
  std::optional<std::int64_t> decoded_;  // the newest dts
};

}  // namespace campipe
