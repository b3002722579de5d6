#include "stages/encoders/codec_encoders.h"
#include "stages/encoders/encoder_config.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace campipe {
namespace {

constexpr std::array<CodecEncoders, 3> codecs{{{"h264", AV_CODEC_ID_H264, "h264_nvenc", "libx264"},
                                               {"hevc", AV_CODEC_ID_HEVC, "hevc_nvenc", "libx265"},
                                               {"mjpeg", AV_CODEC_ID_MJPEG, nullptr, "mjpeg"}}};

std::string names_of_encoders(AVCodecID id) {
  std::string names;
  void* position = nullptr;
  while (const AVCodec* codec = av_codec_iterate(&position)) {
    if (codec->id != id || av_codec_is_encoder(codec) == 0) continue;
    names += (names.empty() ? "" : ", ") + std::string(codec->name);
  }
  return names.empty() ? "none" : names;
}

}  // namespace

const CodecEncoders& encoders_for(const std::string& codec) {
  const auto* found =
      std::ranges::find(codecs, codec, [](const CodecEncoders& c) { return std::string_view(c.codec); });
  if (found == codecs.end()) {
    throw Error("encode.codec: '" + codec + "' cannot be encoded, only h264, hevc and mjpeg can");
  }
  return *found;
}

std::string first_encoder(const EncoderConfig& config, bool hardware) {
  if (config.encoder != "auto") return config.encoder;
  const CodecEncoders& encoders = encoders_for(config.codec);
  return hardware && encoders.hardware != nullptr ? encoders.hardware : encoders.software;
}

const AVCodec& find_encoder(const EncoderConfig& config) {
  const CodecEncoders& encoders = encoders_for(config.codec);
  const std::string name = first_encoder(config, false);
  const AVCodec* codec = avcodec_find_encoder_by_name(name.c_str());
  if (codec == nullptr || codec->id != encoders.id) {
    const std::string why = codec == nullptr ? "FFmpeg here has no encoder '" + name + "'"
                                             : "'" + name + "' is not an encoder of " + config.codec;
    throw Error("encode.encoder: " + why + "; it has " + names_of_encoders(encoders.id));
  }
  return *codec;
}

bool is_x264(const AVCodec& encoder) { return std::string_view(encoder.name).starts_with("libx264"); }
bool is_x265(const AVCodec& encoder) { return std::string_view(encoder.name) == "libx265"; }

}  // namespace campipe
