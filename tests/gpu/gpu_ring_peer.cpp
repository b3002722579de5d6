#include "tests/gpu/gpu_ring_peer.h"

#include <array>
#include <cstdlib>
#include <deque>
#include <memory>
#include <utility>

#include "tests/gpu/gpu_ring_work.h"

namespace campipe::test {

std::vector<Device> visible_gpus() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  std::vector<Device> gpus;
  for (int index = 0; index < count; ++index) gpus.push_back(gpu_at(index));
  return gpus;
}

CudaEvent make_event() {
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
  return CudaEvent(event);
}

void record(const CudaEvent& event, const CudaStream& stream) {
  cuda_check(cudaEventRecord(event.get(), stream.get()), "record");
}

bool reached(const CudaEvent& event) {
  const cudaError_t code = cudaEventQuery(event.get());
  if (code != cudaErrorNotReady) cuda_check(code, "query");
  static_cast<void>(cudaGetLastError());
  return code == cudaSuccess;
}

void enqueue_fill(const FrameRingWriter::Slot& slot, std::uint64_t number, Clock::duration delay, GpuStream stream) {
  enqueue_pattern(slot.pixels, 0, stream);
  enqueue_delay(std::chrono::nanoseconds(delay).count(), stream);
  enqueue_pattern(slot.pixels, number, stream);
}

namespace {

constexpr auto pace = milliseconds(1);

// ---- the writer

// A slot, even where all wait for the GPU: a camera would drop the frame, here none may be missing.
FrameRingWriter::Slot claim_slot(FrameRingWriter& writer) {
  std::optional<FrameRingWriter::Slot> slot;
  if (!eventually([&] { return (slot = writer.claim()).has_value(); }, patience)) throw Error("a slot stays held");
  return *slot;
}

void expect_all_claimable(FrameRingWriter& writer) {
  if (!eventually([&] { return writer.drained(); }, patience)) throw Error("the ring is not drained");
  for (unsigned slot = 0; slot < gpu_ring_slots; ++slot) claim_slot(writer);
}

int write_pictures(const Arguments& arguments, Channel& channel) {
  const Device gpu = device_of(arguments.at(2));
  const microseconds delay(std::stoll(arguments.at(3)));
  const std::uint64_t last = std::stoull(arguments.at(4));
  const auto memory = FrameRingMemory::create({.slots = gpu_ring_slots,
                                               .slot_bytes = gpu_slot_bytes,
                                               .memory = memory_kind_of(arguments.at(0)),
                                               .device = gpu,
                                               .ready = ready_signal_of(arguments.at(1))});
  use_gpu(gpu);
  const CudaStream stream = make_cuda_stream();
  FrameRingWriter writer(memory);
  if (!channel.send("ring", {}, descriptors_of(*memory))) return 4;
  await_message(channel, "go");
  const auto told_to_stop = [&] { return channel.receive().has_value(); };
  for (std::uint64_t number = 1; number <= last && !told_to_stop(); ++number) {
    if (!writer.wait_for_room(after(patience), never)) throw Error("there was no room");
    const FrameRingWriter::Slot slot = claim_slot(writer);
    enqueue_fill(slot, number, delay, stream.get());
    writer.filled(slot.index, stream.get());
    if (writer.publish(slot.index, record_of(number)) != FrameRingWriter::Published::yes)
      throw Error("there is no reader");
    writer.unpin(slot.index);
    writer.sleep_until(after(pace), never);
  }
  writer.close();
  expect_all_claimable(writer);
  return 0;
}

// ---- a reader

// CUDA must not have been used yet.
void see_gpus(const Device& gpu, const std::string& which) {
  if (which == "own") ::setenv("CUDA_VISIBLE_DEVICES", to_string(gpu).c_str(), 1);
}

// What one frame needs on its way through the reader's stream, page-locked.
struct Checking {
  std::uint64_t number = 0;
  bool timed_right = false;
  PinnedBytes copy = allocate_pinned(gpu_slot_bytes);
  PinnedBytes wrong = allocate_pinned(sizeof(std::uint64_t));
  CudaEvent through = make_event();

  [[nodiscard]] std::uint64_t* wrong_words() const { return reinterpret_cast<std::uint64_t*>(wrong.get()); }
};

// Looks at frames with kernels, and by a copy to the host, both some time after they are ready; the lease is dropped
// when all that is enqueued.
class Checker {
 public:
  Checker(MemoryKind memory, Note& note) : memory_(memory), note_(note) {
    for (int i = 0; i < 4; ++i) free_.push_back(std::make_unique<Checking>());
  }

