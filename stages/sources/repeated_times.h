// What libavformat marks as hidden though nobody hides it. It does so for what an edit list leaves out, and also for
// what a fragment of MP4 has at decode times that have been there before (mov_read_trun()): where a stream's times
// begin anew, in a new part of HLS, or a muxer repeats one. An edit list's times only grow.
#pragma once

#include <cstdint>

#include "core/ffmpeg.h"

namespace campipe {

// Of one stream, from where it is read on.
class RepeatedTimes {
 public:
  // Packets in the order in which they are read. True: that time has been there.
  bool is_repeated(std::int64_t dts) {
    if (dts == AV_NOPTS_VALUE) return false;
    const bool repeated = newest_ != AV_NOPTS_VALUE && dts <= newest_;
    newest_ = repeated ? newest_ : dts;
    return repeated;
  }
  void show(AVPacket& packet) {
    if (is_repeated(packet.dts)) packet.flags &= ~AV_PKT_FLAG_DISCARD;
  }

 private:
  std::int64_t newest_ = AV_NOPTS_VALUE;
};

}  // namespace campipe
