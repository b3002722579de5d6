#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "core/c_callback.h"
#include "core/cuda.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/frame_ring_layout.h"
#include "ipc/ready_signals.h"

namespace campipe {
namespace {

// For what is enqueued on a ring that is dropped; far more than a frame's work takes.
constexpr auto settle_time = std::chrono::seconds(2);

static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(cuuint64_t));
static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(ring::Fill::event_handle));

// What both kinds have in common: the control memory as the GPU sees it, and the way that slots are given back.
class SignalsOfRing : public ReadySignals {
 public:
  SignalsOfRing(ring::Header& header, const ring::Description& description, const Device& gpu)
      : header_(header), slots_(description.slots), gpu_(gpu) {
    use_gpu(gpu);
    page_lock_ = page_lock({reinterpret_cast<std::uint8_t*>(&header), sizeof header}, gpu);
    void* address = nullptr;
    cuda_check(cudaHostGetDevicePointer(&address, &header, 0), "the GPU cannot reach a ring's control memory");
    address_ = reinterpret_cast<CUdeviceptr>(address);
    int supported = 0;
    cuda_check(cuda_driver().device_get_attribute(&supported, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
                                                  gpu_index(gpu)),
               "cannot ask what a GPU can do");
    writes_from_streams_ = supported != 0;
  }
  SignalsOfRing(const SignalsOfRing&) = delete;
  SignalsOfRing& operator=(const SignalsOfRing&) = delete;

  void give_back(unsigned reader, unsigned slot, std::uint32_t sequence, GpuStream stream) override {
    use_gpu(gpu_);
    GivenBack& given = given_back_[slot];
    given = {&header_.done[reader][slot], sequence, static_cast<std::uint16_t>(1U << reader)};
    if (writes_from_streams_) {
      write(stream, *given.done, sequence);
    } else {
      cuda_check(cudaLaunchHostFunc(stream, c_callback<&SignalsOfRing::store_done>, &given),
                 "cannot enqueue that a frame is given back");
    }
  }

 protected:
  // To be called first by destructors: what is enqueued must have ended before the memory that it uses is unmapped.
  void settle() {
    use_gpu_to_release(gpu_);
    const Deadline deadline = Clock::now() + settle_time;
    while (!settled()) {
      if (Clock::now() >= deadline) {
        spdlog::error("a frame ring is dropped on which {} still works", to_string(gpu_));
        return;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // nothing but a look shows what a GPU wrote
    }
  }

  // In stream order, and visible to the CPUs after all that the stream did before.
  void write(GpuStream stream, const std::atomic<std::uint64_t>& word, std::uint64_t value) {
    cuda_check(cuda_driver().stream_write_value(stream, address_of(word), value, CU_STREAM_WRITE_VALUE_DEFAULT),
               "cannot enqueue a write to a ring's control memory");
  }

  [[nodiscard]] CUdeviceptr address_of(const std::atomic<std::uint64_t>& word) const {
    return address_ + static_cast<CUdeviceptr>(reinterpret_cast<const std::uint8_t*>(&word) -
                                               reinterpret_cast<const std::uint8_t*>(&header_));
  }

  [[nodiscard]] bool writes_from_streams() const { return writes_from_streams_; }
  [[nodiscard]] ring::Header& header() const { return header_; }
  [[nodiscard]] unsigned slots() const { return slots_; }
  [[nodiscard]] const Device& gpu() const { return gpu_; }

 private:
  // A slot's newest, for a host function that outlives the call. The slot is not leased again before it has run.
  struct GivenBack {
    std::atomic<std::uint64_t>* done = nullptr;
    std::uint64_t sequence = 0;
    std::uint16_t reader = 0;  // its bit
  };

  static void store_done(void* data) {
    const auto& given = *static_cast<const GivenBack*>(data);
    given.done->store(given.sequence, std::memory_order_seq_cst);
  }

  // The writer clears the word of a reader that leaves, or its successor's GPU writes it. Both come after the writer
  // has seen it written, and taken the slot back for that.
  [[nodiscard]] bool is_given_back(unsigned slot) const {
    const GivenBack& given = given_back_[slot];
    if (given.done == nullptr || given.done->load(std::memory_order_acquire) == given.sequence) return true;
    const auto control = ring::Control::unpack(header_.slot[slot].control.load(std::memory_order_acquire));
    return control.sequence != given.sequence || (control.held & given.reader) == 0;
  }

  bool settled() {
    for (unsigned slot = 0; slot < slots_; ++slot) {
      if (!is_given_back(slot)) return false;
    }
    try {
      for (unsigned slot = 0; slot < slots_; ++slot) {
        if (!complete(slot)) return false;
      }
    } catch (const GpuError& error) {
      spdlog::debug("{}", error.what());  // the context is lost, and nothing runs in it any more
    }
    return true;
  }

  ring::Header& header_;
  unsigned slots_;
  Device gpu_;
  std::shared_ptr<const void> page_lock_;
  CUdeviceptr address_ = 0;  // of the header
  bool writes_from_streams_ = false;
  std::array<GivenBack, max_ring_slots> given_back_{};
};

class EventSignals : public SignalsOfRing {
 public:
  enum class Side : std::uint8_t { writer, reader };

