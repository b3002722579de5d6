#include "app/probe/device_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "app/control/child.h"
#include "app/control/child_environment.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/gpu.h"
#include "core/log.h"
#include "core/pretended_gpus.h"

namespace campipe {
namespace {

std::vector<std::string> environment_of(const Device& device, Mps mps) {
  std::vector<std::string> variables = mps_variables(mps);
  variables.push_back(see_gpus({device}));
  return variables;
}

std::string problem_of(const Device& device) try {
  failpoint("probe.checking", to_string(device));
  if (is_pretended(device)) return "";
  if constexpr (with_cuda) {
    try_gpu(device);
    return "";
  } else {
    return "this campipe was built without CUDA";
  }
} catch (const std::exception& error) {
  return error.what();
}

}  // namespace

DeviceCheck::DeviceCheck(const Device& device, Mps mps, const StartProcess& start)
    : device_(device), process_(start({check_gpu_role, to_string(device)}, environment_of(device, mps))) {
  process_->allow(longest_check);
}

DeviceCheck::~DeviceCheck() {
  if (!exit_ && !process_->reap()) process_->leave_behind();
}

std::optional<std::string> DeviceCheck::look() {
  if (!exit_) exit_ = process_->reap();
  read_messages();
  if (problem_) return problem_;
  if (exit_) return fmt::format("a new process that tried it failed ({})", describe(*exit_));
  if (!process_->is_late()) return std::nullopt;
  return fmt::format("a new process that tried it was not done within {} s", longest_check.count());
}

void DeviceCheck::read_messages() {
  try {
    while (auto message = process_->receive()) {
      dispatch(messages::FromDeviceCheck(), *message,
               [this](const messages::GpuChecked& checked) { problem_ = checked.problem; });
    }
  } catch (const std::exception& error) {
    problem_ = fmt::format("a new process that tried it sent {}", error.what());
  }
}

int run_device_check(const std::string& name) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::fcntl(child_channel_fd, F_SETFD, FD_CLOEXEC);
  init_logging("GPU check", "warning");
  const auto device = device_from_string(name);
  if (!device || !on_gpu(*device)) return EXIT_FAILURE;
  Channel channel{UniqueFd(child_channel_fd)};
  send(channel, messages::GpuChecked{problem_of(*device)});
  ::_exit(EXIT_SUCCESS);  // what the driver does at the end tells nothing more
}

}  // namespace campipe
