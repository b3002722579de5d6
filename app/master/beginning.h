// What a decoder that begins in the midst of a stream makes nothing of: behind a key frame from which on frames are
// right only gradually (core/gradual_refresh.h), or that are shown before it and refer to what came earlier. Such
// packets have no frame that could be counted, so they are known by the first frame that comes out: they are shown
// before it. Of those without a time it is not known when.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ffmpeg.h"

namespace campipe {

// Used by one thread.
class Beginning {
 public:
  struct Packet {
    std::int64_t pos = 0;  // AVPacket's
    std::int64_t pts = 0;  // AVPacket's
  };

  // The decoder is empty.
  void begin() {
    waits_ = true;
    began_ = false;
    given_.clear();
  }
  // It has been given this one.
  void give(const AVPacket& packet) {
    if (!waits_ || (!began_ && (packet.flags & AV_PKT_FLAG_KEY) == 0)) return;
    began_ = true;
    if (packet.pts != AV_NOPTS_VALUE) given_.push_back({packet.pos, packet.pts});
    if (given_.size() > most) end();
  }
  // A frame has come out of it, of the packet `pos`. Returns those of which nothing will come: once.
  std::vector<Packet> frame(std::int64_t pos, std::int64_t pts) {
    if (!waits_) return {};
    std::vector<Packet> without;
    for (const Packet& packet : given_) {
      if (pts != AV_NOPTS_VALUE && packet.pos != pos && packet.pts < pts) without.push_back(packet);
    }
    end();
    return without;
  }

 private:
  static constexpr std::size_t most = 2048;

  void end() {
    waits_ = false;
    given_.clear();
  }

  bool waits_ = false;  // for a frame
  bool began_ = false;  // with a key frame
  std::vector<Packet> given_;
};

}  // namespace campipe
