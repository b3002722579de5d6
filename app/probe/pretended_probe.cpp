#include <sys/prctl.h>

#include <csignal>

#include "app/control/child.h"
#include "app/placement/plan.h"
#include "app/probe/device_probe.h"
#include "app/probe/finding.h"
#include "core/log.h"
#include "core/pretended_gpus.h"
#include "ipc/channel.h"

namespace campipe {
namespace {

// What they are said to decode the CPU does, into host memory, also where another one is asked for; else they do
// nothing that GPUs do.
Devices pretended_devices() {
  Devices devices;
  for (unsigned index = 0; index < pretended_gpus(); ++index) {
    if (!is_found(pretended_gpu(index))) continue;
    Gpu& gpu = devices.gpus.emplace_back();
    gpu.index = index;
    gpu.device = pretended_gpu(index);
    gpu.name = "pretended";
    gpu.integrated = are_pretended_integrated();
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
      const std::string excluded = excluded_sharing(from, MemoryKind::cuda_legacy);
      if (!excluded.empty()) pair.sharing[MemoryKind::cuda_legacy] = excluded;
    }
  }
  return devices;
}

}  // namespace

int run_pretended_probe() {
  Channel channel{UniqueFd(child_channel_fd)};
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  init_logging("probe", "info");
  send(channel, messages::FoundDevices{pretended_devices()});
  send(channel, messages::ProbeDone());
  return 0;
}

}  // namespace campipe
