// Decodes on the CPU with libavcodec, straight into ring slots where the codec can.
#pragma once

#include "stages/decoders/decoder.h"

namespace campipe {

std::unique_ptr<Decoder> open_avcodec_decoder(const SourceStream& stream, int threads);

}  // namespace campipe
