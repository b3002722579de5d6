// A histogram of durations in shared memory, written by one or several threads, read by any: 16 buckets for each
// doubling from 1 µs to over an hour, so that a quantile is right within 5 %.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace campipe {

namespace histogram {

inline constexpr unsigned sub_bits = 4;
inline constexpr unsigned buckets = 30U << sub_bits;

constexpr unsigned bucket_of(std::int64_t ns) {
  const std::uint64_t us = ns <= 0 ? 0 : static_cast<std::uint64_t>(ns) / 1000;
  if (us < (1U << sub_bits)) return static_cast<unsigned>(us);
  const unsigned shift = static_cast<unsigned>(std::bit_width(us)) - sub_bits - 1;
  const unsigned bucket = ((shift + 1) << sub_bits) + static_cast<unsigned>((us >> shift) & ((1U << sub_bits) - 1));
  return bucket < buckets ? bucket : buckets - 1;
}

// The middle of a bucket, in nanoseconds.
constexpr double value_of(unsigned bucket) {
  if (bucket < (1U << sub_bits)) return (bucket + 0.5) * 1000.0;
  const unsigned shift = (bucket >> sub_bits) - 1;
  const auto low = static_cast<double>(std::uint64_t{(1U << sub_bits) + (bucket & ((1U << sub_bits) - 1))} << shift);
  return (low + static_cast<double>(std::uint64_t{1} << shift) / 2) * 1000.0;
}

}  // namespace histogram

// A copy to compute with.
struct HistogramCounts {
  std::array<std::uint32_t, histogram::buckets> count{};

  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const std::uint32_t n : count) sum += n;
    return sum;
  }
  // In nanoseconds; 0 when nothing was recorded. `q` in [0, 1].
  [[nodiscard]] double quantile(double q) const {
    const std::uint64_t all = total();
    if (all == 0) return 0;
    const auto rank = static_cast<std::uint64_t>(q * static_cast<double>(all));
    std::uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < histogram::buckets; ++bucket) {
      seen += count[bucket];
      if (seen > rank || seen == all) return histogram::value_of(bucket);
    }
    return 0;
  }
  void add(const HistogramCounts& others) {
    for (std::size_t i = 0; i < count.size(); ++i) count.at(i) += others.count.at(i);
  }
  // What came since `earlier`.
  [[nodiscard]] HistogramCounts since(const HistogramCounts& earlier) const {
    HistogramCounts difference;
    for (unsigned bucket = 0; bucket < histogram::buckets; ++bucket) {
      difference.count[bucket] = count[bucket] - earlier.count[bucket];
    }
    return difference;
  }
};

class SharedHistogram {
 public:
  void record(std::int64_t ns) { count_[histogram::bucket_of(ns)].fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] HistogramCounts counts() const {
    HistogramCounts copy;
    for (unsigned bucket = 0; bucket < histogram::buckets; ++bucket) {
      copy.count[bucket] = count_[bucket].load(std::memory_order_relaxed);
    }
    return copy;
  }
  void add(const HistogramCounts& others) {
    for (unsigned bucket = 0; bucket < histogram::buckets; ++bucket) {
      if (others.count[bucket] > 0) count_[bucket].fetch_add(others.count[bucket], std::memory_order_relaxed);
    }
  }
  // A copy of another one, by the only one who writes this one.
  void store(const HistogramCounts& counts) {
    for (unsigned bucket = 0; bucket < histogram::buckets; ++bucket) {
      count_[bucket].store(counts.count[bucket], std::memory_order_relaxed);
    }
  }

 private:
  std::array<std::atomic<std::uint32_t>, histogram::buckets> count_{};
};

}  // namespace campipe
