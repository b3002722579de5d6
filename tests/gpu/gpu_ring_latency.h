// gpu_ring_test --latency: what a hand-over costs between two processes.
#pragma once

namespace campipe::test {

// Prints a table. Needs a GPU; rows for two GPUs only where there are two.
int print_latency();

}  // namespace campipe::test
