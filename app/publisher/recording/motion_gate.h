// Which of a camera's packets belong to a motion: those from `before` the first frame that moves, beginning with a
// key frame, until `after` the last one. Keeps copies of the newest packets meanwhile. Used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "app/publisher/kept_packet.h"
#include "app/publisher/recording/motion_span.h"
#include "core/packet.h"

namespace campipe {

class MotionGate {
 public:
  MotionGate(std::chrono::nanoseconds before, std::chrono::nanoseconds after) : before_(before), span_(after) {}

  // What a packet does: nothing (it is kept for a motion to come); it begins a motion, to which all of kept() belong,
  // itself as the last; it is a part of the motion; or it is the first one behind it.
  using Does = MotionSpan::Does;
  Does take(const PacketView& packet, std::uint64_t number);
  // From a key frame on. While a motion goes on, only so much that the next one can begin at once: then some packets
  // belong to both.
  [[nodiscard]] const std::deque<KeptPacket>& kept() const { return kept_; }
  [[nodiscard]] bool moving() const { return span_.is_on(); }
  [[nodiscard]] std::int64_t last_motion() const { return span_.last(); }  // pts of the newest frame that moved

  // A motion that a predecessor was recording goes on.
  void resume(std::int64_t last_motion) { span_.resume(last_motion); }
  // The stream is another one: what is kept does not go with it.
  void forget();

 private:
  void keep(const PacketView& packet, std::uint64_t number);

  std::chrono::nanoseconds before_;
  MotionSpan span_;
  std::deque<KeptPacket> kept_;
  std::deque<std::size_t> keys_;  // how many packets have been dropped and kept before each key frame in kept_
  std::size_t dropped_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace campipe
