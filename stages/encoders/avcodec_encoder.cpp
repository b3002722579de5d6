// Every encoder that libavcodec has, libx264, libx265 and NVENC first of all, behind the contract of encoder.h.
#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "core/c_callback.h"
#include "core/ffmpeg.h"
#include "core/log.h"
#include "stages/encoders/codec_encoders.h"
#include "stages/encoders/encoder.h"
#include "stages/encoders/encoder_config.h"
#include "stages/encoders/encoder_context.h"
#include "stages/encoders/frame_converter.h"
#include "stages/encoders/gpu_frames.h"

namespace campipe {
namespace {

constexpr std::int64_t no_pts = std::numeric_limits<std::int64_t>::min();

// Lets libavcodec refer to the pixels instead of copying them: the buffer it counts references to holds a copy
// of the frame's owner. The size is of no consequence, the planes need not even lie in one piece.
AVBufferRef* hold(const FrameRef& in) {
  auto owner = std::make_unique<std::shared_ptr<const void>>(in.owner);
  auto* pixels = const_cast<std::uint8_t*>(in.view.data[0]);  // read only, see the flag
  AVBufferRef* buffer = av_buffer_create(
      pixels, 1,
      c_callback<[](void* opaque, std::uint8_t*) { delete static_cast<std::shared_ptr<const void>*>(opaque); }>,
      owner.get(), AV_BUFFER_FLAG_READONLY);
  if (buffer == nullptr) throw std::bad_alloc();
  static_cast<void>(owner.release());
  return buffer;
}

AvFrame wrap(const FrameRef& in, const AVCodecContext& context) {
  AvFrame frame = make_av_frame();
  frame->buf[0] = hold(in);
  frame->format = context.pix_fmt;
  frame->width = context.width;
  frame->height = context.height;
  for (int plane = 0; plane < plane_count(in.view.format.pixels); ++plane) {
    frame->data[plane] = const_cast<std::uint8_t*>(in.view.data[static_cast<std::size_t>(plane)]);
    frame->linesize[plane] = in.view.stride[static_cast<std::size_t>(plane)];
  }
  return frame;
}

AvFrame frame_of(const FrameRef& in, const AVCodecContext& context, [[maybe_unused]] GpuStream stream) {
  if constexpr (with_cuda) {
    if (context.hw_frames_ctx != nullptr) return copy_to_gpu_frame(in.view, *context.hw_frames_ctx, stream);
  }
  return wrap(in, context);
}

void describe(AVFrame* frame, const AVCodecContext& context) {
  frame->quality = context.global_quality;
  frame->color_range = context.color_range;
  frame->colorspace = context.colorspace;
  frame->color_primaries = context.color_primaries;
  frame->color_trc = context.color_trc;
  frame->chroma_location = context.chroma_sample_location;
  frame->sample_aspect_ratio = context.sample_aspect_ratio;
}

class AvcodecEncoder final : public Encoder {
 public:
  AvcodecEncoder(const EncoderConfig& config, const FrameFormat& input, double frame_rate, const EncoderPlace& place,
                 const std::string& remark)
      : context_(open_encoder_context(config, input, frame_rate, place)),
        input_(input),
        stream_(place.stream),
        remark_(remark),
        packet_(make_av_packet()) {
    parameters_.codec = config.codec;
    parameters_.encoder = context_->codec->name;
    const FrameFormat encoded = encoded_format(input, *context_->codec);
    parameters_.format = encoded;
    if (encoded.width != input.width || encoded.height != input.height) {
      spdlog::info("frames of {}x{} are encoded as {}x{}, without the odd last row or column: encoders take even sizes",
                   input.width, input.height, encoded.width, encoded.height);
    }
    if (encoded != even_size(input)) converter_.emplace(input, encoded);
    parameters_.frame_rate = frame_rate;
    parameters_.extradata.assign(context_->extradata, context_->extradata + context_->extradata_size);
  }

  const StreamParameters& parameters() const override { return parameters_; }
  bool wants_gpu_frames() const override { return context_->hw_frames_ctx != nullptr; }
  const std::string& remark() const override { return remark_; }

  void want_key_frame() override { key_wanted_ = true; }

