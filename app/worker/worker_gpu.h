// The GPU that a process with nodes works on.
#pragma once

#include <string>

#include "core/gpu.h"

namespace campipe {

namespace messages {
struct Setup;
struct WrittenEdge;
}  // namespace messages

// `gpu`, with its context, which this process has from now on; the CPU, and one that is pretended: none. Throws Error
// and GpuError.
Device take_gpu(const Device& gpu);

// What it writes for a GPU that there is not is in the CPU's memory.
messages::WrittenEdge on_this_machine(messages::WrittenEdge edge);

// Nothing that this process does with the GPU will succeed, and streams may wait for ever: neither destructors nor
// other nodes' threads would come to an end. The supervisor starts a new process.
[[noreturn]] void leave_lost_gpu(const messages::Setup& setup, const std::string& reason);

}  // namespace campipe
