// Memory that one process fills and another reads, tried out and timed between GPUs: the probe fills, its helper reads.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <functional>
#include <limits>
#include <span>

#include "app/config/memory_names.h"
#include "app/control/child.h"
#include "app/control/started_process.h"
#include "app/probe/gpu_probe.h"
#include "app/probe/probe_messages.h"
#include "core/cuda.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/gpu_pixels.h"
#include "ipc/shared_memory.h"
#include "kernels/read.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t buffer_bytes = std::size_t{16} << 20;  // as a frame of 3840×2160, which is read that often
constexpr std::size_t pattern_bytes = std::size_t{2} << 20;  // of them, at the beginning
constexpr int readings = 5;                                  // of which the fastest counts
constexpr auto answer_deadline = std::chrono::seconds(10);   // the helper's first use of a GPU takes a second or two

std::vector<std::uint8_t> pattern(std::uint32_t seed) {
  std::vector<std::uint8_t> bytes(pattern_bytes);
  std::uint32_t state = seed;
  for (std::uint8_t& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::uint8_t>(state >> 24U);
  }
  return bytes;
}

void copy(void* to, const void* from) {
  cuda_check(cudaMemcpy(to, from, pattern_bytes, cudaMemcpyDefault), "cannot copy");
  // From pageable memory the call may return before the GPU has it all.
  cuda_check(cudaStreamSynchronize(nullptr), "cannot copy");
}

// What the helper needs to know, and keeps it alive.
struct Shared {
  GpuHandle handle{};
  int fd = -1;
  std::shared_ptr<const void> owner;
};

// Host memory, filled by the GPU.
Shared fill_host(const Device& gpu, const std::vector<std::uint8_t>& content) {
  struct Buffer {
    UniqueFd fd = create_shared_memory("probe", buffer_bytes);
    Mapping mapping{fd.get(), Mapping::Access::read_write};
    std::shared_ptr<const void> page_lock;
  };
  auto buffer = std::make_shared<Buffer>();
  buffer->page_lock = page_lock(buffer->mapping.bytes(), gpu);
  const DeviceBytes on_device = allocate_on_device(buffer_bytes);
  copy(on_device.get(), content.data());
  copy(buffer->mapping.bytes().data(), on_device.get());
  return {{}, buffer->fd.get(), buffer};
}

Shared fill(MemoryKind kind, const Device& gpu, const std::vector<std::uint8_t>& content) {
  use_gpu(gpu);
  if (kind == MemoryKind::host) return fill_host(gpu, content);
  auto pixels = GpuPixels::create(kind, gpu, buffer_bytes);
  copy(pixels->bytes().data(), content.data());
  return {pixels->handle(), pixels->fd(), pixels};
}

// A buffer that another process filled, for `gpu`.
struct OpenBuffer {
  std::span<const std::uint8_t> bytes;
  std::shared_ptr<const void> owner;
};

OpenBuffer open_buffer(MemoryKind kind, const Device& gpu, const GpuHandle& handle, int fd) {
  if (kind != MemoryKind::host) {
    auto pixels = GpuPixels::import(kind, gpu, handle, fd, buffer_bytes);
    return {pixels->bytes(), pixels};
  }
  struct HostBuffer {
    Mapping mapping;
    std::shared_ptr<const void> lock;
  };
  auto buffer = std::make_shared<HostBuffer>(Mapping(fd, Mapping::Access::read), nullptr);
  buffer->lock = page_lock_read_only(buffer->mapping.bytes(), gpu);
  return {buffer->mapping.bytes(), buffer};
}

std::vector<std::uint8_t> content_of(const OpenBuffer& buffer, std::uint8_t* own) {
  cuda_check(cudaMemcpy(own, buffer.bytes.data(), pattern_bytes, cudaMemcpyDefault), "cannot copy");
  std::vector<std::uint8_t> content(pattern_bytes);
  copy(content.data(), own);
  return content;
}

// Of what `enqueue` puts on a stream of this thread's GPU.
double rate_of(const std::function<void(GpuStream)>& enqueue) {
  const CudaStream stream = make_cuda_stream();
  CudaEvent begin;
  CudaEvent end;
  for (CudaEvent* event : {&begin, &end}) {
    cudaEvent_t made = nullptr;
    cuda_check(cudaEventCreate(&made), "cannot make an event");
    event->reset(made);
  }
  float fastest = std::numeric_limits<float>::max();  // ms
  for (int i = 0; i < readings; ++i) {
    cuda_check(cudaEventRecord(begin.get(), stream.get()), "cannot record an event");
    enqueue(stream.get());
    cuda_check(cudaEventRecord(end.get(), stream.get()), "cannot record an event");
    cuda_check(cudaEventSynchronize(end.get()), "cannot wait for the GPU");
    float took = 0;
    cuda_check(cudaEventElapsedTime(&took, begin.get(), end.get()), "cannot measure");
    fastest = std::min(fastest, std::max(took, 1e-3F));
  }
  return static_cast<double>(buffer_bytes) / (static_cast<double>(fastest) * 1e6);
}

