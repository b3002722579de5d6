#include "stages/sinks/codec_parameters.h"

#include "core/extradata.h"
#include "core/libav_colours.h"

namespace campipe {
namespace {

AVCodecID id_of(const std::string& name) {
  const AVCodecDescriptor* codec = avcodec_descriptor_get_by_name(name.c_str());
  if (codec == nullptr) throw Error("FFmpeg here does not know the codec '" + name + "'");
  return codec->id;
}

}  // namespace

void set_codec_parameters(AVCodecParameters& out, const StreamParameters& stream) {
  const FrameFormat& format = stream.format;
  out.codec_type = AVMEDIA_TYPE_VIDEO;
  out.codec_id = id_of(stream.codec);
  out.format = format.pixels == PixelFormat::nv12 ? AV_PIX_FMT_NV12 : AV_PIX_FMT_YUV420P;
  out.width = format.width;
  out.height = format.height;
  const LibavColours colours = colours_of(format);
  out.color_range = colours.range;
  out.color_space = colours.space;
  out.color_primaries = colours.primaries;
  out.color_trc = colours.transfer;
  out.chroma_location = colours.chroma_location;
  if (format.sample_aspect_num > 0 && format.sample_aspect_den > 0) {
    out.sample_aspect_ratio = {format.sample_aspect_num, format.sample_aspect_den};
  }
  set_extradata(out, stream.extradata);
}

void set_codec_parameters(AVCodecParameters& out, const AudioParameters& audio) {
  out.codec_type = AVMEDIA_TYPE_AUDIO;
  out.codec_id = id_of(audio.codec);
  out.sample_rate = audio.sample_rate;
  av_channel_layout_default(&out.ch_layout, audio.channels);
  out.frame_size = audio.frame_size;
  out.bits_per_coded_sample = audio.bits_per_coded_sample;
  out.block_align = audio.block_align;
  set_extradata(out, audio.extradata);
}

}  // namespace campipe