  void encode(const FrameRef& in, const FrameTimes& times, const PacketHandler& handler) override {
    if (in.view.format != input_) throw Error("the frame is not of the format that the encoder was opened for");
    if (wants_gpu_frames() == (in.view.memory == MemoryKind::host)) {
      throw Error(wants_gpu_frames() ? "the encoder takes frames in a GPU's memory only"
                                     : "the encoder takes frames in host memory only");
    }
    AvFrame frame = converter_ ? converter_->convert(in.view) : frame_of(in, *context_, stream_);
    describe(frame.get(), *context_);
    frame->pts = next_ticks(times.pts);
    if (std::exchange(key_wanted_, false)) frame->pict_type = AV_PICTURE_TYPE_I;
    inside_.push_back({frame->pts, times, in.metadata});
    av_check(avcodec_send_frame(context_.get(), frame.get()), parameters_.encoder);
    drain(handler);
  }

  void flush(const PacketHandler& handler) override {
    av_check(avcodec_send_frame(context_.get(), nullptr), parameters_.encoder);
    drain(handler);
  }

 private:
  struct Picture {
    std::int64_t ticks;
    FrameTimes times;
    FrameMetadata metadata;
  };

  std::int64_t next_ticks(std::int64_t pts_ns) {
    last_ticks_ = std::max(av_rescale_q(pts_ns, nanoseconds, context_->time_base), last_ticks_ + 1);
    return last_ticks_;
  }

  void drain(const PacketHandler& handler) {
    while (true) {
      const int status = avcodec_receive_packet(context_.get(), packet_.get());
      if (status == AVERROR(EAGAIN) || status == AVERROR_EOF) return;
      av_check(status, parameters_.encoder);
      hand_out(handler);
      av_packet_unref(packet_.get());
    }
  }

  void hand_out(const PacketHandler& handler) {
    PacketView view;
    view.data = {packet_->data, static_cast<std::size_t>(packet_->size)};
    view.key = (packet_->flags & AV_PKT_FLAG_KEY) != 0;
    take_frame(packet_->pts, view);
    view.dts = decode_time(view.times.pts);
    last_dts_ = view.dts;
    handler(view);
  }

  // Ticks are coarser than nanoseconds: rounding must neither put dts after pts nor stop its growth.
  [[nodiscard]] std::int64_t decode_time(std::int64_t pts_ns) const {
    if (packet_->dts == packet_->pts) return pts_ns;
    return std::min(std::max(av_rescale_q(packet_->dts, context_->time_base, nanoseconds), last_dts_ + 1), pts_ns);
  }

  // The packet gets what is known of its frame.
  void take_frame(std::int64_t ticks, PacketView& packet) {
    const auto found = std::ranges::find(inside_, ticks, &Picture::ticks);
    if (found == inside_.end()) throw Error(parameters_.encoder + ": a packet came out that belongs to no frame");
    packet.times = found->times;
    packet.metadata = found->metadata;
    inside_.erase(found);
  }

  AvCodecContext context_;
  FrameFormat input_;
  std::optional<FrameConverter> converter_;
  GpuStream stream_;
  std::string remark_;
  AvPacket packet_;
  StreamParameters parameters_;
  bool key_wanted_ = false;
  std::int64_t last_ticks_ = no_pts;
  std::int64_t last_dts_ = no_pts;
  std::deque<Picture> inside_;
};

}  // namespace

std::unique_ptr<Encoder> open_encoder(const EncoderConfig& config, const FrameFormat& input, double frame_rate,
                                      const EncoderPlace& place) {
  std::string remark;
  const CodecEncoders& encoders = encoders_for(config.codec);
  EncoderConfig hardware = config;
  hardware.encoder = first_encoder(config, place.hardware);
  if (config.encoder == "auto" && hardware.encoder != encoders.software) {
    try {
      return std::make_unique<AvcodecEncoder>(hardware, input, frame_rate, place, "");
    } catch (const GpuError& error) {
      if (error.kind == GpuError::Kind::broken) throw;
      remark = hardware.encoder + ": " + error.what();
    } catch (const Error& error) {
      remark = error.what();
    }
    remark += std::string("; its frames go to ") + encoders.software;
  }
  return std::make_unique<AvcodecEncoder>(config, input, frame_rate, place, remark);
}

std::optional<std::string> check_encoder(const EncoderConfig& config) {
  if (config.codec == "copy") {
    if (config.encoder == "auto") return std::nullopt;
    return "encode.encoder: with codec copy nothing is encoded; leave it out";
  }
  try {
    open_encoder(config, {.width = 320, .height = 240}, assumed_frame_rate);
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace campipe