  void check(FrameRingReader& reader, FrameRingReader::Lease lease) {
    if (free_.empty()) finish_oldest();
    auto one = std::move(free_.front());
    free_.pop_front();
    one->number = lease.number;
    one->timed_right = lease.times.pts == pts_of(lease.number);
    *one->wrong_words() = 0;
    reader.use_on(stream_.get(), lease);
    enqueue({lease.frame.view.data[0], gpu_slot_bytes}, *one);
    lease = {};
    record(one->through, stream_);
    running_.push_back(std::move(one));
  }

  void finish() {
    while (!running_.empty()) finish_oldest();
  }

 private:
  void enqueue(std::span<const std::uint8_t> pixels, const Checking& one) {
    enqueue_delay(200'000, stream_.get());
    // Host memory that could not be page-locked is for copies only.
    if (memory_ != MemoryKind::host) enqueue_check(pixels, one.number, one.wrong_words(), stream_.get());
    cuda_check(cudaMemcpyAsync(device_copy_.get(), pixels.data(), pixels.size(), cudaMemcpyDefault, stream_.get()),
               "copy");
    enqueue_check({device_copy_.get(), pixels.size()}, one.number, one.wrong_words(), stream_.get());
    cuda_check(cudaMemcpyAsync(one.copy.get(), device_copy_.get(), pixels.size(), cudaMemcpyDefault, stream_.get()),
               "copy back");
  }

  void finish_oldest() {
    auto one = std::move(running_.front());
    running_.pop_front();
    if (!comes(one->through, patience)) throw Error("the reader's stream does not go on");
    const bool whole = *one->wrong_words() == 0 && has_pattern({one->copy.get(), gpu_slot_bytes}, one->number);
    note_.add(one->number, whole && one->timed_right);
    free_.push_back(std::move(one));
  }

  MemoryKind memory_;
  Note& note_;
  CudaStream stream_ = make_cuda_stream();
  DeviceBytes device_copy_ = allocate_on_device(gpu_slot_bytes);
  std::deque<std::unique_ptr<Checking>> free_;
  std::deque<std::unique_ptr<Checking>> running_;
};

int read_pictures(const Arguments& arguments, Channel& channel, Journal& journal) {
  const Device gpu = device_of(arguments.at(2));
  see_gpus(gpu, arguments.at(3));
  const auto memory = open_ring(await_message(channel, "ring"), FrameRingMemory::Role::reader, gpu);
  use_gpu(gpu);
  Note note(journal);
  Checker checker(memory->kind(), note);
  FrameRingReader reader(memory, number_of(arguments.at(0)));
  reserve_seat(memory, number_of(arguments.at(0)));
  reader.attach(arguments.at(1) == "block", gpu_queue_size);
  for (;;) {
    FrameRingReader::Lease lease;
    const auto next = reader.next(lease, after(patience));
    if (next == FrameRingReader::Next::timeout) throw Error("no frame came");
    if (next != FrameRingReader::Next::frame) {
      checker.finish();
      note.end(next == FrameRingReader::Next::ended);
      return 0;
    }
    checker.check(reader, std::move(lease));
  }
}

// ---- a reader whose writer dies before it has filled anything

int wait_for_nothing(const Arguments& arguments, Channel& channel) {
  const Device gpu = device_of(arguments.at(0));
  see_gpus(gpu, arguments.at(1));
  const auto memory = open_ring(await_message(channel, "ring"), FrameRingMemory::Role::reader, gpu);
  use_gpu(gpu);
  const CudaStream stream = make_cuda_stream();
  const CudaEvent through = make_event();
  FrameRingReader reader(memory, 0);
  reserve_seat(memory, 0);
  reader.attach(true, gpu_queue_size);
  bool told = false;
  for (;;) {
    FrameRingReader::Lease lease;
    const auto next = reader.next(lease, after(patience));
    if (next == FrameRingReader::Next::timeout) throw Error("no frame came");
    if (next != FrameRingReader::Next::frame) break;
    reader.use_on(stream.get(), lease);
    lease = {};
    record(through, stream);
    if (!std::exchange(told, true)) channel.send("waiting", {});
  }
  const bool pending = !reached(through);
  const bool released = reader.release_waits();
  const bool went_on = comes(through, released ? seconds(5) : milliseconds(300));
  channel.send("released", {{"pending", pending}, {"released", released}, {"went_on", went_on}});
  if (!went_on) std::_Exit(0);  // nothing else ends the stream's wait, and all that frees memory would wait for it
  return 0;
}

}  // namespace

int run_gpu_ring_peer(const std::string& role, const Arguments& arguments, Channel& channel, Journal& journal) {
  if (role == "gpu-writer") return write_pictures(arguments, channel);
  if (role == "gpu-reader") return read_pictures(arguments, channel, journal);
  if (role == "gpu-waiter") return wait_for_nothing(arguments, channel);
  if (role == "latency-writer") return write_for_latency(arguments, channel);
  if (role == "latency-reader") return measure_latency(arguments, channel);
  return 2;
}

}  // namespace campipe::test
