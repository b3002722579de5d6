// Decodes with a GPU's own decoder (NVDEC), through FFmpeg's hardware acceleration. CUDA only.
//
// Each frame is copied once on the device, from the decoder's surface into a slot (to page-locked host memory where
// the ring has no other), as nv12; 10-bit frames are rounded to 8 bits on the way. All of a camera's work is on one
// stream.
// What the hardware cannot do shows in part only when the first packet is parsed: then send() throws HardwareRefused.
// GpuError comes out of it only when this process's context is lost (GpuError::Kind::broken).
#pragma once

#include "stages/decoders/decoder.h"

namespace campipe {

// `gpu` becomes the calling thread's. The ring given to write_to() must be one that it can write.
std::unique_ptr<Decoder> open_cuda_decoder(const SourceStream& stream, const Device& gpu);

}  // namespace campipe
