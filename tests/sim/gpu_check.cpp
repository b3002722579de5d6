#include "tests/sim/gpu_check.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "app/control/message_dispatch.h"
#include "app/probe/device_check.h"

namespace campipe::sim {
struct GpuCheck::Run : std::enable_shared_from_this<Run> {
  Run(World& its_world, const Gpus& its_gpus, const Device& its_device)
      : world(its_world), gpus(its_gpus), device(its_device) {}

  void try_it(bool is_killed) {
    if (status) return;
    const GpuTrouble trouble = gpus.trouble_of(device);
    if (trouble == GpuTrouble::hangs)
      return world.at(gpus.back_at(device), [self = shared_from_this()] { self->try_it(false); });
    if (is_killed || trouble == GpuTrouble::crashes) return die(is_killed ? SIGKILL : SIGSEGV);
    const bool fails = trouble == GpuTrouble::fails || trouble == GpuTrouble::unchecked;
    const messages::GpuChecked checked{fails ? "it does not answer" : ""};
    world.reached(fmt::format("message {} from check-gpu", checked.type));
    sent.send(message_of(checked.type, write_message(checked), {}), world.now() + microseconds(200));
    die(0);
  }

  void die(int how) {
    if (status) return;
    world.trace(fmt::format("check-gpu ends with {:#x}", how));
    status = how;
    sent.all_arrive();
  }

  World& world;
  const Gpus& gpus;
  Device device;
  Wire sent;
  std::optional<int> status;  // it has ended
};

GpuCheck::GpuCheck(World& world, const Gpus& gpus, const Device& device, pid_t pid, bool is_killed, nanoseconds takes)
    : HelperProcess(world, pid), run_(std::make_shared<Run>(world, gpus, device)) {
  world.in(takes, [run = run_, is_killed] { run->try_it(is_killed); });
}

GpuCheck::~GpuCheck() { kill(); }

std::optional<Message> GpuCheck::receive(std::string_view) { return run_->sent.receive(world_.now()); }

void GpuCheck::kill() {
  if (std::exchange(killed_, true)) return;
  run_->die(SIGKILL);
}

std::optional<ExitInfo> GpuCheck::reap() {
  if (!run_->status) return std::nullopt;
  return ExitInfo{*run_->status, 0};
}

std::optional<Devices> SimGpuSearch::look() {
  if (Clock::now() < done_at_) return std::nullopt;
  return gpus_.found();
}

}  // namespace campipe::sim
