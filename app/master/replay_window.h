// The packets that another decoder must be given to go on where one gave up: those since a key frame from which on
// every frame comes that has not been seen yet. References to the packets' data, never copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "core/ffmpeg.h"

namespace campipe {

// Used by one thread. Packets are known by their AVPacket::pos, which must grow by one with each; frames by the
// packet that they came in. Times would not do: raw streams have none, and others only those of decoding.
class ReplayWindow {
 public:
  static constexpr std::size_t most_packets = 600;
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  // Before the packet is decoded.
  void add(const AVPacket& packet);
  // A frame has come out of the decoder.
  void seen(std::int64_t packet);
  void clear();
  // False: there is nothing to go on from (more came since the last key frame than is kept), but the next key frame.
  [[nodiscard]] bool complete() const { return !groups_.empty(); }
  // Of the packets kept; once for each frame.
  [[nodiscard]] std::multiset<std::int64_t> seen_frames() const;
  // From oldest to newest; stops when `each` returns false, and returns that.
  bool replay(const std::function<bool(const AVPacket&)>& each) const;

 private:
  struct Kept {
    AvPacket packet;
    int pictures = 0;  // seen
  };
  struct Group {
    std::vector<Kept> packets;  // never empty; begins with a key frame
    std::size_t bytes = 0;
  };
  void drop_oldest();
  void drop_what_is_over();

  std::deque<Group> groups_;
  std::size_t packets_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace campipe
