#include "app/control/signal_stack.h"

#include <signal.h>

#include <new>

namespace campipe {
namespace {

// The kernel stores the CPU's registers there, up to 11 kB with AMX; what is never touched takes no memory.
constexpr std::size_t stack_size = 64 * 1024;

}  // namespace

// Without memory, or against the kernel's will, the thread does without: only its overflow would not be attributed.
SignalStack::SignalStack() {
  stack_t present{};
  if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
  memory_.reset(new (std::nothrow) std::byte[stack_size]);
  if (!memory_) return;
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = stack_size;
  if (sigaltstack(&stack, nullptr) != 0) memory_.reset();
}

SignalStack::~SignalStack() {
  if (!memory_) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace campipe
