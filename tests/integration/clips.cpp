#include "tests/integration/clips.h"

#include <algorithm>
#include <functional>

#include "core/ffmpeg.h"
#include "core/test_pattern.h"

namespace campipe::test {
namespace {

struct OutputCloser {
  void operator()(AVFormatContext* context) const {
    avio_closep(&context->pb);
    avformat_free_context(context);
  }
};
using Output = std::unique_ptr<AVFormatContext, OutputCloser>;

AvFrame allocate(AVPixelFormat format, int width, int height) {
  AvFrame frame = make_av_frame();
  frame->format = format;
  frame->width = width;
  frame->height = height;
  av_check(av_frame_get_buffer(frame.get(), 0), "a frame");
  return frame;
}

// The pattern, converted to the clip's pixel format.
class Painter {
 public:
  Painter(int width, int height, AVPixelFormat format)
      : format_{PixelFormat::i420, width, height},
        painter_(format_),
        painted_(allocate(AV_PIX_FMT_YUV420P, width, height)),
        scaler_(sws_getContext(width, height, AV_PIX_FMT_YUV420P, width, height, format, SWS_POINT, nullptr, nullptr,
                               nullptr)) {}

  AvFrame paint(std::uint32_t number, AVPixelFormat format) {
    MutableFrameView view{format_, {}, {}, MemoryKind::host, {}};
    for (std::size_t plane = 0; plane < 3; ++plane) {
      view.data[plane] = painted_->data[plane];
      view.stride[plane] = painted_->linesize[plane];
    }
    painter_.paint({number, 1'000'000 + static_cast<std::int64_t>(number)}, view);
    AvFrame frame = allocate(format, format_.width, format_.height);
    sws_scale(scaler_.get(), painted_->data, painted_->linesize, 0, format_.height, frame->data, frame->linesize);
    return frame;
  }

 private:
  FrameFormat format_;
  PatternPainter painter_;
  AvFrame painted_;
  Scaler scaler_;
};

AvCodecContext open_encoder(const ClipSpec& spec, bool global_header) {
  const AVCodec* codec = avcodec_find_encoder_by_name(spec.encoder.c_str());
  if (codec == nullptr) throw Error("no encoder " + spec.encoder);
  AvCodecContext context(avcodec_alloc_context3(codec));
  context->width = spec.width;
  context->height = spec.height;
  context->pix_fmt = av_get_pix_fmt(spec.pixels.c_str());
  context->color_range = spec.pixels.starts_with("yuvj") ? AVCOL_RANGE_JPEG : AVCOL_RANGE_UNSPECIFIED;
  context->time_base = spec.times_ms.empty() ? AVRational{1, spec.rate} : AVRational{1, 1000};
  context->framerate = {spec.rate, 1};
  context->gop_size = spec.gop;
  context->max_b_frames = spec.b_frames;
  context->bit_rate = 3'000'000;
  context->thread_count = 1;
  context->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;
  if (spec.long_references) context->refs = 16;
  if (spec.refreshes) av_opt_set(context->priv_data, "intra-refresh", "1", 0);
  if (global_header) context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  if (spec.encoder == "libx265") av_opt_set(context->priv_data, "x265-params", "log-level=none", 0);
  if (spec.encoder == "libvpx-vp9") av_opt_set(context->priv_data, "cpu-used", "8", 0);
  av_check(avcodec_open2(context.get(), codec, nullptr), spec.encoder);
  return context;
}

Output open_output(const std::filesystem::path& file) {
  AVFormatContext* raw = nullptr;
  av_check(avformat_alloc_output_context2(&raw, nullptr, nullptr, file.c_str()), file);
  Output output(raw);
  av_check(avio_open(&output->pb, file.c_str(), AVIO_FLAG_WRITE), file);
  return output;
}

void write_packets(AVCodecContext& encoder, AVFormatContext& output, const AVFrame* frame) {
  av_check(avcodec_send_frame(&encoder, frame), "encode a clip");
  const AvPacket packet = make_av_packet();
  while (avcodec_receive_packet(&encoder, packet.get()) == 0) {
    // Without one, an MP4 file ends before its last frame, and players leave that out.
    if (packet->duration == 0)
      packet->duration = std::max(av_rescale_q(1, {1, 25}, encoder.time_base), std::int64_t{1});
    av_packet_rescale_ts(packet.get(), encoder.time_base, output.streams[0]->time_base);
    av_check(av_interleaved_write_frame(&output, packet.get()), "write a clip");
  }
}

}  // namespace

bool can_encode(const std::string& encoder) { return avcodec_find_encoder_by_name(encoder.c_str()) != nullptr; }

void make_clip(const std::filesystem::path& folder, const ClipSpec& spec) {
  av_log_set_level(AV_LOG_ERROR);  // encoders tell their life on standard error
  const Output output = open_output(folder / spec.name);
  const bool global_header = (output->oformat->flags & AVFMT_GLOBALHEADER) != 0;
  const AvCodecContext encoder = open_encoder(spec, global_header);
  AVStream* track = avformat_new_stream(output.get(), nullptr);
  track->time_base = encoder->time_base;
  if (spec.times_ms.empty()) track->avg_frame_rate = encoder->framerate;
  av_check(avcodec_parameters_from_context(track->codecpar, encoder.get()), spec.name);
  av_check(avformat_write_header(output.get(), nullptr), spec.name);
  Painter painter(spec.width, spec.height, encoder->pix_fmt);
  for (int number = 0; number < spec.frames; ++number) {
    const AvFrame frame = painter.paint(static_cast<std::uint32_t>(number), encoder->pix_fmt);
    frame->pts = spec.times_ms.empty() ? number : spec.times_ms.at(static_cast<std::size_t>(number));
    write_packets(*encoder, *output, frame.get());
  }
  write_packets(*encoder, *output, nullptr);
  av_check(av_write_trailer(output.get()), spec.name);
}

std::vector<std::int64_t> times_of(const ClipSpec& spec) {
  std::vector<std::int64_t> times;
  for (int number = 0; number < spec.frames; ++number) {
    const auto at = static_cast<std::size_t>(number);
    times.push_back(spec.times_ms.empty() ? number * 1'000'000'000LL / spec.rate
                                          : (spec.times_ms[at] - spec.times_ms[0]) * 1'000'000);
  }
  return times;
}

std::vector<std::int64_t> irregular_times(int frames, std::int64_t first) {
  std::vector<std::int64_t> times;
  std::int64_t time = first;
  for (int i = 0; i < frames; ++i) {
    times.push_back(time);
    constexpr std::int64_t steps[] = {40, 33, 17, 120, 5, 700, 41, 2000, 39};
    time += steps[static_cast<std::size_t>(i) % std::size(steps)];
  }
  return times;
}

std::vector<ClipSpec> clips_to_begin_anew_in() {
  return {
      {.name = "plain.mp4"},
      {.name = "b.mp4", .b_frames = 3, .long_references = true},
      {.name = "open_groups.mp4", .encoder = "libx265", .b_frames = 3},
      {.name = "irregular.mp4", .b_frames = 3, .times_ms = irregular_times(60)},
      {.name = "intra.avi", .encoder = "mjpeg", .pixels = "yuvj420p"},
      {.name = "decode_times_only.avi", .encoder = "mpeg4", .b_frames = 2},
      {.name = "raw.h264", .b_frames = 2},
  };
}

}  // namespace campipe::test
