#include "app/control/thread_scope.h"

#include <pthread.h>
#include <signal.h>

#include <array>

namespace campipe {
namespace {

// Of this thread.
thread_local ThreadBlock* this_block = nullptr;
thread_local bool has_scope = false;  // the block's waits and heartbeat are its own
thread_local bool is_codec_thread = false;

constexpr std::array<int, 5> faults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
std::array<struct sigaction, faults.size()> actions_before;

// Async-signal-safe: an atomic store, sigaction and raise.
void on_fault(int signal) {
  if (this_block != nullptr) this_block->fault.store(static_cast<std::uint32_t>(signal), std::memory_order_relaxed);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (faults[i] == signal) sigaction(signal, &actions_before[i], nullptr);
  }
  raise(signal);
}

bool is_codec(WaitsFor what) { return what == WaitsFor::decoder || what == WaitsFor::encoder; }

}  // namespace

ThreadScope::ThreadScope(ThreadBlock& block, const std::string& name) : block_(block), cpu_(block) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  block_.fault.store(0, std::memory_order_relaxed);
  block_.waits_for.store(WaitsFor::nothing, std::memory_order_relaxed);
  block_.wait_until.store(0, std::memory_order_relaxed);
  this_block = &block_;
  has_scope = true;
  beat();
}

ThreadScope::~ThreadScope() {
  this_block = nullptr;
  has_scope = false;
  block_.beat.store(0, std::memory_order_relaxed);
}

void ThreadScope::beat() { block_.beat.store(now_ns(), std::memory_order_relaxed); }

InheritedScope::From InheritedScope::this_thread() {
  if (!has_scope) return {this_block, is_codec_thread};
  return {this_block, is_codec(this_block->waits_for.load(std::memory_order_relaxed))};
}

InheritedScope::InheritedScope(const From& from) {
  this_block = from.block;
  is_codec_thread = from.codec;
  if (from.codec) cpu_.emplace(*from.block);
}

InheritedScope::~InheritedScope() { this_block = nullptr; }

ThreadWait::ThreadWait(WaitsFor what, Deadline until) : block_(has_scope ? this_block : nullptr) {
  if (block_ == nullptr) return;
  outer_ = block_->waits_for.exchange(what, std::memory_order_relaxed);
  outer_until_ = block_->wait_until.exchange(to_ns(until), std::memory_order_relaxed);
}

// The silence of a wait that is over does not count: who sees its end must see this beat.
ThreadWait::~ThreadWait() {
  if (block_ == nullptr) return;
  block_->beat.store(now_ns(), std::memory_order_relaxed);
  block_->waits_for.store(outer_, std::memory_order_relaxed);
  block_->wait_until.store(outer_until_, std::memory_order_release);
}

void install_crash_handler() {
  struct sigaction action {};
  action.sa_handler = on_fault;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (std::size_t i = 0; i < faults.size(); ++i) sigaction(faults[i], &action, &actions_before[i]);
}

}  // namespace campipe
