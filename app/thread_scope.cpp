#include "app/thread_scope.h"

#include <pthread.h>
#include <signal.h>

#include <array>

#include "core/clock.h"

namespace campipe {
namespace {

thread_local ThreadBlock* this_thread = nullptr;

constexpr std::array<int, 5> faults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
std::array<struct sigaction, faults.size()> actions_before;

// Async-signal-safe: an atomic store, sigaction and raise.
void on_fault(int signal) {
  if (this_thread != nullptr) this_thread->fault.store(static_cast<std::uint32_t>(signal), std::memory_order_relaxed);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (faults[i] == signal) sigaction(signal, &actions_before[i], nullptr);
  }
  raise(signal);
}

}  // namespace

ThreadScope::ThreadScope(ThreadBlock& block, const std::string& name) : block_(block) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  block_.fault.store(0, std::memory_order_relaxed);
  this_thread = &block_;
  beat();
}

ThreadScope::~ThreadScope() {
  this_thread = nullptr;
  block_.beat.store(0, std::memory_order_relaxed);
}

void ThreadScope::beat() { block_.beat.store(now_ns(), std::memory_order_relaxed); }

void install_crash_handler() {
  struct sigaction action {};
  action.sa_handler = on_fault;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (std::size_t i = 0; i < faults.size(); ++i) sigaction(faults[i], &action, &actions_before[i]);
}

}  // namespace campipe
