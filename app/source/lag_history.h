// How late the newest packets of a live source arrived, for SourceClock: lags in buckets of some packets and half a
// second at least, of which the shortest lag counts. All times in ns. Used by one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace campipe {

class LagHistory {
 public:
  static constexpr std::int64_t longest_usual = 150'000'000;  // that drift and a slower network may cause
  static constexpr std::int64_t steady = 100'000'000;         // how much the buckets of a steady lag may differ

  // The newest buckets together.
  struct Stretch {
    std::int64_t shortest = INT64_MAX;  // of their lags
    std::int64_t longest = 0;
    bool drained = false;  // the source had nothing more to deliver: it was waited for in a fifth of the time
  };

  void clear() {
    filling_ = {};
    buckets_.clear();
  }
  // A packet with this lag came so long after the one before, `waited` of which were spent waiting for the source.
  // True: it completes a bucket.
  bool add(std::int64_t lag, std::int64_t passed, std::int64_t waited) {
    filling_.lag = std::min(filling_.lag, lag);
    filling_.span += passed;
    filling_.waited += waited;
    if (++filling_.samples < bucket_samples || filling_.span < bucket_span) return false;
    buckets_.push_back(filling_);
    filling_ = {};
    if (buckets_.size() > most_buckets) buckets_.pop_front();
    return true;
  }
  // The clock was moved: all lags are longer by that.
  void shift(std::int64_t by) {
    for (Bucket& bucket : buckets_) bucket.lag += by;
    if (filling_.samples > 0) filling_.lag += by;
  }

  // Of complete buckets.
  [[nodiscard]] std::size_t size() const { return buckets_.size(); }
  [[nodiscard]] std::int64_t newest_lag() const { return buckets_.back().lag; }
  [[nodiscard]] Stretch newest(std::size_t buckets) const {
    Stretch all;
    std::int64_t span = 0;
    std::int64_t waited = 0;
    for (auto bucket = buckets_.end() - static_cast<std::ptrdiff_t>(buckets); bucket != buckets_.end(); ++bucket) {
      all.shortest = std::min(all.shortest, bucket->lag);
      all.longest = std::max(all.longest, bucket->lag);
      span += bucket->span;
      waited += bucket->waited;
    }
    all.drained = waited * drained_part >= span;
    return all;
  }
  // The lag grows for long, though the machine keeps up: the camera's clock runs slow, as of one that stamps more
  // frames a second than it sends. A lag that shrinks is being caught up.
  [[nodiscard]] bool grows_for_long() const {
    if (buckets_.size() < most_buckets) return false;
    const Stretch all = newest(most_buckets);
    return all.drained && all.shortest > longest_usual && all.longest - newest_lag() <= steady;
  }

 private:
  static constexpr int bucket_samples = 10;
  static constexpr std::int64_t bucket_span = 500'000'000;
  static constexpr std::size_t most_buckets = 20;
  static constexpr std::int64_t drained_part = 5;

  struct Bucket {
    std::int64_t lag = INT64_MAX;  // the shortest
    std::int64_t span = 0;
    std::int64_t waited = 0;
    int samples = 0;
  };
  Bucket filling_;
  std::deque<Bucket> buckets_;
};

}  // namespace campipe
