// Every thread of the program begins here: this pthread_create() goes before the C library's, also for libraries. One
// that is started by a thread of a camera works for that camera: a crash in a codec's own thread is then its camera's,
// whenever the codec starts it. No library reports which threads it starts, nor for what.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <memory>
#include <new>

#include "app/control/thread_scope.h"

namespace {

using Run = void* (*)(void*);
using Create = int (*)(pthread_t*, const pthread_attr_t*, Run, void*);

struct Start {
  Run run;
  void* argument;
  campipe::InheritedScope::From from;
};

// A thread may end in pthread_exit(), so nothing may be left to do behind `run` but what destructors do.
void* run_inherited(void* given) {
  const Start start = *std::unique_ptr<Start>(static_cast<Start*>(given));
  const campipe::InheritedScope scope(start.from);
  return start.run(start.argument);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int pthread_create(pthread_t* __restrict thread,
                                                             const pthread_attr_t* __restrict attributes, Run run,
                                                             void* __restrict argument) noexcept {
  // A sanitizer's where there is one, else the C library's.
  static const auto next = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  const auto from = campipe::InheritedScope::this_thread();
  if (from.block == nullptr) return next(thread, attributes, run, argument);
  std::unique_ptr<Start> start(new (std::nothrow) Start{run, argument, from});
  if (!start) return EAGAIN;
  const int code = next(thread, attributes, run_inherited, start.get());
  if (code == 0) static_cast<void>(start.release());
  return code;
}
