// Frames that are on their way to another node, there, or on their way back. Those that come back keep their order:
// what one that has come back overtakes is lost. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

namespace campipe {

class Flight {
 public:
  void leaves(std::uint64_t source_number) {
    const std::lock_guard lock(mutex_);
    frames_.push_back(source_number);
  }

  // The newest one does not leave after all. False: it has been given up.
  bool stays(std::uint64_t source_number) {
    const std::lock_guard lock(mutex_);
    if (frames_.empty() || frames_.back() != source_number) return false;
    frames_.pop_back();
    return true;
  }

  struct Arrival {
    bool is_awaited = false;  // else it has been given up, or is of another process's time
    std::size_t lost = 0;     // frames that it has overtaken
  };
  Arrival comes_back(std::uint64_t source_number) {
    const std::lock_guard lock(mutex_);
    Arrival arrival;
    while (!frames_.empty() && frames_.front() < source_number) {
      frames_.pop_front();
      ++arrival.lost;
    }
    arrival.is_awaited = !frames_.empty() && frames_.front() == source_number;
    if (arrival.is_awaited) frames_.pop_front();
    return arrival;
  }

  // All are given up: so many.
  std::size_t give_up() {
    const std::lock_guard lock(mutex_);
    return std::exchange(frames_, {}).size();
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return frames_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::uint64_t> frames_;  // by their source numbers
};

}  // namespace campipe
