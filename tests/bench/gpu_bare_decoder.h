// A bare decode loop with FFmpeg's CUDA acceleration, to compare with: what the hardware and FFmpeg give when the
// frames go nowhere.
#pragma once

#include <cstdint>
#include <memory>

#include "core/ffmpeg.h"
#include "core/source_stream.h"

namespace campipe {

// The GPU's primary context, for any number of decoders. Throws Error.
AvBuffer open_hardware(int gpu_index);

// One stream's. Used by one thread.
class GpuBareDecoder {
 public:
  // Throws Error.
  GpuBareDecoder(const SourceStream& stream, AVBufferRef* hardware);
  // How many frames came out of the packet, or (null) were still inside.
  unsigned decode(const AVPacket* packet);
  void flush();

 private:
  AvFrame frame_;
  AvCodecContext context_;
};

}  // namespace campipe
