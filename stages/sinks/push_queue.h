// Packets that wait to be pushed: bounded, and what goes out of it can always be decoded. Used under its owner's lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "core/ffmpeg.h"
#include "core/packet.h"

namespace campipe {

// What a receiver must know beforehand. The audio has its headers.
struct PushStream {
  StreamParameters video;
  std::optional<AudioParameters> audio;
  friend bool operator==(const PushStream&, const PushStream&) = default;
};

struct PushPacket {
  AvPacket data;  // owns its bytes; times are not in it
  std::int64_t dts = 0;
  std::int64_t pts = 0;
  std::int64_t duration = 0;
  std::int64_t capture_utc = 0;  // of video; 0: not known
  bool key = false;              // of video: decoding can start here
  bool audio = false;
  std::shared_ptr<const PushStream> stream;
};

class PushQueue {
 public:
  PushQueue(std::size_t max_bytes, std::chrono::nanoseconds max_time) : max_bytes_(max_bytes), max_time_(max_time) {}

  // Takes the packet. Where there is no room, the oldest go, up to the next key frame; so do packets that cannot be
  // decoded because what they need is gone. Returns how many are lost.
  [[nodiscard]] std::uint64_t add(PushPacket packet);
  // A packet was lost before it came here: nothing until the next key frame can be used.
  void lose() { need_key_ = true; }
  // Up to the next key frame, for a receiver that knows nothing yet. Returns how many are lost.
  [[nodiscard]] std::uint64_t drop_to_key();
  [[nodiscard]] std::uint64_t clear();

  [[nodiscard]] bool empty() const { return packets_.empty(); }
  [[nodiscard]] const PushPacket& front() const { return packets_.front(); }
  PushPacket take();

 private:
  [[nodiscard]] bool is_full() const;

  std::size_t max_bytes_;
  std::chrono::nanoseconds max_time_;
  std::deque<PushPacket> packets_;
  std::size_t bytes_ = 0;
  std::shared_ptr<const PushStream> stream_;  // of the newest packet
  bool need_key_ = true;
};

}  // namespace campipe
