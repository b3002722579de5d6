#include "stages/decoders/avcodec_decoder.h"
#include "stages/decoders/cuda_decoder.h"
#include "stages/decoders/pattern_decoder.h"

namespace campipe {

std::unique_ptr<Decoder> open_decoder(const SourceStream& stream, const DecoderOptions& options) {
  if (stream.codec == nullptr) return open_pattern_decoder(stream);
  if (on_gpu(options.gpu)) {
    if constexpr (with_cuda) {
      return open_cuda_decoder(stream, options.gpu);
    } else {
      throw HardwareRefused("this campipe was built without CUDA");
    }
  }
  return open_avcodec_decoder(stream, options.threads);
}

}  // namespace campipe
