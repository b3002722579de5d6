#include "app/devices.h"

#include <fmt/format.h>

#ifdef CAMPIPE_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

#include <array>

#include "app/plan.h"
#include "core/ffmpeg.h"
#include "ipc/shared_memory.h"
#include "stages/encoders/encoder.h"

namespace campipe {
namespace {

std::string describe_decoders() {
  constexpr std::array codecs{AV_CODEC_ID_H264, AV_CODEC_ID_HEVC,  AV_CODEC_ID_AV1,
                              AV_CODEC_ID_VP9,  AV_CODEC_ID_MJPEG, AV_CODEC_ID_MPEG4};
  std::string text;
  for (const AVCodecID id : codecs) {
    const AVCodec* codec = avcodec_find_decoder(id);
    if (codec == nullptr) {
      text += fmt::format("  decoder {:<7} no\n", avcodec_get_name(id));
      continue;
    }
    const bool direct = (codec->capabilities & AV_CODEC_CAP_DR1) != 0;
    text += fmt::format("  decoder {:<7} {}{}\n", avcodec_get_name(id), codec->name,
                        direct ? "" : " (its pictures are converted once)");
  }
  return text;
}

std::string describe_encoders() {
  const auto problem = check_encoder({});
  return fmt::format("  encoder h264    libx264: {}\n", problem ? *problem : "works");
}

// Shares a buffer with itself through a descriptor, the way processes do.
std::string describe_host_memory() {
  try {
    const UniqueFd fd = create_shared_memory("probe", 4096);
    const Mapping writer(fd.get(), Mapping::Access::read_write);
    const Mapping reader(duplicate(fd.get()).get(), Mapping::Access::read);
    writer.bytes()[0] = 42;
    return reader.bytes()[0] == 42 ? "works" : "does not work: what one mapping writes the other does not read";
  } catch (const std::exception& error) {
    return fmt::format("does not work: {}", error.what());
  }
}

#ifdef CAMPIPE_WITH_CUDA
std::string describe_gpus() {
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    return fmt::format("GPUs: none ({})\n", cudaGetErrorString(code));
  }
  std::string text;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    text += fmt::format("GPU {}: {}, {} MiB; this version runs cameras on the CPU only\n", i, properties.name,
                        properties.totalGlobalMem >> 20);
  }
  return text;
}
#else
std::string describe_gpus() { return "GPUs: none (built without CUDA)\n"; }
#endif

}  // namespace

std::string describe_devices() {
  std::string text = fmt::format("CPU: {} cores\n", this_machine().cpus.size());
  text += describe_decoders() + describe_encoders();
  text += fmt::format("  ring memory host: {}\n", describe_host_memory());
  return text + describe_gpus();
}

}  // namespace campipe
