// The hardware's decoders, asked for through NVIDIA's own library. Its header and CUDA's exclude one another, so this
// file has no part in the rest.
#include <ffnvcodec/dynlink_loader.h>

#include <array>

#include "app/probe/gpu_probe.h"

namespace campipe {
namespace {

struct Codec {
  const char* name;
  cudaVideoCodec code;
};
constexpr std::array codecs{Codec{"h264", cudaVideoCodec_H264},   Codec{"hevc", cudaVideoCodec_HEVC},
                            Codec{"av1", cudaVideoCodec_AV1},     Codec{"vp9", cudaVideoCodec_VP9},
                            Codec{"vp8", cudaVideoCodec_VP8},     Codec{"mjpeg", cudaVideoCodec_JPEG},
                            Codec{"mpeg4", cudaVideoCodec_MPEG4}, Codec{"mpeg2video", cudaVideoCodec_MPEG2}};

class Cuvid {
 public:
  Cuvid() { loaded_ = cuvid_load_functions(&functions_, nullptr) >= 0 && functions_->cuvidGetDecoderCaps != nullptr; }
  ~Cuvid() { cuvid_free_functions(&functions_); }
  Cuvid(const Cuvid&) = delete;
  Cuvid& operator=(const Cuvid&) = delete;

  [[nodiscard]] HardwareDecoder ask(const Codec& codec) const {
    HardwareDecoder decoder;
    decoder.codec = codec.name;
    if (!loaded_) {
      decoder.problem = "libnvcuvid.so.1 cannot be used (a container gets it with the driver capability 'video')";
      return decoder;
    }
    CUVIDDECODECAPS capabilities{};
    capabilities.eCodecType = codec.code;
    capabilities.eChromaFormat = cudaVideoChromaFormat_420;
    const CUresult code = functions_->cuvidGetDecoderCaps(&capabilities);
    if (code != CUDA_SUCCESS) {
      decoder.problem = "the driver does not report them (error " + std::to_string(code) + ")";
    } else if (capabilities.bIsSupported == 0) {
      decoder.problem = "not on this GPU";
    } else {
      decoder.max_width = capabilities.nMaxWidth;
      decoder.max_height = capabilities.nMaxHeight;
    }
    return decoder;
  }

 private:
  CuvidFunctions* functions_ = nullptr;
  bool loaded_ = false;
};

}  // namespace

std::vector<HardwareDecoder> hardware_decoders() {
  const Cuvid cuvid;
  std::vector<HardwareDecoder> decoders;
  for (const Codec& codec : codecs) decoders.push_back(cuvid.ask(codec));
  return decoders;
}

}  // namespace campipe
