// The supervisor's end of the probe: starting it, hearing it out, and not waiting for it for ever.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "app/control/child_environment.h"
#include "app/control/child_process.h"
#include "app/control/message_dispatch.h"
#include "app/control/rig_signals.h"
#include "app/placement/devices.h"
#include "app/placement/plan.h"
#include "app/probe/probe_messages.h"
#include "core/error.h"
#include "core/gpu.h"
#include "core/pretended_gpus.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
constexpr auto time_to_die = std::chrono::seconds(2);  // after SIGKILL
constexpr std::size_t most_log = 4096;

// Loading it calls nothing: the driver itself wakes up with the first call, which the probe makes.
bool driver_is_here() {
  void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return false;
  ::dlclose(library);
  return true;
}

// What they are said to decode the CPU does, into host memory, also where another one is asked for; else they do
// nothing that GPUs do.
Devices pretended_devices() {
  Devices devices;
  devices.driver = true;
  for (unsigned index = 0; index < pretended_gpus(); ++index) {
    Gpu& gpu = devices.gpus.emplace_back();
    gpu.index = index;
    gpu.device = pretended_gpu(index);
    gpu.name = "pretended";
    gpu.cpus = this_machine().cpus;
    gpu.decoders.push_back({"h264", 0, 0, ""});
  }
  for (const Gpu& from : devices.gpus) {
    for (const Gpu& to : devices.gpus) {
      GpuPair& pair = devices.pairs.emplace_back();
      pair.from = from.device;
      pair.to = to.device;
      pair.sharing[MemoryKind::host] = pair.sharing[MemoryKind::cuda_vmm] = "";
      pair.rates[MemoryKind::host].copied = 1;  // so that it is taken
    }
  }
  return devices;
}

class Probe {
 public:
  explicit Probe(Mps mps) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw system_error("cannot make a pipe", errno);
    log_read_.reset(pipe[0]);
    const UniqueFd log_write(pipe[1]);
    std::vector<std::string> variables = mps_variables(mps);
    variables.emplace_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");  // as nvidia-smi counts
    process_ = std::make_unique<ChildProcess>(std::vector<std::string>{"probe"}, log_write.get(), variables);
  }

  ~Probe() {
    if (ended_) return;
    process_->kill();
    pollfd gone{process_->pidfd(), POLLIN, 0};
    // One that hangs in the driver cannot be killed: it is left to itself rather than waited for.
    const bool dead = ::poll(&gone, 1, static_cast<int>(milliseconds(time_to_die).count())) == 1;
    if (!dead) static_cast<void>(process_.release());
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // Throws Error when it fails, or does not end in time, or one of `signals` asks to end.
  Devices run(std::chrono::nanoseconds limit, RigSignals* signals) {
    const Deadline deadline = Clock::now() + limit;
    while (Clock::now() < deadline) {
      if (signals != nullptr && signals->asks_to_end()) throw Error("stopped by a signal");
      wait(deadline, signals);
      ended_ = process_->reap();
      read_messages();
      read_log();
      if (!ended_) continue;
      if (complete_) return std::move(found_);
      throw Error(fmt::format("the probe of the GPUs failed ({}){}", describe(*ended_), last_words()));
    }
    const auto seconds = std::chrono::duration<double>(limit).count();
    throw Error(fmt::format("the probe of the GPUs did not end within {} s, and was killed{}", seconds, last_words()));
  }

 private:
  void wait(Deadline deadline, const RigSignals* signals) {
    const int channel = process_->channel().closed() ? -1 : process_->channel().fd();
    std::array<pollfd, 4> waits{{{process_->pidfd(), POLLIN, 0},
                                 {channel, POLLIN, 0},
                                 {log_closed_ ? -1 : log_read_.get(), POLLIN, 0},
                                 {signals != nullptr ? signals->fd() : -1, POLLIN, 0}}};
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    ::poll(waits.data(), waits.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  }

  void read_messages() {
    while (auto message = process_->channel().receive()) {
      dispatch(messages::FromProbe(), *message, [this](const auto& read) { on(read); });
    }
  }

  void on(const messages::FoundDevices& found) {
    const Devices& part = found.devices;
    found_.gpus.insert(found_.gpus.end(), part.gpus.begin(), part.gpus.end());
    found_.pairs.insert(found_.pairs.end(), part.pairs.begin(), part.pairs.end());
    if (!part.problem.empty()) found_.problem = part.problem;
  }

  void on(const messages::ProbeDone&) { complete_ = true; }

  void read_log() {
    std::array<char, 4096> buffer{};
    ssize_t size = 0;
    while ((size = ::read(log_read_.get(), buffer.data(), buffer.size())) > 0) {
      log_.append(buffer.data(), static_cast<std::size_t>(size));
      if (log_.size() > most_log) log_.erase(0, log_.size() - most_log);
    }
    log_closed_ = size == 0;
  }

  [[nodiscard]] std::string last_words() const {
    const auto end = log_.find_last_not_of('\n');
    if (end == std::string::npos) return "";
    const auto begin = log_.rfind('\n', end);
    return "; its last output: " + log_.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
  }

  UniqueFd log_read_;
  bool log_closed_ = false;
  std::unique_ptr<ChildProcess> process_;
  std::optional<ExitInfo> ended_;
  std::string log_;
  Devices found_;
  bool complete_ = false;
};

}  // namespace

Devices probe_devices(std::chrono::nanoseconds deadline, Mps mps, RigSignals* signals) {
  Devices devices;
  if (pretended_gpus() > 0) return pretended_devices();
  if constexpr (!with_cuda) {
    devices.problem = "built without CUDA";
    return devices;
  }
  if (!driver_is_here()) {
    devices.problem = "no NVIDIA driver: there is no libcuda.so.1";
    return devices;
  }
  try {
    devices = Probe(mps).run(deadline, signals);
    if (devices.gpus.empty() && devices.problem.empty()) devices.problem = "the NVIDIA driver shows none";
  } catch (const std::exception& error) {
    devices = {};
    devices.problem = error.what();
  }
  devices.driver = true;
  return devices;
}

}  // namespace campipe
