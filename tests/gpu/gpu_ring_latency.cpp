// From publish() to the reader's first kernel. The writer enqueues a small fill (4 KiB), records it, stamps the frame
// with the monotonic clock and publishes it. The reader, in its process, gets the lease, has its stream wait for the
// fill, and launches a kernel of one thread that stores the frame's number in page-locked memory. The reader's thread
// then looks at that word without a pause and takes the time. So a figure contains, beside the hand-over, what remained
// of the fill when it was published, the launch of the kernel, and the way of its store to the CPU (some us together).
// One frame is on its way at a time, and the GPUs are idle otherwise. "sleeping": the reader looks for 2 us and then
// sleeps, as in campipe; "looking": it never sleeps.
#include "tests/gpu/gpu_ring_latency.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "ipc/futex.h"
#include "tests/faults/peer_process.h"
#include "tests/gpu/gpu_ring_peer.h"
#include "tests/gpu/gpu_ring_work.h"

namespace campipe::test {
namespace {

constexpr std::uint64_t warm_up = 50;
constexpr std::uint64_t measured = 500;
constexpr auto interval = milliseconds(4);
constexpr std::size_t fill_bytes = 4096;

double quantile_us(std::vector<std::int64_t>& values, double q) {
  if (values.empty()) throw Error("nothing was measured");
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return static_cast<double>(*at) / 1000.0;
}

// Returns when it was seen.
std::int64_t look_for(const volatile std::uint64_t& word, std::uint64_t value) {
  const Deadline deadline = after(seconds(2));
  while (word != value) {
    if (Clock::now() >= deadline) throw Error("the reader's kernel does not start");
    spin_pause();
  }
  return now_ns();
}

struct Row {
  const char* name;
  Device writer;
  Device reader;
  ReadySignal ready;
  microseconds spin;
};

void measure(const Row& row) {
  Peer reader(own_program, {"latency-reader", to_string(row.reader), std::to_string(row.spin.count())});
  Peer writer(own_program, {"latency-writer", word_of(MemoryKind::cuda_vmm), word_of(row.ready), to_string(row.writer),
                            std::to_string(warm_up + measured)});
  const auto ring = writer.receive();
  if (!ring || ring->fds.empty()) throw Error("the writer sent no ring");
  std::vector<int> fds;
  for (const UniqueFd& fd : ring->fds) fds.push_back(fd.get());
  reader.channel().send("ring", {}, fds);
  if (!reader.receive()) throw Error("the reader did not open the ring");
  writer.channel().send("go", {});
  const auto result = reader.receive();
  if (!result) throw Error("the reader measured nothing");
  const char* const signal = row.ready == ReadySignal::timeline ? "timeline" : "ipc_event";
  const char* const reading = row.spin > microseconds(2) ? "looking" : "sleeping";
  std::printf("%-10s %-9s %-8s p50 %7.1f us  p95 %7.1f us\n", row.name, signal, reading,
              result->body.at("p50").get<double>(), result->body.at("p95").get<double>());
  if (!writer.wait_gone() || !reader.wait_gone()) throw Error("a process does not end");
}

}  // namespace

int write_for_latency(const Arguments& arguments, Channel& channel) {
  const Device gpu = device_of(arguments.at(2));
  const std::uint64_t frames = std::stoull(arguments.at(3));
  const auto memory = FrameRingMemory::create({.slots = 8,
                                               .slot_bytes = gpu_slot_bytes,
                                               .memory = memory_kind_of(arguments.at(0)),
                                               .device = gpu,
                                               .ready = ready_signal_of(arguments.at(1))});
  const CudaStream stream = make_cuda_stream();
  FrameRingWriter writer(memory);
  if (!channel.send("ring", {}, descriptors_of(*memory))) return 4;
  await_message(channel, "go");
  for (std::uint64_t number = 1; number <= frames; ++number) {
    if (!writer.wait_for_room(after(patience), never)) throw Error("there was no room");
    const auto slot = writer.claim();
    if (!slot) throw Error("a slot stays held");
    enqueue_pattern(slot->pixels.first(fill_bytes), number, stream.get());
    writer.filled(slot->index, stream.get());
    FrameRecord record = record_of(number);
    record.times.decoded = now_ns();
    writer.publish(slot->index, record);
    writer.unpin(slot->index);
    writer.sleep_until(after(interval), never);
  }
  writer.close();
  if (!eventually([&] { return writer.drained(); })) throw Error("the ring is not drained");
  return 0;
}

int measure_latency(const Arguments& arguments, Channel& channel) {
  const Device gpu = device_of(arguments.at(0));
  const auto memory = open_ring(await_message(channel, "ring"), FrameRingMemory::Role::reader, gpu);
  use_gpu(gpu);
  const CudaStream stream = make_cuda_stream();
  const PinnedBytes page = allocate_pinned(sizeof(std::uint64_t));
  auto* word = reinterpret_cast<std::uint64_t*>(page.get());
  *word = 0;
  FrameRingReader reader(memory, 0, microseconds(std::stoll(arguments.at(1))));
  reserve_seat(memory, 0);
  reader.attach(true, 4);
  channel.send("attached", {});
  std::vector<std::int64_t> times;
  FrameRingReader::Lease lease;
  while (reader.next(lease, after(patience)) == FrameRingReader::Next::frame) {
    reader.use_on(stream.get(), lease);
    enqueue_stamp(word, lease.number, stream.get());
    const std::int64_t started = look_for(*word, lease.number);
    if (lease.number > warm_up) times.push_back(started - lease.times.decoded);
    lease = {};
  }
  channel.send("result", {{"p50", quantile_us(times, 0.5)}, {"p95", quantile_us(times, 0.95)}});
  return 0;
}

int print_latency() {
  const std::vector<Device> gpus = visible_gpus();
  if (gpus.empty()) {
    std::puts("there is no GPU");
    return 1;
  }
  for (const microseconds spin : {microseconds(2), microseconds(1'000'000)}) {
    for (const ReadySignal ready : {ReadySignal::ipc_event, ReadySignal::timeline}) {
      measure({"one GPU", gpus[0], gpus[0], ready, spin});
      if (gpus.size() > 1) measure({"two GPUs", gpus[0], gpus[1], ready, spin});
    }
  }
  return 0;
}

}  // namespace campipe::test
