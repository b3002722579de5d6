#include "stages/decoders/avcodec_decoder.h"
#include "stages/decoders/pattern_decoder.h"

namespace campipe {

std::unique_ptr<Decoder> open_decoder(const SourceStream& stream, const DecoderOptions& options) {
  if (stream.codec == nullptr) return open_pattern_decoder(stream);
  return open_avcodec_decoder(stream, options.threads);
}

}  // namespace campipe
