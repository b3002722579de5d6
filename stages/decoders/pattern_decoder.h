// "Decodes" test://pattern: paints the frame of the packet's number straight into a slot.
#pragma once

#include "stages/decoders/decoder.h"

namespace campipe {

std::unique_ptr<Decoder> open_pattern_decoder(const SourceStream& stream);

}  // namespace campipe
