// A stack for this thread's signal handlers: where its own has overflowed, there is no other to run on.
#pragma once

#include <cstddef>
#include <memory>

namespace campipe {

// Construct and destroy it on the thread. One that is there already, as a sanitizer's, stays.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace campipe
