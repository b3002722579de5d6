// Tells a camera's ingest thread to stop, and keeps its heartbeat going while it waits.
//
// stop() comes from any thread. The ingest thread then reads nothing more, but has some seconds to hand over what is
// decoded already; after that it has given up.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "core/clock.h"

namespace campipe {

class ThreadScope;

class StopSignal {
 public:
  // Any thread.
  void stop();
  // Any thread. Nobody wants what is decoded already: given_up() at once.
  void give_up();
  [[nodiscard]] bool stopped() const { return stop_at_.load() != 0; }
  // Any thread. Its work goes on in another process: it ends at once, as if this process had died.
  void leave();
  [[nodiscard]] bool left() const { return left_; }
  // Stopped, and the time to hand over what is decoded has passed, or give_up().
  [[nodiscard]] bool given_up() const;

  // The rest: the ingest thread only. `scope` outlives its work.
  void attach(ThreadScope& scope) { scope_ = &scope; }
  void beat();
  // For waits that must be interrupted: to be asked at least every 100 ms. A heartbeat, and whether the wait must end;
  // also where it was left.
  bool beat_or_stop();
  bool beat_or_give_up();
  // Returns early when stopped.
  void sleep_until(Deadline due);

 private:
  ThreadScope* scope_ = nullptr;
  std::atomic<std::int64_t> stop_at_{0};  // monotonic ns at which stop() was called; 0: it was not
  std::atomic<bool> left_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace campipe
