// The other processes in the tests of rings that GPUs use: gpu_ring_test, started again as "ring_peer" (that one file
// is all that has to be carried to a machine with GPUs). They speak with the test as tests/faults/ring_peer.cpp does.
//
//   ring_peer PARENT_PID gpu-writer MEMORY READY GPU DELAY_US FRAMES      until FRAMES are published, or told to "stop"
//   ring_peer PARENT_PID gpu-reader PLACE block|drop GPU all|own          which GPUs it sees: all, or only its own
//   ring_peer PARENT_PID gpu-waiter GPU all|own                           waits for fills that never come
//   ring_peer PARENT_PID latency-writer MEMORY READY GPU FRAMES
//   ring_peer PARENT_PID latency-reader GPU SPIN_US
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/cuda.h"
#include "ipc/channel.h"
#include "ipc/frame_ring.h"
#include "tests/faults/peer_side.h"

namespace campipe::test {

inline constexpr const char* own_program = "/proc/self/exe";
inline constexpr std::size_t gpu_slot_bytes = 1 << 20;
inline constexpr unsigned gpu_ring_slots = 24;  // for two readers: their queues, and what they have enqueued
inline constexpr unsigned gpu_queue_size = 4;

inline Device device_of(const std::string& text) { return device_from_string(text).value(); }
inline MemoryKind memory_kind_of(const std::string& text) { return static_cast<MemoryKind>(std::stoi(text)); }
inline ReadySignal ready_signal_of(const std::string& text) { return static_cast<ReadySignal>(std::stoi(text)); }
template <typename Enum>
std::string word_of(Enum value) {
  return std::to_string(static_cast<int>(value));
}

// Those that this process sees; none without a driver.
std::vector<Device> visible_gpus();

// Control memory, and pixels where the memory kind has a descriptor.
inline std::vector<int> descriptors_of(const FrameRingMemory& memory) {
  std::vector<int> fds{memory.control_fd()};
  if (memory.pixel_fd() >= 0) fds.push_back(memory.pixel_fd());
  return fds;
}

inline std::shared_ptr<FrameRingMemory> open_ring(Message message, FrameRingMemory::Role role, const Device& gpu = {}) {
  UniqueFd pixels = message.fds.size() > 1 ? std::move(message.fds[1]) : UniqueFd();
  return FrameRingMemory::open(std::move(message.fds.at(0)), std::move(pixels), role, gpu);
}

CudaEvent make_event();
void record(const CudaEvent& event, const CudaStream& stream);
bool reached(const CudaEvent& event);
inline bool comes(const CudaEvent& event, Clock::duration within) {
  return eventually([&] { return reached(event); }, within);
}

// A slot's content as a GPU fills it: first something else, then nothing for `delay`, then the frame `number`.
void enqueue_fill(const FrameRingWriter::Slot& slot, std::uint64_t number, Clock::duration delay, GpuStream stream);

int run_gpu_ring_peer(const std::string& role, const Arguments& arguments, Channel& channel, Journal& journal);
// gpu_ring_latency.cpp
int write_for_latency(const Arguments& arguments, Channel& channel);
int measure_latency(const Arguments& arguments, Channel& channel);

}  // namespace campipe::test
