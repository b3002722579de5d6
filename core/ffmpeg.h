// Owners of libav's objects, and its errors as text. Pointers from here are never null unless moved from.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include <memory>
#include <string>

#include "core/error.h"

namespace campipe {

struct AvDeleter {
  void operator()(AVFrame* p) const { av_frame_free(&p); }
  void operator()(AVPacket* p) const { av_packet_free(&p); }
  void operator()(AVCodecContext* p) const { avcodec_free_context(&p); }
  void operator()(AVCodecParameters* p) const { avcodec_parameters_free(&p); }
  void operator()(AVFormatContext* p) const { avformat_close_input(&p); }
  void operator()(SwsContext* p) const { sws_freeContext(p); }
  void operator()(AVBufferRef* p) const { av_buffer_unref(&p); }
};
using AvFrame = std::unique_ptr<AVFrame, AvDeleter>;
using AvPacket = std::unique_ptr<AVPacket, AvDeleter>;
using AvCodecContext = std::unique_ptr<AVCodecContext, AvDeleter>;
using AvCodecParameters = std::unique_ptr<AVCodecParameters, AvDeleter>;
using AvInput = std::unique_ptr<AVFormatContext, AvDeleter>;  // an opened input
using AvBuffer = std::unique_ptr<AVBufferRef, AvDeleter>;     // one reference
using Scaler = std::unique_ptr<SwsContext, AvDeleter>;

AvFrame make_av_frame();
AvPacket make_av_packet();

std::string av_error_text(int code);
// Throws Error("what: text") when code < 0; returns code.
int av_check(int code, const std::string& what);

inline constexpr AVRational nanoseconds{1, 1'000'000'000};

}  // namespace campipe