  EventSignals(ring::Header& header, const ring::Description& description, const Device& gpu, Side side)
      : SignalsOfRing(header, description, gpu), side_(side) {
    for (unsigned slot = 0; slot < slots(); ++slot) {
      event_[slot] = side == Side::writer ? make_event(header.fill[slot]) : open_event(header.fill[slot]);
    }
  }
  EventSignals(const EventSignals&) = delete;
  EventSignals& operator=(const EventSignals&) = delete;
  ~EventSignals() override { settle(); }

  std::uint64_t record(unsigned slot, GpuStream stream) override {
    use_gpu(gpu());
    cuda_check(cudaEventRecord(event_[slot].get(), stream), "cannot record that a slot is filled");
    return ++fills_[slot];
  }

  bool complete(unsigned slot) override {
    if (side_ == Side::reader || fills_[slot] == 0) return true;
    use_gpu(gpu());
    const cudaError_t code = cudaEventQuery(event_[slot].get());
    if (code == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // not an error, but kept as if it were one
      return false;
    }
    cuda_check(code, "cannot ask whether a slot is filled");
    return true;
  }

  // The event's latest record is that of the lease: its writer does not record again before it is given back.
  void wait(unsigned slot, std::uint64_t /*fill*/, GpuStream stream) override {
    use_gpu(gpu());
    cuda_check(cudaStreamWaitEvent(stream, event_[slot].get(), 0), "cannot wait for a slot to be filled");
  }

  bool release_waits() override { return false; }

 private:
  static CudaEvent make_event(ring::Fill& fill) {
    cudaEvent_t event = nullptr;
    cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess),
               "cannot make an event to share; use ready_signal: timeline");
    CudaEvent owner(event);
    cudaIpcEventHandle_t handle{};
    cuda_check(cudaIpcGetEventHandle(&handle, event), "cannot share an event; use ready_signal: timeline");
    std::memcpy(fill.event_handle.data(), &handle, sizeof handle);
    return owner;
  }

  static CudaEvent open_event(const ring::Fill& fill) {
    cudaIpcEventHandle_t handle{};
    std::memcpy(&handle, fill.event_handle.data(), sizeof handle);
    cudaEvent_t event = nullptr;
    cuda_check(cudaIpcOpenEventHandle(&event, handle), "cannot open another process's event");
    return CudaEvent(event);
  }

  Side side_;
  std::array<CudaEvent, max_ring_slots> event_;
  std::array<std::uint64_t, max_ring_slots> fills_{};  // recorded by this process
};

// Also what a reader has whose ring is filled by the CPU: then it only gives back.
class TimelineSignals : public SignalsOfRing {
 public:
  TimelineSignals(ring::Header& header, const ring::Description& description, const Device& gpu)
      : SignalsOfRing(header, description, gpu) {
    if (description.ready == ReadySignal::timeline && !writes_from_streams()) {
      throw GpuError(to_string(gpu) + " cannot write memory in stream order; use ready_signal: ipc_event",
                     GpuError::Kind::other);
    }
  }
  TimelineSignals(const TimelineSignals&) = delete;
  TimelineSignals& operator=(const TimelineSignals&) = delete;
  ~TimelineSignals() override { settle(); }

  std::uint64_t record(unsigned slot, GpuStream stream) override {
    use_gpu(gpu());
    write(stream, timeline(slot), fills_[slot] + 1);
    return ++fills_[slot];
  }

  bool complete(unsigned slot) override { return timeline(slot).load(std::memory_order_acquire) >= fills_[slot]; }

  void wait(unsigned slot, std::uint64_t fill, GpuStream stream) override {
    use_gpu(gpu());
    cuda_check(cuda_driver().stream_wait_value(stream, address_of(timeline(slot)), fill, CU_STREAM_WAIT_VALUE_GEQ),
               "cannot wait for a slot to be filled");
    awaited_[slot] = fill;
    if (released_) release(slot);
  }

  bool release_waits() override {
    released_ = true;
    for (unsigned slot = 0; slot < slots(); ++slot) release(slot);
    return true;
  }

 private:
  // The GPU compares as signed numbers that wrap: a value far ahead of what is awaited would count as behind it.
  void release(unsigned slot) {
    if (timeline(slot).load(std::memory_order_acquire) < awaited_[slot])
      timeline(slot).store(awaited_[slot], std::memory_order_seq_cst);
  }

  [[nodiscard]] std::atomic<std::uint64_t>& timeline(unsigned slot) const { return header().fill[slot].timeline; }

  std::array<std::uint64_t, max_ring_slots> fills_{};    // recorded by this process
  std::array<std::uint64_t, max_ring_slots> awaited_{};  // the newest that a stream of this process waits for
  bool released_ = false;
};

}  // namespace

std::shared_ptr<ReadySignals> ReadySignals::create(ring::Header& header, const ring::Description& description,
                                                   const Device& gpu) {
  if (description.ready == ReadySignal::ipc_event)
    return std::make_shared<EventSignals>(header, description, gpu, EventSignals::Side::writer);
  return std::make_shared<TimelineSignals>(header, description, gpu);
}

std::shared_ptr<ReadySignals> ReadySignals::open(ring::Header& header, const ring::Description& description,
                                                 const Device& gpu) {
  if (description.ready == ReadySignal::ipc_event)
    return std::make_shared<EventSignals>(header, description, gpu, EventSignals::Side::reader);
  return std::make_shared<TimelineSignals>(header, description, gpu);
}

}  // namespace campipe
