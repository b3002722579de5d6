#include "stages/encoders/encoder_context.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/nearest_name.h"
#include "stages/encoders/gpu_frames.h"
#include "stages/encoders/libav_complaints.h"

namespace campipe {
namespace {

constexpr std::int64_t default_bitrate = 4'000'000;
constexpr double max_frame_rate = 1000;

std::string encoders_of(AVCodecID id) {
  std::string names;
  void* position = nullptr;
  while (const AVCodec* codec = av_codec_iterate(&position)) {
    if (codec->id != id || av_codec_is_encoder(codec) == 0) continue;
    names += (names.empty() ? "" : ", ") + std::string(codec->name);
  }
  return names;
}

const AVCodec& find_encoder(const EncoderConfig& config) {
  if (config.codec != "h264") throw Error("encode.codec: '" + config.codec + "' is not supported, only h264 is");
  const std::string name = config.encoder == "auto" ? "libx264" : config.encoder;
  const AVCodec* codec = avcodec_find_encoder_by_name(name.c_str());
  if (codec == nullptr || codec->id != AV_CODEC_ID_H264) {
    const std::string why = codec == nullptr ? "FFmpeg here has no encoder '" + name + "'"
                                             : "'" + name + "' is not an encoder of " + config.codec;
    throw Error("encode.encoder: " + why + "; it has " + encoders_of(AV_CODEC_ID_H264));
  }
  return *codec;
}

bool is_x264(const AVCodec& codec) { return std::string_view(codec.name).starts_with("libx264"); }

constexpr int encoding_option = AV_OPT_FLAG_ENCODING_PARAM | AV_OPT_FLAG_VIDEO_PARAM;

bool has_option(AVCodecContext& context, const std::string& name) {
  return av_opt_find(&context, name.c_str(), nullptr, encoding_option, AV_OPT_SEARCH_CHILDREN) != nullptr;
}

std::vector<std::string_view> option_names(AVCodecContext& context) {
  std::vector<std::string_view> names;
  for (void* object : {context.priv_data, static_cast<void*>(&context)}) {
    const AVOption* option = nullptr;
    while ((option = av_opt_next(object, option)) != nullptr) {
      if (option->type != AV_OPT_TYPE_CONST && (option->flags & encoding_option) == encoding_option) {
        names.emplace_back(option->name);
      }
    }
  }
  return names;
}

// Options are set one by one rather than through avcodec_open2's dictionary: so each refusal has its key.
void set_option(AVCodecContext& context, const std::string& key, const std::string& name, const std::string& value) {
  const std::string encoder = context.codec->name;
  if (!has_option(context, name)) {
    throw Error(key + ": the encoder " + encoder + " does not know it" + suggestion(name, option_names(context)));
  }
  const LibavComplaints complaints;
  const int status = av_opt_set(&context, name.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN);
  if (status >= 0) return;
  const std::string reason = complaints.errors();
  throw Error(key + ": the encoder " + encoder + " refuses '" + value +
              "': " + (reason.empty() ? av_error_text(status) : reason));
}

void set_rate(AVCodecContext& context, const EncoderConfig& config) {
  if (config.crf) {
    set_option(context, "encode.crf", "crf", std::to_string(*config.crf));
    return;
  }
  context.bit_rate = config.bitrate.value_or(default_bitrate);
  if (context.bit_rate < 1000) throw Error("encode.bitrate: must be at least 1000 bits a second");
}

void set_gop(AVCodecContext& context, const EncoderConfig& config) {
  if (const int* frames = std::get_if<int>(&config.gop)) {
    if (*frames < 1) throw Error("encode.gop: must be at least one frame");
    context.gop_size = *frames;
    return;
  }
  const std::chrono::duration<double> time = std::get<std::chrono::nanoseconds>(config.gop);
  if (time.count() <= 0) throw Error("encode.gop: must be longer than nothing");
  // Key frames are asked for by time; the encoder's own limit in frames must not come before.
  context.gop_size = static_cast<int>(std::clamp(time.count() * max_frame_rate, max_frame_rate, 1e9));
  for (const char* name : {"forced-idr", "forced_idr"}) {
    if (has_option(context, name)) set_option(context, "encode.gop", name, "1");
  }
}

// zerolatency makes x264 count every picture as 1/frame_rate long, as ffmpeg's users know it: the bitrate is
// right when the announced frame rate is. Its other way needs the next picture's time, so it is one picture late.
void set_latency(AVCodecContext& context, const EncoderConfig& config) {
  if (config.latency == Latency::normal) return;
  if (is_x264(*context.codec)) {
    set_option(context, "encode.latency", "tune", "zerolatency");
    return;
  }
  context.flags |= AV_CODEC_FLAG_LOW_DELAY;
  context.max_b_frames = 0;
  for (const char* name : {"zerolatency", "delay"}) {  // NVENC's
    if (has_option(context, name)) set_option(context, "encode.latency", name, name[0] == 'z' ? "1" : "0");
  }
}

// x264 prints its complaint about a preset itself, past every log, and only when it is opened.
void check_x264_preset(const std::string& preset) {
  constexpr std::array<std::string_view, 10> presets{"ultrafast", "superfast", "veryfast", "faster",   "fast",
                                                     "medium",    "slow",      "slower",   "veryslow", "placebo"};
  if (std::ranges::find(presets, preset) != presets.end()) return;
  throw Error("encode.preset: the encoder libx264 does not know '" + preset + "'" + suggestion(preset, presets));
}

void set_preset(AVCodecContext& context, const EncoderConfig& config) {
  const bool x264 = is_x264(*context.codec);
  if (config.preset == "auto" && !x264) return;
  const std::string preset = config.preset == "auto" ? "superfast" : config.preset;
  if (x264) check_x264_preset(preset);
  set_option(context, "encode.preset", "preset", preset);
}

void set_format(AVCodecContext& context, const FrameFormat& format, double frame_rate) {
  if (format.width < 2 || format.height < 2) {
    throw Error("cannot encode a picture of " + std::to_string(format.width) + "x" + std::to_string(format.height));
  }
  context.width = format.width;
  context.height = format.height;
  context.pix_fmt = av_pixel_format(format.pixels);
  context.color_range = static_cast<AVColorRange>(format.color_range);
  context.colorspace = static_cast<AVColorSpace>(format.color_space);
  context.color_primaries = static_cast<AVColorPrimaries>(format.color_primaries);
  context.color_trc = static_cast<AVColorTransferCharacteristic>(format.color_transfer);
  context.chroma_sample_location = static_cast<AVChromaLocation>(format.chroma_location);
  if (format.sample_aspect_num > 0 && format.sample_aspect_den > 0) {
    context.sample_aspect_ratio = {format.sample_aspect_num, format.sample_aspect_den};
  }
  const bool known = std::isfinite(frame_rate) && frame_rate > 0 && frame_rate <= max_frame_rate;
  context.framerate = av_d2q(known ? frame_rate : assumed_frame_rate, 1'001'000);
  context.time_base = encoder_time_base;
}

bool takes(const AVCodec& codec, AVPixelFormat wanted) {
  for (const AVPixelFormat* offered = codec.pix_fmts; offered != nullptr; ++offered) {
    if (*offered == wanted) return true;
    if (*offered == AV_PIX_FMT_NONE) return false;
  }
  return true;  // it does not say
}

void check_pixel_format(const AVCodec& codec, AVPixelFormat wanted) {
  if (takes(codec, wanted)) return;
  throw Error("encode.encoder: " + std::string(codec.name) + " takes no " + av_get_pix_fmt_name(wanted) + " pictures");
}

void take_gpu_pictures([[maybe_unused]] AVCodecContext& context, [[maybe_unused]] const EncoderPlace& place) {
  if constexpr (with_cuda) {
    context.hw_frames_ctx = make_gpu_frames(context.width, context.height, place.stream).release();
    context.pix_fmt = AV_PIX_FMT_CUDA;
  }
}

void open(AVCodecContext& context) {
  const LibavComplaints complaints;
  const std::string refusal = "the encoder " + std::string(context.codec->name) + " refuses: ";
  const int status = avcodec_open2(&context, nullptr, nullptr);
  // libx264 goes on without what it could not read there; the user asked for it.
  const std::string ignored = complaints.find("Error parsing option");
  if (!ignored.empty()) throw Error("encode.options.x264-params: " + refusal + ignored);
  if (status >= 0) return;
  const std::string reason = complaints.errors();
  const bool preset = reason.find("Error setting preset") != std::string::npos;
  throw Error((preset ? "encode.preset: " : "encode: ") + refusal + (reason.empty() ? av_error_text(status) : reason));
}

}  // namespace

AvCodecContext open_encoder_context(const EncoderConfig& config, const FrameFormat& input, double frame_rate,
                                    const EncoderPlace& place) {
  const AVCodec& codec = find_encoder(config);
  AvCodecContext context(avcodec_alloc_context3(&codec));
  if (!context) throw std::bad_alloc();
  if (config.threads < 0) throw Error("encode.threads: must not be negative");
  context->thread_count = config.threads > 0 ? config.threads : encode_threads(place.cores, input, frame_rate);
  set_preset(*context, config);
  set_latency(*context, config);
  set_rate(*context, config);
  set_gop(*context, config);
  for (const auto& [name, value] : config.options) set_option(*context, "encode.options." + name, name, value);
  // What the pictures are is not the user's to choose, so it comes after the options.
  set_format(*context, encoded_format(input), frame_rate);
  if (place.hardware && codec.pix_fmts != nullptr && takes(codec, AV_PIX_FMT_CUDA)) take_gpu_pictures(*context, place);
  check_pixel_format(codec, context->pix_fmt);
  context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  open(*context);
  return context;
}

FrameFormat encoded_format(const FrameFormat& input) {
  FrameFormat format = input;
  format.width &= ~1;
  format.height &= ~1;
  return format;
}

AVPixelFormat av_pixel_format(PixelFormat pixels) {
  return pixels == PixelFormat::nv12 ? AV_PIX_FMT_NV12 : AV_PIX_FMT_YUV420P;
}

}  // namespace campipe
