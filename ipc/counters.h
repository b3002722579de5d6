// How many of each Counter (ipc/counter_table.h) there were.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace campipe {

enum class Counter : std::uint8_t;

// More than there are, so that a new one changes no block of the rig page.
inline constexpr std::size_t max_counters = 32;

// In a block of the rig page: what its process counts there. The zero bytes of a new page are valid.
class Counters {
 public:
  void add(Counter counter, std::uint64_t number = 1) {
    value_[static_cast<std::size_t>(counter)].fetch_add(number, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t of(Counter counter) const {
    return value_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  }
  void add(const Counters& others) {
    for (std::size_t i = 0; i < max_counters; ++i) add(static_cast<Counter>(i), others.of(static_cast<Counter>(i)));
  }

 private:
  std::array<std::atomic<std::uint64_t>, max_counters> value_{};
};

// Numbers to compute with, of one thread.
class CounterTotals {
 public:
  std::uint64_t& operator[](Counter counter) { return value_[static_cast<std::size_t>(counter)]; }
  std::uint64_t operator[](Counter counter) const { return value_[static_cast<std::size_t>(counter)]; }

 private:
  std::array<std::uint64_t, max_counters> value_{};
};

}  // namespace campipe
