// Who is to blame when a shared process dies: each thread that works for a camera says so in the rig page, and a
// crash handler marks the one that faulted, so that the supervisor can set aside a camera that kills again and again.
#pragma once

#include <string>

#include "ipc/rig_page.h"

namespace campipe {

// For as long as it lives, this thread works for the camera whose block this is. Construct it on that thread.
class ThreadScope {
 public:
  // `name`: as `top -H` shows it; cut to 15 characters.
  ThreadScope(ThreadBlock& block, const std::string& name);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

  // Must be called at least every few seconds; the supervisor ends a process in which one thread is silent for ten.
  void beat();

 private:
  ThreadBlock& block_;
};

// Installs the crash handler. It marks, then lets the handler before it (a sanitizer's, or the default) go on.
void install_crash_handler();

}  // namespace campipe
