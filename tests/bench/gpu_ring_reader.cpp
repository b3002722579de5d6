#include "tests/bench/gpu_ring_reader.h"

#include <poll.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include "app/control/child.h"
#include "core/cuda.h"
#include "stages/filters/gpu_chain.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

FilterConfig filter(const std::string& name, const FilterParameters& parameters) { return {name, parameters}; }

// A camera's filters, with no more than a few frames on the stream, so that slots come back in time.
class BoundedChain {
 public:
  explicit BoundedChain(const Device& gpu)
      : chain_({filter("resize", {{"width", 1280}, {"height", 720}}), filter("blur", {{"sigma", 1.5}}),
                filter("sharpen", {{"amount", 1.0}})}) {
    use_gpu(gpu);
    for (CudaEvent& event : done_) {
      cudaEvent_t made = nullptr;
      cuda_check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming | cudaEventBlockingSync), "making an event");
      event.reset(made);
    }
  }

  void process(FrameRingReader& reader, FrameRingReader::Lease& lease) {
    CudaEvent& done = done_[next_++ % most_in_flight];
    cuda_check(cudaEventSynchronize(done.get()), "filtering");
    if (!(format_ == lease.frame.view.format)) {
      format_ = lease.frame.view.format;
      chain_.configure(format_, GpuChain::Output::device);
    }
    reader.use_on(chain_.stream(), lease);
    chain_.process(lease.frame, lease.times.pts);
    lease.frame = {};  // the slot is given back behind the filters
    cuda_check(cudaEventRecord(done.get(), chain_.stream()), "filtering");
  }

  void finish() {
    if (!chain_.wait(Clock::now() + stall_deadline)) throw Error("the filters do not end");
  }

 private:
  GpuChain chain_;
  std::array<CudaEvent, most_in_flight> done_;
  unsigned next_ = 0;
  FrameFormat format_;
};

// Takes all of a ring's frames. Without filters nobody looks at the pixels, so there is nothing to wait for: the
// writer claims a slot again only when its own fill has completed.
void read_ring(Message& message, std::atomic<std::uint64_t>& frames) {
  const auto gpu = device_from_string(message.body.at("gpu")).value();
  use_gpu(gpu);
  UniqueFd pixels = message.fds.size() > 1 ? std::move(message.fds[1]) : UniqueFd();
  FrameRingReader reader(
      FrameRingMemory::open(std::move(message.fds.at(0)), std::move(pixels), FrameRingMemory::Role::reader, gpu), 0);
  std::unique_ptr<BoundedChain> chain;
  if (message.body.at("filter")) chain = std::make_unique<BoundedChain>(gpu);
  reader.attach(true, queue_size);
  for (;;) {
    FrameRingReader::Lease lease;
    const auto next = reader.next(lease, Clock::now() + seconds(1));
    if (next == FrameRingReader::Next::timeout) continue;
    if (next != FrameRingReader::Next::frame) break;
    if (chain) chain->process(reader, lease);
    ++frames;
  }
  if (chain) chain->finish();
}

// The other process must not wait for a camera that has failed here.
void read_ring_or_die(Message message, std::atomic<std::uint64_t>& frames) {
  try {
    read_ring(message, frames);
  } catch (const std::exception& error) {
    std::cerr << "gpu_pipeline_bench: reader: " << error.what() << std::endl;
    std::_Exit(1);
  }
}

}  // namespace

int run_ring_reader() {
  Channel channel{UniqueFd(child_channel_fd)};
  std::atomic<std::uint64_t> frames{0};
  std::vector<std::jthread> threads;
  for (;;) {
    pollfd readable{channel.fd(), POLLIN, 0};
    if (::poll(&readable, 1, -1) < 0 && errno != EINTR) throw system_error("poll", errno);
    while (auto message = channel.receive()) {
      if (message->type == "end") {
        threads.clear();
        channel.send("frames", {{"frames", frames.load()}});
        return 0;
      }
      threads.emplace_back(read_ring_or_die, std::move(*message), std::ref(frames));
    }
    if (channel.closed()) std::_Exit(1);
  }
}

RingReaderProcess::RingReaderProcess() : child_({"reader"}, STDERR_FILENO) {}

void RingReaderProcess::give(const FrameRingMemory& ring, const Device& gpu, bool filter) {
  std::vector<int> fds{ring.control_fd()};
  if (ring.pixel_fd() >= 0) fds.push_back(ring.pixel_fd());
  const std::lock_guard lock(mutex_);
  child_.channel().send("ring", {{"gpu", to_string(gpu)}, {"filter", filter}}, fds);
}

std::uint64_t RingReaderProcess::finish() {
  Channel& channel = child_.channel();
  channel.send("end", {});
  pollfd readable{channel.fd(), POLLIN, 0};
  ::poll(&readable, 1, static_cast<int>(milliseconds(stall_deadline).count()));
  const auto message = channel.receive();
  if (!message) throw Error("the second process has died or does not end");
  return message->body.at("frames");
}

double RingReaderProcess::cpu_s() const {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(child_.pid(), &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    throw Error("the second process has died");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace campipe
