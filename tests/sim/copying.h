// What the simulated source passes on as it comes, for one camera: video of outputs with codec `copy`, and sound. Each
// has a packet ring of its own, straight to the publisher. Video waits for that with policy `block`; else packets up to
// the next key frame are left out, and counted. Sound never waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/control/messages/to_source.h"
#include "core/frame.h"
#include "ipc/packet_ring.h"

namespace campipe::sim {

class Child;

class Copying {
 public:
  Copying(Child& child, const messages::ReadCamera& asked);

  // Until then something has been passed on by a source before; -1: nothing.
  [[nodiscard]] std::int64_t resumes_at() const;
  // The source was opened; sometimes it sends another stream than before.
  void begin(bool is_other, const FrameFormat& format);
  // False: it waits for room; it is to be tried again with the same packet.
  bool pass_video(const PacketView& packet);
  void pass_sound(std::int64_t at);
  // All others get nothing any more.
  void keep(const std::vector<OutputId>& outputs);
  void close();

 private:
  struct Track {
    OutputId output;
    std::uint64_t epoch = 1;  // of its next ring
    std::uint64_t base = 0;
    std::optional<PacketRingWriter> ring = {};
    std::uint64_t pushed = 0;
    bool need_key = true;
  };
  void open(Track& track, const char* what);
  bool pass(Track& track, const PacketView& packet);

  Child& child_;
  std::string camera_;
  bool blocks_;
  std::int64_t resumes_at_ = -1;
  FrameFormat format_;
  unsigned stream_ = 0;  // another one is known by its number
  std::vector<Track> video_;
  std::vector<Track> sound_;
  std::size_t next_ = 0;  // of those that the packet has not been passed on to
  std::optional<Clock::time_point> waits_since_;
};

}  // namespace campipe::sim
