// The times of one stream that leaves a camera's ingest: they strictly grow, and what has no timestamp gets one.
//
// A camera has one clock (PacketClock, with its SourceClock), which says where a timestamp lies, and two Timelines
// behind it: one of decoded frames (by the time of presentation), one of copied packets (by the time of decoding). One
// cannot serve both:
// - Each is fed in the order of its times, and these orders differ. With B-frames and a decoder's threads the frame of
// a
//   packet comes out several packets later: on a common Timeline it would lie behind packets that were copied
//   meanwhile, and be moved (timeline_test, FramesAndPacketsNeedOneEach).
// - They advance apart: a frame may be lost, skipped after a restart or not decoded on demand while its packet is
//   copied, and source and master resume at newest times of their own.
// All times in ns. Used by one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "app/rings/correction.h"

namespace campipe {

// ns, between frames or packets whose times do not grow.
inline constexpr std::int64_t smallest_step = 1'000'000;

class Timeline {
 public:
  struct Time {
    std::int64_t pts = 0;
    std::optional<Correction> correction;
  };
  // A timestamp of the source, and where its clock puts that.
  struct Mapped {
    std::int64_t source = 0;
    std::int64_t at = 0;
  };
  // Of the next frame. `mapped`: nothing where it has no timestamp. `duration`: 0 where it is not known.
  Time next(std::optional<Mapped> mapped, std::int64_t duration);

  // Of the newest frame; -1: there was none.
  [[nodiscard]] std::int64_t last() const { return last_; }
  // Where the next frame is expected if it comes right behind the last.
  [[nodiscard]] std::int64_t end() const;
  // As if that had been the newest frame.
  void set_last(std::int64_t pts, std::int64_t duration);

 private:
  std::int64_t last_ = -1;
  std::int64_t last_duration_ = 0;
  std::optional<std::int64_t> last_source_;
};

}  // namespace campipe
