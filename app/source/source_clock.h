// Where a source's timestamps lie on the stream's timeline.
//
// A live source's timeline follows this machine's monotonic clock: one offset maps the camera's timestamps onto it, so
// that the camera's own times and gaps stay as they are. What the network, the camera's buffers or this machine hold
// up arrives late; its timestamps say when it was taken, and they are kept. The shortest lag seen (arrival less the
// mapped timestamp) is the usual one. By it
//   - a reconnection is placed on the timeline,
//   - a timestamp that lies ahead of its arrival shows that the camera's clock was set: time goes on by arrival,
//   - a lag that stays, while the source has nothing more to deliver, shows that the camera's clock stood still, and
//     one that grows for long that it runs slow,
//   - a drift is followed slowly.
// A file's timestamps are kept, too: it is corrected where they run backwards or leap.
//
// No clock is trusted for long: a live source's times stay by the arrivals, but for a minute in which it was
// opened and learnt, and a file has ten years at most.
//
// All times in ns; timestamps, and their differences, fit 63 bits. Used by one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "app/rings/correction.h"
#include "app/source/lag_history.h"

namespace campipe {

class SourceClock {
 public:
  // A packet, in the order of decoding.
  struct Sample {
    std::int64_t source = 0;
    std::int64_t duration = 0;                     // 0: unknown
    std::int64_t arrival = 0;                      // monotonic
    std::int64_t waited = 0;                       // how much of the time before was spent waiting for the source
    std::optional<std::int64_t> capture_utc = {};  // by the camera's clock, from a sender report
    bool leap_confirmed = false;                   // of a file; see leaps()
  };
  struct Corrected {
    Correction kind = Correction::jumped;
    std::int64_t by = 0;  // how far the source's clock was off
  };

  explicit SourceClock(bool live) : live_(live) {}

  // The source's time `source` is the stream's time `at` from now on: where a file begins, or begins again.
  void begin(std::int64_t source, std::int64_t at);
  // A process before this one has come to `last`, and knew this origin, if it is not 0.
  void resume(std::int64_t last, std::int64_t origin);
  // The source was opened again, and its clock may be another one.
  void reconnect();
  // A packet that will be observed later: what waited to be read when the connection was made has arrived late, and the
  // one that was waited for shows by how much.
  void preview(std::int64_t source, std::int64_t arrival);
  // For each packet. Returns what had to be corrected.
  std::optional<Corrected> observe(const Sample& sample);

  // This time of a file is so far ahead that it needs confirmation: without it, it counts as another clock's.
  [[nodiscard]] bool leaps(std::int64_t source) const;

  [[nodiscard]] std::int64_t map(std::int64_t source) const { return source + offset_; }
  // The same for what comes beside the video, as audio does. Nothing where that is not known: a reconnection is
  // open, or a live source's clock was set and no packet of the video has shown it yet.
  [[nodiscard]] std::optional<std::int64_t> map_beside(std::int64_t source, std::int64_t arrival) const;
  // Whether a live source's timestamp fits the newest offset, and not only the one before the last correction.
  [[nodiscard]] bool is_of_now(std::int64_t source, std::int64_t arrival) const {
    return beside(offset_, source, arrival);
  }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] bool is_live() const { return live_; }
  // A packet of this connection, or of the file, has been placed.
  [[nodiscard]] bool is_anchored() const { return anchored_; }

  // By how much later than usual the newest packet arrived.
  [[nodiscard]] std::int64_t lag() const { return lag_; }
  // The same, less what packets waited while the source was being opened: nothing held those up.
  [[nodiscard]] std::int64_t late() const {
    return opening_lag_ ? std::max<std::int64_t>(lag_ - std::max<std::int64_t>(*opening_lag_, 0), 0) : lag_;
  }
  // Monotonic time of the stream's 0, plus the usual lag; 0: not known.
  [[nodiscard]] std::int64_t origin() const { return origin_.at.value_or(0); }
  // How much the source's clock has run ahead of (more) or behind (less) this machine's since it was connected.
  [[nodiscard]] std::int64_t drift() const { return drift_.followed; }

 private:
  // Of the packets so far.
  struct Newest {
    std::optional<std::int64_t> source;  // of this connection
    std::int64_t at = -1;                // the latest on the timeline
    std::int64_t duration = 0;
    std::int64_t arrival = 0;
  };
  // Of a live source's stream: its 0 by arrivals, plus the usual lag.
  struct Origin {
    std::optional<std::int64_t> at;  // monotonic
    std::int64_t known_for = 0;      // ns of arrivals
    std::int64_t moved = 0;          // since it was set
  };
  // Small steps back, which may be made up for.
  struct Slips {
    // One more, and the lag before and after it. True: they are not made up for, each of them makes what follows later.
    bool are_for_good(std::int64_t step, std::int64_t lag, std::int64_t next_lag);
    std::int64_t by = 0;
    std::int64_t lag_before = 0;
  };
  struct Drift {
    std::int64_t left = 0;  // to be followed
    std::int64_t followed = 0;
  };
  // The camera's UTC less its timestamp.
  struct Relation {
    // By the camera's own clock its timestamps went on all the time: what is late was held up on its way.
    [[nodiscard]] bool says_it_went_on(std::int64_t lag) const;
    std::optional<std::int64_t> usual;  // when the lag was the usual one
    std::optional<std::int64_t> now;
  };

  // Arrival less timestamp, of what will be observed.
  struct Previewed {
    std::int64_t first = 0;
    std::int64_t earliest = 0;  // of those that are of the same clock
  };

  void anchor(const Sample& sample);
  void place(std::int64_t source, std::int64_t at);
  std::optional<Corrected> observe_file(const Sample& sample, std::int64_t moved);
  std::optional<Corrected> observe_live(const Sample& sample, std::int64_t moved);
  std::optional<Corrected> lead(const Sample& sample, std::int64_t moved, std::int64_t passed);
  std::optional<Corrected> set_back(const Sample& sample, Correction kind, std::int64_t by, std::int64_t passed);
  std::optional<Corrected> judge(std::int64_t passed, const Sample& sample);
  std::optional<Corrected> move_on(const Sample& sample, std::int64_t lag);
  void follow_drift(std::int64_t passed);
  void change_lags(std::int64_t by);
  [[nodiscard]] std::int64_t lag_of(const Sample& sample) const;
  [[nodiscard]] bool beside(std::int64_t offset, std::int64_t source, std::int64_t arrival) const;

  bool live_;
  bool anchored_ = false;
  std::int64_t offset_ = 0;
  std::int64_t offset_before_ = 0;  // until the last correction
  Newest newest_;

  // Of live sources
  Origin origin_;
  std::optional<Previewed> previewed_;
  std::int64_t step_ = 0;  // usually, from packet to packet
  std::int64_t lag_ = 0;
  std::optional<std::int64_t> opening_lag_;  // of the connection's first packet, until one comes as usual
  bool settled_ = false;                     // since the last anchor
  Slips slips_;
  LagHistory lags_;
  Drift drift_;
  Relation relation_;
};

}  // namespace campipe
