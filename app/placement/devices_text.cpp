// `campipe --devices`: what the CPU offers, by asking FFmpeg here, and what the probe found of the GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/config/memory_names.h"
#include "app/placement/cpu_list.h"
#include "app/placement/devices.h"
#include "app/placement/plan.h"
#include "app/placement/preflight.h"
#include "core/error.h"
#include "core/ffmpeg.h"
#include "core/gpu.h"
#include "ipc/shared_memory.h"
#include "stages/encoders/encoder.h"
#include "stages/encoders/encoder_config.h"

namespace campipe {
namespace {

using nlohmann::json;

// Shares a buffer with itself through a descriptor, the way processes do.
std::string host_memory_problem() {
  try {
    const UniqueFd fd = create_shared_memory("probe", 4096);
    const Mapping writer(fd.get(), Mapping::Access::read_write);
    const Mapping reader(duplicate(fd.get()).get(), Mapping::Access::read);
    writer.bytes()[0] = 42;
    return reader.bytes()[0] == 42 ? "" : "what one mapping writes the other does not read";
  } catch (const std::exception& error) {
    return error.what();
  }
}

struct CpuDecoder {
  std::string codec;
  std::string name;     // empty: FFmpeg has none
  bool direct = false;  // decodes into ring slots
};

std::vector<CpuDecoder> cpu_decoders() {
  constexpr std::array codecs{AV_CODEC_ID_H264, AV_CODEC_ID_HEVC,  AV_CODEC_ID_AV1,
                              AV_CODEC_ID_VP9,  AV_CODEC_ID_MJPEG, AV_CODEC_ID_MPEG4};
  std::vector<CpuDecoder> decoders;
  for (const AVCodecID id : codecs) {
    const AVCodec* codec = avcodec_find_decoder(id);
    const bool direct = codec != nullptr && (codec->capabilities & AV_CODEC_CAP_DR1) != 0;
    decoders.push_back({avcodec_get_name(id), codec != nullptr ? codec->name : "", direct});
  }
  return decoders;
}

std::string works(const std::string& problem, const char* otherwise = "does not work: ") {
  return problem.empty() ? "works" : otherwise + problem;
}

std::string describe_cpu() {
  const auto cpus = this_machine().cpus;
  std::string text = fmt::format("CPU: {} cores ({})\n", cpus.size(), to_cpu_list(cpus));
  for (const CpuDecoder& decoder : cpu_decoders()) {
    const bool converted = !decoder.direct && !decoder.name.empty();
    text += fmt::format("  decoder {:<10} {}{}\n", decoder.codec, decoder.name.empty() ? "no" : decoder.name,
                        converted ? " (its frames are converted once)" : "");
  }
  text += fmt::format("  encoder {:<10} libx264: {}\n", "h264", works(check_encoder({}).value_or(""), ""));
  return text + fmt::format("  ring memory host: {}\n", works(host_memory_problem()));
}

std::string describe(const Gpu& gpu) {
  std::string text = fmt::format("GPU {}: {}, {} MiB\n", gpu.index, gpu.name, gpu.memory_mib);
  text += fmt::format("  {}, PCI {}\n", to_string(gpu.device), gpu.pci);
  text += fmt::format("  NUMA node {}, near CPUs {}\n", gpu.numa_node < 0 ? "unknown" : std::to_string(gpu.numa_node),
                      to_cpu_list(gpu.cpus));
  text += fmt::format("  {} copy engines, unified addressing: {}\n", gpu.copy_engines,
                      gpu.unified_addressing ? "yes" : "no");
  if (gpu.integrated) text += "  integrated: its memory is this machine's\n";
  if (!gpu.problem.empty()) text += fmt::format("  cannot be used now: {}\n", gpu.problem);
  for (const HardwareDecoder& decoder : gpu.decoders) {
    const std::string size = fmt::format("up to {}x{}", decoder.max_width, decoder.max_height);
    text += fmt::format("  decoder {:<10} {}\n", decoder.codec, decoder.problem.empty() ? size : decoder.problem);
  }
  for (const HardwareEncoder& encoder : gpu.encoders) {
    text += fmt::format("  encoder {:<10} {}: {}\n", encoder.codec, encoder.name, works(encoder.problem));
  }
  return text;
}

std::string describe(const GpuPair& pair, const Devices& devices) {
  const auto index_of = [&](const Device& device) {
    const Gpu* gpu = find_gpu(devices, device);
    return gpu != nullptr ? std::to_string(gpu->index) : to_string(device);
  };
  std::string text = fmt::format("From GPU {} to GPU {}: {}, peer access: {}\n", index_of(pair.from), index_of(pair.to),
                                 pair.link, pair.peer_access ? "yes" : "no");
  for (const auto& choice : choices<MemoryKind>) {
    const auto tried = pair.sharing.find(choice.value);
    std::string result = tried == pair.sharing.end() ? "was not tried" : works(tried->second);
    if (const auto rates = pair.rates.find(choice.value); rates != pair.rates.end()) {
      if (rates->second.in_place > 0) result += fmt::format(", read in place {:.0f} GB/s", rates->second.in_place);
      result += fmt::format(", copied {:.0f} GB/s", rates->second.copied);
    }
    text += fmt::format("  ring memory {:<12} {}\n", std::string(choice.name) + ":", result);
  }
  return text;
}

std::vector<std::string> problems_here(const Devices& devices, const MachineLimits& limits) {
  std::vector<std::string> problems = gpu_problems(find_gpu_files(), devices);
  std::ranges::move(limit_problems(limits), std::back_inserter(problems));
  return problems;
}

json to_json(const MachineLimits& limits) {
  const auto or_null = [](const auto& value) { return value ? json(*value) : json(); };
  return {{"descriptors", limits.descriptors > 0 ? json(limits.descriptors) : json()},
          {"locked_memory", or_null(limits.locked_memory)},
          {"memory", limits.memory},
          {"cgroup_cores", or_null(limits.cores)},
          {"cgroup_memory", or_null(limits.cgroup_memory)}};
}

}  // namespace

std::string describe_devices(const Devices& devices) {
  const MachineLimits limits = read_machine_limits();
  std::string text = describe_cpu() + "  limits: " + describe(limits) + '\n';
  if (devices.gpus.empty()) text += fmt::format("GPUs: none ({})\n", devices.problem);
  for (const Gpu& gpu : devices.gpus) text += describe(gpu);
  for (const GpuPair& pair : devices.pairs) text += describe(pair, devices);
  for (const std::string& problem : problems_here(devices, limits)) text += "Problem: " + problem + '\n';
  return text;
}

std::string describe_devices_json(const Devices& devices) {
  json all = to_json(devices);
  const std::string host_problem = host_memory_problem();
  const std::string encoder_problem = check_encoder({}).value_or("");
  json decoders = json::array();
  for (const CpuDecoder& decoder : cpu_decoders()) {
    decoders.push_back({{"codec", decoder.codec}, {"name", decoder.name}, {"direct", decoder.direct}});
  }
  all["cpu"] = {
      {"cpus", this_machine().cpus},
      {"decoders", decoders},
      {"encoders",
       {{{"name", "libx264"}, {"codec", "h264"}, {"works", encoder_problem.empty()}, {"reason", encoder_problem}}}},
      {"sharing", {{"host", {{"works", host_problem.empty()}, {"reason", host_problem}}}}}};
  const MachineLimits limits = read_machine_limits();
  all["limits"] = to_json(limits);
  all["problems"] = problems_here(devices, limits);
  return all.dump(2) + "\n";
}

}  // namespace campipe
