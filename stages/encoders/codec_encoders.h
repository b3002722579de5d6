// Which of FFmpeg's encoders make which codec.
#pragma once

#include <string>

#include "core/ffmpeg.h"
#include "stages/encoders/encoder.h"

namespace campipe {

struct EncoderConfig;

struct CodecEncoders {
  const char* codec;
  AVCodecID id;
  const char* hardware;  // NVENC's; null: it has none
  const char* software;  // what works everywhere
};
// Throws Error for a codec that is not encoded.
const CodecEncoders& encoders_for(const std::string& codec);

// What config.encoder names; `auto` is the software one. Throws Error.
const AVCodec& find_encoder(const EncoderConfig& config);

bool is_x264(const AVCodec& encoder);
bool is_x265(const AVCodec& encoder);

}  // namespace campipe
