// How many watch one live stream, and the reports of that. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace campipe {

class LiveAudience {
 public:
  // There are viewers (true), or none any more (false); also for each new viewer, so that a key frame can be asked
  // for.
  using OnChange = std::function<void(bool watched)>;

  // `on_change`: called by report(), without locks, in the order of the changes and never twice at once. It must not
  // wait, nor call close().
  explicit LiveAudience(OnChange on_change) : on_change_(std::move(on_change)) {}

  // One more, one less. Whoever calls one of these calls report() when it holds no lock any more.
  void enter();
  void leave();
  void report();
  // Waits for a call of `on_change`; there is none afterwards.
  void close();
  [[nodiscard]] std::uint64_t count() const;

 private:
  const OnChange on_change_;
  mutable std::mutex mutex_;
  std::condition_variable reported_;
  std::uint64_t viewers_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t changes_reported_ = 0;
  bool reporting_ = false;
  bool closed_ = false;
};

}  // namespace campipe
