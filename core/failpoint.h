// Named places where a test can make a process die or hang. In campipe itself failpoint() does nothing; the
// tests link failpoint_on.cpp instead, which obeys the environment variable
// CAMPIPE_FAILPOINT=NAME[@SUBJECT][:COUNT[+]]=ACTION[,…], ACTION one of kill (SIGKILL), segv, stop (SIGSTOP), overflow
// (of the thread's stack), hang (it sleeps for ever), work (it uses some of a CPU for 12 s), gpu_fault (an illegal
// address on this thread's GPU), throw (std::runtime_error), gpu_full (a GpuError: no memory), gpu_lost (a GpuError:
// the context is lost), waitN (this thread sleeps for N seconds; waitNms: milliseconds), burnN (it uses N milliseconds
// of CPU time): the COUNTth time (default 1) that this process reaches NAME for SUBJECT (default any), ACTION happens;
// with + each time from then on. With a file's absolute path behind it ("throw/tmp/on") it happens only where that file
// is there; "kill_once/tmp/on" removes the file first, so that no successor dies. Likewise for the others.
// "hold/tmp/on": this thread is held, as one that uses some of a CPU, until the file is gone.
#pragma once

#include <string_view>

namespace campipe {

// `subject`: the camera, where there is one. Any thread.
void failpoint(std::string_view name, std::string_view subject = {});

// The action gpu_fault: when it returns, this process's context on this thread's GPU is lost. Linked from
// kernels/fault.cu, and only by programs that obey failpoints and have a GPU: weak, since the others have none.
[[gnu::weak]] void gpu_fault();

}  // namespace campipe