ReadRates measure(MemoryKind kind, const OpenBuffer& buffer, std::uint8_t* own) {
  ReadRates rates;
  rates.copied = rate_of([&](GpuStream stream) {
    cuda_check(cudaMemcpyAsync(own, buffer.bytes.data(), buffer_bytes, cudaMemcpyDefault, stream), "cannot copy");
  });
  if (kind == MemoryKind::host) return rates;
  auto* const sum = reinterpret_cast<unsigned*>(own);
  rates.in_place = rate_of([&](GpuStream stream) { enqueue_read(buffer.bytes.data(), buffer_bytes, sum, stream); });
  return rates;
}

messages::SharedRead check(Message& message) {
  const auto question = read_message<messages::ReadShared>(message);
  GpuHandle handle{};
  if (question.handle.size() != handle.size()) throw BadMessage("a handle of another size");
  std::ranges::copy(question.handle, handle.begin());
  try {
    const int fd = message.fds.empty() ? -1 : message.fds.front().get();
    use_gpu(question.to);
    const OpenBuffer buffer = open_buffer(question.kind, question.to, handle, fd);
    const DeviceBytes own = allocate_on_device(buffer_bytes);
    if (content_of(buffer, own.get()) != pattern(question.seed))
      return {"another process reads something else than what was written"};
    const ReadRates rates = measure(question.kind, buffer, own.get());
    return {"", rates.in_place, rates.copied};
  } catch (const GpuError& error) {
    // Nothing that this process tried afterwards would mean anything.
    if (error.kind == GpuError::Kind::broken) throw;
    return {error.what()};
  }
}

bool wait_readable(int fd, Deadline deadline) {
  pollfd readable{fd, POLLIN, 0};
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return ::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) == 1;
}

class Helper {
 public:
  // How `to` reads `shared`.
  messages::SharedRead ask(MemoryKind kind, const Device& to, const Shared& shared, std::uint32_t seed) {
    if (!process_) process_ = std::make_unique<StartedProcess>(std::vector<std::string>{"probe-peer"}, STDERR_FILENO);
    Channel& channel = process_->channel();
    std::vector<int> fds;
    if (shared.fd >= 0) fds.push_back(shared.fd);
    send(channel, messages::ReadShared{kind, to, {shared.handle.begin(), shared.handle.end()}, seed}, fds);
    const Deadline deadline = Clock::now() + answer_deadline;
    while (!channel.closed() && wait_readable(channel.fd(), deadline)) {
      if (auto answer = channel.receive()) return read_message<messages::SharedRead>(*answer);
    }
    const bool died = channel.closed();
    process_.reset();  // the next question gets a new one
    return {died ? "the process that was to read it died" : "the process that was to read it did not answer"};
  }

 private:
  std::unique_ptr<StartedProcess> process_;
};

bool have_peer_access(const Device& from, const Device& to) {
  if (from == to) return true;
  int can = 0;
  cuda_check(cudaDeviceCanAccessPeer(&can, gpu_index(to), gpu_index(from)), "cannot ask for peer access");
  return can != 0;
}

// One kind from one GPU to all: the memory is made and filled once.
void try_kind(MemoryKind kind, const Gpu& from, std::vector<GpuPair>& pairs, Helper& helper) {
  const std::uint32_t seed = static_cast<std::uint32_t>(kind) + 1;
  Shared shared;
  std::string problem = excluded_sharing(from, kind);
  try {
    if (problem.empty()) shared = fill(kind, from.device, pattern(seed));
  } catch (const GpuError& error) {
    if (error.kind == GpuError::Kind::broken) throw;
    problem = error.what();
  }
  for (GpuPair& pair : pairs) {
    const auto read = problem.empty() ? helper.ask(kind, pair.to, shared, seed) : messages::SharedRead{problem};
    pair.sharing[kind] = read.problem;
    if (read.problem.empty()) pair.rates[kind] = {read.in_place, read.copied};
  }
}

}  // namespace

void try_sharing(const std::vector<Gpu>& gpus, const std::function<std::string(const Gpu&, const Gpu&)>& link,
                 const std::function<void(const GpuPair&)>& found) {
  Helper helper;
  for (const Gpu& from : gpus) {
    std::vector<GpuPair> pairs;
    for (const Gpu& to : gpus) {
      pairs.push_back({from.device, to.device, have_peer_access(from.device, to.device), link(from, to), {}, {}});
    }
    for (const auto& kind : choices<MemoryKind>) {
      spdlog::info("sharing memory from GPU {} as {}", from.index, kind.name);
      try_kind(kind.value, from, pairs, helper);
    }
    for (const GpuPair& pair : pairs) found(pair);
  }
}

int run_probe_peer() {
  Channel channel{UniqueFd(child_channel_fd)};
  ::fcntl(child_channel_fd, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  init_logging("probe-peer", "info");
  while (!channel.closed() && wait_readable(channel.fd(), Clock::now() + std::chrono::minutes(1))) {
    while (auto question = channel.receive()) send(channel, check(*question));
  }
  return 0;
}

}  // namespace campipe
