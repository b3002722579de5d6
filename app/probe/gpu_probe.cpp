// The process `campipe probe`: what GPUs there are, and what works on them. It is short-lived, so that whatever a
// driver does when it is asked, it does to no other process.
#include <fcntl.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>

#include "app/control/child.h"
#include "app/placement/cpu_list.h"
#include "app/placement/plan.h"
#include "app/probe/finding.h"
#include "app/probe/gpu_probe.h"
#include "app/probe/probe_messages.h"
#include "core/cuda.h"
#include "core/error.h"
#include "core/ffmpeg.h"
#include "core/libav_log.h"
#include "core/log.h"
#include "ipc/channel.h"

namespace campipe {
namespace {

std::string pci_of(int index) {
  std::array<char, 32> text{};
  cuda_check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index), "cannot read a PCI address");
  std::string pci = text.data();
  std::transform(pci.begin(), pci.end(), pci.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return pci;
}

// Near ones that this process may use; all that it may use where the machine names none of them.
std::vector<unsigned> usable(const std::vector<unsigned>& near) {
  const std::vector<unsigned> allowed = this_machine().cpus;
  std::vector<unsigned> cpus;
  std::ranges::set_intersection(near, allowed, std::back_inserter(cpus));
  return cpus.empty() ? allowed : cpus;
}

void look_closer(Gpu& gpu, int index) {
  try {
    use_gpu(gpu.device);
    gpu.decoders = hardware_decoders();
    gpu.encoders = hardware_encoders(index);
  } catch (const GpuError& error) {
    gpu.problem = error.what();
  }
}

Gpu look_at(int index, const GpuLinks& links) {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, index), "cannot read a GPU's properties");
  Gpu gpu;
  gpu.name = properties.name;
  gpu.device = gpu_at(index);
  gpu.pci = pci_of(index);
  gpu.index = links.index_of(gpu.pci).value_or(static_cast<unsigned>(index));
  gpu.memory_mib = properties.totalGlobalMem >> 20;
  gpu.copy_engines = properties.asyncEngineCount;
  gpu.unified_addressing = properties.unifiedAddressing != 0;
  gpu.integrated = properties.integrated != 0;
  const NearPlace place = near_place(gpu.pci);
  gpu.numa_node = place.numa_node;
  gpu.cpus = usable(place.cpus);
  spdlog::info("looking at GPU {} ({})", gpu.index, gpu.name);
  look_closer(gpu, index);
  return gpu;
}

void look(Channel& channel) {
  spdlog::info("counting the GPUs");
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    Devices none;
    none.problem = cudaGetErrorString(code);
    send(channel, messages::FoundDevices{none});
    return;
  }
  const GpuLinks links;
  Devices usable_ones;
  for (int index = 0; index < count; ++index) {
    if (!is_found(gpu_at(index))) continue;
    Devices part;
    part.gpus.push_back(look_at(index, links));
    if (part.gpus.back().problem.empty()) usable_ones.gpus.push_back(part.gpus.back());
    send(channel, messages::FoundDevices{part});
  }
  try_sharing(
      usable_ones.gpus, [&](const Gpu& from, const Gpu& to) { return links.link(from.pci, to.pci); },
      [&](const GpuPair& pair) {
        Devices part;
        part.pairs.push_back(pair);
        send(channel, messages::FoundDevices{part});
      });
}

std::string opening_problem(const AVCodec& codec, int index) {
  AvCodecContext context(avcodec_alloc_context3(&codec));
  if (!context) throw std::bad_alloc();
  context->width = 640;
  context->height = 360;
  context->pix_fmt = AV_PIX_FMT_NV12;
  context->time_base = {1, 25};
  LibavMessages complaints;
  const LibavCapture capture(complaints);
  int status = av_opt_set_int(context->priv_data, "gpu", index, 0);
  if (status >= 0) status = avcodec_open2(context.get(), nullptr, nullptr);
  if (status >= 0) return "";
  const std::string reason = complaints.errors();
  return reason.empty() ? av_error_text(status) : reason;
}

}  // namespace

std::vector<HardwareEncoder> hardware_encoders(int index) {
  std::vector<HardwareEncoder> encoders;
  for (const char* name : {"h264_nvenc", "hevc_nvenc", "av1_nvenc"}) {
    const AVCodec* codec = avcodec_find_encoder_by_name(name);
    if (codec == nullptr) continue;
    encoders.push_back({name, avcodec_get_name(codec->id), opening_problem(*codec, index)});
  }
  return encoders;
}

int run_probe() {
  Channel channel{UniqueFd(child_channel_fd)};
  ::fcntl(child_channel_fd, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  init_logging("probe", "info");
  look(channel);
  send(channel, messages::ProbeDone());
  return 0;
}

}  // namespace campipe
