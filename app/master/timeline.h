// The times of one stream that leaves a camera's ingest: decoded frames, or packets that are copied.
//
// SourceClock says where a timestamp lies. Here it is made sure that times strictly grow, and that what has no
// timestamp gets one. All times in ns. Used by one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "app/master/source_clock.h"

namespace campipe {

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
