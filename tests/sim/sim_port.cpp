#include "tests/sim/sim_port.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "app/control/load_process.h"
#include "app/probe/device_check.h"
#include "app/probe/link_check.h"
#include "core/error.h"
#include "core/gpu.h"
#include "tests/sim/gpu_check.h"

namespace campipe::sim {

std::unique_ptr<ChildProcess> SimPort::start(const std::vector<std::string>& arguments,
                                             const std::vector<std::string>&) {
  if (arguments.front() == load_role) return machine_.start_load(arguments.at(1));
  if (arguments.front() == check_links_role) throw Error("no UCX");
  if (arguments.front() == check_gpu_role) return machine_.start_gpu_check(*device_from_string(arguments.at(1)));
  return machine_.start(fmt::format("{}", fmt::join(arguments, " ")));
}

// A turn of its loop takes the supervisor some time, too.
void SimPort::wait(Waits, milliseconds longest) {
  ++turns_;
  World& world = machine_.world();
  world.run(chance_.between(microseconds(20), microseconds(200)), [] { return false; });
  const auto began = world.now();
  while (machine_.is_paused()) world.run(machine_.paused_until() - world.now(), [] { return false; });
  service_.heard += world.now() - began;  // it cannot be heard of while it stands still
  const auto wakes = [&] { return machine_.awaits_supervisor() || has_signal(); };
  if (!wakes()) world.run(longest, wakes);
}

bool SimPort::has_signal() const { return (machine_.asks_to_end() && !asked_to_end_) || machine_.owner().has_signal(); }

std::optional<RigSignals::Request> SimPort::next_signal() {
  if (machine_.owner().take_signal()) {
    machine_.world().trace("SIGHUP");
    return RigSignals::Request::reload;
  }
  if (!machine_.asks_to_end() || std::exchange(asked_to_end_, true)) return std::nullopt;
  machine_.world().trace("SIGTERM");
  return RigSignals::Request::end;
}

std::unique_ptr<ReportWriter> SimPort::open_report(const std::filesystem::path&) {
  return std::make_unique<Report>(*this);
}

std::unique_ptr<GpuSearch> SimPort::search_gpus(nanoseconds longest, Mps) {
  machine_.world().reached("a look for GPUs");
  if (chance_.one_in(8)) {
    machine_.gpu_watch().on_failed_look();
    throw Error("cannot start probe: Resource temporarily unavailable");
  }
  return std::make_unique<SimGpuSearch>(machine_.gpus(), chance_.between(milliseconds(200), longest / 4));
}

std::vector<unsigned char> SimPort::random_bytes(std::size_t size) {
  std::vector<unsigned char> bytes(size);
  std::ranges::generate(bytes, [this] { return static_cast<unsigned char>(chance_.below(256)); });
  return bytes;
}

bool SimPort::Service::send(const std::string& state) {
  if (port.chance_.one_in(8)) return false;
  World& world = port.machine_.world();
  if (state.find("WATCHDOG=1") != std::string::npos) {
    if (world.now() - heard > *watchdog()) world.fail("systemd has not heard of the supervisor in time");
    heard = world.now();
  } else {
    world.trace("systemd is sent " + state);
    if (state.find("RELOADING=1") != std::string::npos) reloads = true;
    if (state.find("READY=1") != std::string::npos) reloads = false;
  }
  return true;
}

// Now and then it hangs for long.
void SimPort::Memory::request(std::vector<pid_t> pids) {
  if (busy()) return;
  asked = pids.size();
  const bool hangs = port.chance_.one_in(20);
  answers = Clock::now() + port.chance_.between(milliseconds(1), hangs ? nanoseconds(seconds(20)) : milliseconds(30));
}

bool SimPort::Memory::busy() const { return answers && Clock::now() < *answers; }

std::optional<std::vector<double>> SimPort::Memory::take() {
  if (!answers || busy()) return std::nullopt;
  answers.reset();
  return std::vector<double>(asked, 10.0);
}

}  // namespace campipe::sim
