#include "stages/encoders/encoder_context.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/libav_colours.h"
#include "core/libav_log.h"
#include "core/nearest_name.h"
#include "stages/encoders/codec_encoders.h"
#include "stages/encoders/encoder_config.h"
#include "stages/encoders/file_options.h"
#include "stages/encoders/frame_converter.h"
#include "stages/encoders/gpu_frames.h"

namespace campipe {
namespace {

constexpr std::int64_t default_bitrate = 4'000'000;
constexpr double default_jpeg_crf = 23;
constexpr double max_frame_rate = 1000;

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
  LibavMessages complaints;
  const LibavCapture capture(complaints);
  const int status = av_opt_set(&context, name.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN);
  if (status >= 0) return;
  const std::string reason = complaints.errors();
  throw Error(key + ": the encoder " + encoder + " refuses '" + value +
              "': " + (reason.empty() ? av_error_text(status) : reason));
}

void refuse_files(const std::string& name, const std::string& value) {
  const auto file = named_file(name, value);
  if (file) throw Error("encode.options." + name + ": '" + *file + "' may name a file, which no option may here");
}

bool is_jpeg(const AVCodecContext& context) { return context.codec_id == AV_CODEC_ID_MJPEG; }

// The quantizer of MPEG-1, of which JPEG's is a kind, that is as coarse as H.264's of that number.
double quantizer_of(double crf) { return std::clamp(0.85 * std::exp2((crf - 12) / 6), 1.0, 31.0); }

void set_jpeg_rate(AVCodecContext& context, const EncoderConfig& config) {
  if (config.bitrate) {
    context.bit_rate = *config.bitrate;
    context.bit_rate_tolerance = static_cast<int>(std::min<std::int64_t>(*config.bitrate, INT_MAX));
    return;
  }
  context.flags |= AV_CODEC_FLAG_QSCALE;
  context.qmin = 1;
  context.global_quality =
      static_cast<int>(std::lround(quantizer_of(config.crf.value_or(default_jpeg_crf)) * FF_QP2LAMBDA));
}

void set_rate(AVCodecContext& context, const EncoderConfig& config) {
  if (config.bitrate && *config.bitrate < 1000) throw Error("encode.bitrate: must be at least 1000 bits a second");
  if (is_jpeg(context)) return set_jpeg_rate(context, config);
  if (config.crf) {
    set_option(context, "encode.crf", "crf", std::to_string(*config.crf));
    return;
  }
  context.bit_rate = config.bitrate.value_or(default_bitrate);
}

// Those of the standard, as readers of RTP have no others (RFC 2435). The encoder's own choice would be smaller, and
// made anew for each frame.
void set_jpeg_tables(AVCodecContext& context) {
  if (is_jpeg(context) && has_option(context, "huffman")) set_option(context, "encode", "huffman", "default");
}

void set_gop(AVCodecContext& context, const EncoderConfig& config) {
  if (const int* frames = std::get_if<int>(&config.gop)) {
    if (*frames < 1) throw Error("encode.gop: must be at least one frame");
    if (!is_jpeg(context)) context.gop_size = *frames;
    return;
  }
  const std::chrono::duration<double> time = std::get<std::chrono::nanoseconds>(config.gop);
  if (time.count() <= 0) throw Error("encode.gop: must be longer than nothing");
  if (is_jpeg(context)) return;  // all its frames are key frames
  // Key frames are asked for by time; the encoder's own limit in frames must not come before.
  context.gop_size = static_cast<int>(std::clamp(time.count() * max_frame_rate, max_frame_rate, 1e9));
}

// A key frame that is asked for is one that decoding can start at.
void set_forced_keys(AVCodecContext& context) {
  for (const char* name : {"forced-idr", "forced_idr"}) {
    if (has_option(context, name)) set_option(context, "encode.gop", name, "1");
  }
}

// What x265 does not take from FFmpeg's own options. Not a word from it: it writes past every log. A key frame must be
// one that decoding can start at, whatever came before. Left alone, it takes all cores of the machine.
std::string x265_params(const AVCodecContext& context, const EncoderConfig& config) {
  std::string params = "log-level=none:open-gop=0:pools=" + std::to_string(context.thread_count);
  if (config.latency == Latency::low) params += ":frame-threads=1";  // each further one is a frame late
  return params;
}

// zerolatency makes x264 count every frame as 1/frame_rate long, as ffmpeg's users know it: the bitrate is
// right when the announced frame rate is. Its other way needs the next frame's time, so it is one frame late.
void set_latency(AVCodecContext& context, const EncoderConfig& config) {
  if (config.latency == Latency::normal) return;
  if (is_x264(*context.codec) || is_x265(*context.codec)) {
    set_option(context, "encode.latency", "tune", "zerolatency");
    return;
  }
  if (is_jpeg(context)) return;
  context.flags |= AV_CODEC_FLAG_LOW_DELAY;
  context.max_b_frames = 0;
  for (const char* name : {"zerolatency", "delay"}) {  // NVENC's
    if (has_option(context, name)) set_option(context, "encode.latency", name, name[0] == 'z' ? "1" : "0");
  }
}

// x264 and x265 have the same ones. They print their complaints themselves, past every log, and only when opened.
void check_x26x_preset(const std::string& encoder, const std::string& preset) {
  constexpr std::array<std::string_view, 10> presets{"ultrafast", "superfast", "veryfast", "faster",   "fast",
                                                     "medium",    "slow",      "slower",   "veryslow", "placebo"};
  if (std::ranges::find(presets, preset) != presets.end()) return;
  throw Error("encode.preset: the encoder " + encoder + " does not know '" + preset + "'" +
              suggestion(preset, presets));
}

void set_preset(AVCodecContext& context, const EncoderConfig& config) {
  const bool x26x = is_x264(*context.codec) || is_x265(*context.codec);
  if (config.preset == "auto" && !x26x) return;
  const std::string preset = config.preset == "auto" ? "superfast" : config.preset;
  if (x26x) check_x26x_preset(context.codec->name, preset);
  set_option(context, "encode.preset", "preset", preset);
}

void set_format(AVCodecContext& context, const FrameFormat& format, double frame_rate) {
  if (format.width < 2 || format.height < 2) {
    throw Error("cannot encode a frame of " + std::to_string(format.width) + "x" + std::to_string(format.height));
  }
  context.width = format.width;
  context.height = format.height;
  context.pix_fmt = is_jpeg(context) ? AV_PIX_FMT_YUVJ420P : av_pixel_format(format.pixels);
  const LibavColours colours = colours_of(format);
  context.color_range = colours.range;
  context.colorspace = colours.space;
  context.color_primaries = colours.primaries;
  context.color_trc = colours.transfer;
  context.chroma_sample_location = colours.chroma_location;
  if (format.sample_aspect_num > 0 && format.sample_aspect_den > 0) {
    context.sample_aspect_ratio = {format.sample_aspect_num, format.sample_aspect_den};
  }
  const bool known = std::isfinite(frame_rate) && frame_rate > 0 && frame_rate <= max_frame_rate;
  context.framerate = av_d2q(known ? frame_rate : assumed_frame_rate, 1'001'000);
  // FFmpeg's own rate control takes every frame to be one unit of time long.
  context.time_base = is_jpeg(context) ? av_inv_q(context.framerate) : encoder_time_base;
}

bool takes(const AVCodec& codec, AVPixelFormat wanted) {
  for (const AVPixelFormat* offered = codec.pix_fmts; offered != nullptr; ++offered) {
    if (*offered == wanted) return true;
    if (*offered == AV_PIX_FMT_NONE) return false;
  }
  return true;  // unknown
}

void check_pixel_format(const AVCodec& codec, AVPixelFormat wanted) {
  if (takes(codec, wanted)) return;
  throw Error("encode.encoder: " + std::string(codec.name) + " takes no " + av_get_pix_fmt_name(wanted) + " frames");
}

void take_gpu_frames([[maybe_unused]] AVCodecContext& context, [[maybe_unused]] const EncoderPlace& place) {
  if constexpr (with_cuda) {
    context.hw_frames_ctx = make_gpu_frames(context.width, context.height, place.stream).release();
    context.pix_fmt = AV_PIX_FMT_CUDA;
  }
}

void open(AVCodecContext& context) {
  LibavMessages complaints;
  const LibavCapture capture(complaints);
  const AVCodec& codec = *context.codec;  // which a refusal takes away
  const std::string refusal = "the encoder " + std::string(codec.name) + " refuses: ";
  const int status = avcodec_open2(&context, nullptr, nullptr);
  // They go on without what they could not read there; the user asked for it.
  const std::string unread = is_x265(codec) ? complaints.find_any({"Unknown option:", "Invalid value for"})
                                            : complaints.find_any({"Error parsing option"});
  const std::string params = is_x265(codec) ? "x265-params" : "x264-params";
  if (!unread.empty()) throw Error("encode.options." + params + ": " + refusal + unread);
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
  context->thread_count =
      config.threads > 0 ? config.threads : encode_threads(place.cores, input, frame_rate, config.codec);
  if (is_jpeg(*context)) context->thread_type = FF_THREAD_SLICE;  // the other kind holds frames back
  set_preset(*context, config);
  set_latency(*context, config);
  set_rate(*context, config);
  set_gop(*context, config);
  set_forced_keys(*context);
  set_jpeg_tables(*context);
  const std::string own_params = is_x265(codec) ? x265_params(*context, config) : "";
  if (is_x265(codec)) set_option(*context, "encode", "x265-params", own_params);
  for (const auto& [name, value] : config.options) {
    refuse_files(name, value);
    const bool added = is_x265(codec) && name == "x265-params";
    set_option(*context, "encode.options." + name, name, added ? own_params + ":" + value : value);
  }
  // What the frames are is not the user's to choose, so it comes after the options.
  set_format(*context, encoded_format(input, codec), frame_rate);
  if (place.hardware && codec.pix_fmts != nullptr && takes(codec, AV_PIX_FMT_CUDA)) take_gpu_frames(*context, place);
  check_pixel_format(codec, context->pix_fmt);
  context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  open(*context);
  return context;
}

FrameFormat even_size(const FrameFormat& format) {
  FrameFormat even = format;
  even.width &= ~1;
  even.height &= ~1;
  return even;
}

FrameFormat encoded_format(const FrameFormat& input, const AVCodec& encoder) {
  FrameFormat format = even_size(input);
  if (encoder.id == AV_CODEC_ID_MJPEG) return jpeg_format(format);
  if (!takes(encoder, av_pixel_format(format.pixels)) && takes(encoder, AV_PIX_FMT_YUV420P)) {
    format.pixels = PixelFormat::i420;
  }
  return format;
}

AVPixelFormat av_pixel_format(PixelFormat pixels) {
  return pixels == PixelFormat::nv12 ? AV_PIX_FMT_NV12 : AV_PIX_FMT_YUV420P;
}

}  // namespace campipe
