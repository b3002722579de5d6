// How another machine's clock goes against this one, from questions that it answers with its time.
//
// The time in an answer was read between the question and the answer: so half of that round trip is the most that the
// middle of it can be wrong by. Of the newest questions the one with the shortest round trip counts. It grows old, as
// quartzes differ; and it is dropped where a newer one contradicts it, since then that clock was set.
//
// Times are compared with this machine's monotonic time, so that nothing here changes when this machine's clock is set.
// Pure; used by one thread. All times in ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>

namespace campipe {

class PeerClock {
 public:
  // Of its UTC less this machine's monotonic time.
  struct Offset {
    std::int64_t value = 0;
    std::int64_t bound = 0;  // it is off by no more
  };

  // It was asked at `sent`, and at `received` the answer was here (both monotonic) that it was `utc`.
  void answered(std::int64_t sent, std::int64_t received, std::int64_t utc) {
    const Sample sample{received, {utc - (sent + (received - sent) / 2), (received - sent + 1) / 2}};
    for (const Sample& earlier : samples_) {
      if (std::abs(earlier.offset.value - sample.offset.value) <= bound_at(earlier, received) + sample.offset.bound)
        continue;
      samples_.clear();
      break;
    }
    samples_.push_back(sample);
    if (samples_.size() > most_samples) samples_.pop_front();
  }

  // Nothing: it has not answered for long.
  [[nodiscard]] std::optional<Offset> offset(std::int64_t now) const {
    std::optional<Offset> best;
    for (const Sample& sample : samples_) {
      const std::int64_t bound = bound_at(sample, now);
      if (now - sample.at <= oldest && (!best || bound < best->bound)) best = Offset{sample.offset.value, bound};
    }
    return best;
  }

 private:
  static constexpr std::size_t most_samples = 8;
  static constexpr std::int64_t oldest = 120'000'000'000;
  static constexpr std::int64_t drift = 10'000;  // a quartz is off by a ten-thousandth, at the most

  struct Sample {
    std::int64_t at;
    Offset offset;
  };
  static std::int64_t bound_at(const Sample& sample, std::int64_t now) {
    return sample.offset.bound + (now - sample.at) / drift;
  }

  std::deque<Sample> samples_;
};

}  // namespace campipe
