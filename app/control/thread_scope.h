// Who is to blame when a shared process dies or hangs. Each thread that works for a camera has a block in the rig page:
// there it beats and notes what it waits for, and there a crash handler marks it if it faults, so that the supervisor
// can quarantine a camera that kills again and again.
//
// The threads that such a thread starts, a codec's above all, work for the same camera; app/control/thread_start.cpp
// sees to it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "app/control/signal_stack.h"
#include "app/control/thread_cpu.h"
#include "core/clock.h"
#include "ipc/thread_block.h"

namespace campipe {

// How long a wait may last before the thread beats again.
inline constexpr auto beat_slice = std::chrono::milliseconds(100);

// For as long as it lives, this thread works for the camera whose block this is. Construct it on that thread.
class ThreadScope {
 public:
  // `name`: as `top -H` shows it; cut to 15 characters.
  ThreadScope(ThreadBlock& block, const std::string& name);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

  // To be called at least once a second, except in a ThreadWait.
  void beat();

 private:
  ThreadBlock& block_;
  SignalStack signal_stack_;
  ThreadCpu cpu_;
};

// The same for a thread that one of a camera starts. It has no heartbeat: who started it waits for it.
class InheritedScope {
 public:
  // What the thread that starts it hands on. No block: it works for no camera.
  struct From {
    ThreadBlock* block = nullptr;
    bool codec = false;  // it is a codec's thread: the CPU time that it uses is progress
  };
  static From this_thread();

  explicit InheritedScope(const From& from);
  ~InheritedScope();
  InheritedScope(const InheritedScope&) = delete;
  InheritedScope& operator=(const InheritedScope&) = delete;

 private:
  SignalStack signal_stack_;
  std::optional<ThreadCpu> cpu_;
};

// While one lives, this thread waits for something that is not in its hands. On a thread without a ThreadScope it does
// nothing.
class ThreadWait {
 public:
  // `until`: silence up to then is no hang. Without it the CPU time decides, as for codecs.
  explicit ThreadWait(WaitsFor what, Deadline until = {});
  ~ThreadWait();
  ThreadWait(const ThreadWait&) = delete;
  ThreadWait& operator=(const ThreadWait&) = delete;

 private:
  ThreadBlock* block_;
  WaitsFor outer_ = WaitsFor::nothing;
  std::int64_t outer_until_ = 0;
};

// Installs the crash handler. It marks, then lets the handler before it (a sanitizer's, or the default) go on.
void install_crash_handler();

}  // namespace campipe
