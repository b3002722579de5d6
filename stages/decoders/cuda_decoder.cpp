#include "stages/decoders/cuda_decoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/c_callback.h"
#include "core/cuda.h"
#include "core/cuda_ffmpeg.h"
#include "core/libav_log.h"
#include "kernels/transfer.h"
#include "stages/decoders/frame_format.h"
#include "stages/decoders/slot_layout.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace campipe {
namespace {

// Of FFmpeg's decoders for the codec the one that a GPU can help: not always the preferred one (dav1d is that for AV1).
const AVCodec* find_hardware_codec(AVCodecID id) {
  void* place = nullptr;
  while (const AVCodec* codec = av_codec_iterate(&place)) {
    if (codec->id != id || av_codec_is_decoder(codec) == 0 || codec->wrapper_name != nullptr) continue;
    for (int i = 0; const AVCodecHWConfig* config = avcodec_get_hw_config(codec, i); ++i) {
      if (config->pix_fmt == AV_PIX_FMT_CUDA && (config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) != 0)
        return codec;
    }
  }
  return nullptr;
}

// What the frames would be on the CPU: those that become nv12 by a copy, or by dropping the lower bits.
bool becomes_nv12(AVPixelFormat software) {
  constexpr std::array formats{AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_NV12, AV_PIX_FMT_YUV420P10,
                               AV_PIX_FMT_P010};
  return std::ranges::find(formats, software) != formats.end();
}

std::string name_of(AVPixelFormat format) {
  const char* name = av_get_pix_fmt_name(format);
  return name == nullptr ? "unknown" : name;
}

// "h264 (High 4:2:2)"
std::string name_of(const SourceStream& stream) {
  const char* profile = avcodec_profile_name(stream.codec->codec_id, stream.codec->profile);
  return profile == nullptr ? stream.decoder : stream.decoder + " (" + profile + ")";
}

// libav reports only in its log why hardware fails, and decoders hide such failures like damage in the stream.
bool is_of_hardware(const LibavMessages::Line& line) {
  return std::ranges::any_of(std::array{"CUDA_ERROR", "decoder surfaces", "hardware accelerator"},
                             [&](const char* words) { return line.text.find(words) != std::string::npos; });
}

// The first error, rather one of the hardware.
std::string reason_in(const std::vector<LibavMessages::Line>& lines) {
  const auto is_error = [](const LibavMessages::Line& line) { return line.level <= AV_LOG_ERROR; };
  auto found = std::ranges::find_if(lines, [&](const auto& line) { return is_error(line) && is_of_hardware(line); });
  if (found == lines.end()) found = std::ranges::find_if(lines, is_error);
  return found == lines.end() ? "FFmpeg gives no reason" : found->text;
}

// As long as this process's context lives, the stream can still be decoded on the CPU.
template <typename Work>
auto refusing(const Work& work) {
  try {
    return work();
  } catch (const GpuError& error) {
    if (error.kind == GpuError::Kind::broken) throw;
    throw HardwareRefused(error.what());
  }
}

AvBuffer make_hardware_device(GpuStream stream) {
  try {
    return make_ffmpeg_device(stream);
  } catch (const GpuError&) {
    throw;
  } catch (const Error& error) {
    throw HardwareRefused(error.what());
  }
}

class CudaDecoder final : public Decoder {
 public:
  CudaDecoder(const SourceStream& stream, const Device& gpu)
      : gpu_(gpu),
        name_(name_of(stream)),
        width_(stream.codec->width),
        height_(stream.codec->height),
        expected_(expected_format(*stream.codec, PixelFormat::nv12)) {
    const AVCodec* codec = find_hardware_codec(stream.codec->codec_id);
    if (codec == nullptr) throw HardwareRefused("no hardware decoder for " + stream.decoder);
    const auto format = static_cast<AVPixelFormat>(stream.codec->format);
    if (format != AV_PIX_FMT_NONE && !becomes_nv12(format)) throw HardwareRefused(refusal_of(format));
    if (width_ <= 0 || height_ <= 0) throw Error("the stream does not have the size of its frames");
    // NVDEC leaves out the last row or column of such frames, and FFmpeg takes their chroma from the wrong place.
    if (width_ % 2 != 0 || height_ % 2 != 0) {
      throw HardwareRefused("the GPU does not decode frames of an odd size (" + size_text(width_, height_) + ")");
    }
    layout_ = slot_layout(PixelFormat::nv12, width_, height_, gpu_row_alignment);
    use_gpu(gpu_);
    cuda_stream_ = make_cuda_stream();
    open(stream, *codec);
  }
  ~CudaDecoder() override {
    context_.reset();
    finish_fills();
    let_go();
  }

  // One slot, for the frame that receive() found: the copy frees the decoder's surface at once. A slot whose fill has
  // not completed costs no other, see claim().
  SlotNeeds needs() const override { return {layout_.bytes, 1, true, expected_}; }

  void write_to(std::shared_ptr<FrameRingWriter> ring) override {
    finish_fills();
    if (!waiting_) let_go();
    ring_ = std::move(ring);
  }

  bool send(const AVPacket* packet, std::int64_t) override {
    return call([&] { return avcodec_send_packet(context_.get(), packet); }) >= 0;
  }

  Receive receive(DecodedFrame& frame) override {
    if (!std::exchange(waiting_, false)) {
      let_go();
      const int code = call([&] { return avcodec_receive_frame(context_.get(), frame_.get()); });
      if (code < 0) return Receive::none;  // needs more, at the end, or the packet was damaged
      if (size_changed()) return Receive::changed;
    }
    frame.corrupt = frame_->decode_error_flags != 0 || (frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0;
    frame.pts = frame_->best_effort_timestamp;
    frame.packet = frame_->pkt_pos;
    frame.record.times.duration = av_rescale_q(frame_->pkt_duration, context_->pkt_timebase, nanoseconds);
    const bool copied = refusing([&] { return copy_into_slot(frame); });
    // The copy may still be running. The surface goes back already: what the decoder writes to it next, it writes when
    // cuvidMapVideoFrame() maps it again, and that work is on the same stream (FFmpeg's nvdec.c hands it
    // AVCUDADeviceContext::stream as output_stream), so behind the copy.
    av_frame_unref(frame_.get());
    return copied ? Receive::frame : Receive::no_slot;
  }

  void flush() override {
    let_go();
    waiting_ = false;
    avcodec_flush_buffers(context_.get());
  }

 private:
  // Of a GPU's frame libavcodec crops only the right and the bottom.
  FrameFormat format_of_frame() const {
    FrameFormat format = format_of(*frame_, context_->sw_pix_fmt, PixelFormat::nv12);
    format.width -= static_cast<int>(frame_->crop_left);
    format.height -= static_cast<int>(frame_->crop_top);
    return format;
  }

  bool size_changed() {
    const FrameFormat format = format_of_frame();
    if (format.width == width_ && format.height == height_) return false;
    if (format.width % 2 != 0 || format.height % 2 != 0) {
      throw HardwareRefused("its frames change their size to " + size_text(format.width, format.height) +
                            ", an odd size, which the GPU does not decode");
    }
    expected_.width = width_ = format.width;
    expected_.height = height_ = format.height;
    layout_ = slot_layout(PixelFormat::nv12, width_, height_, gpu_row_alignment);
    waiting_ = true;
    return true;
  }

  static std::string size_text(int width, int height) { return std::to_string(width) + "x" + std::to_string(height); }

  std::string refusal_of(AVPixelFormat software) const {
    return "the GPU does not decode " + name_of(software) + " frames into 8-bit 4:2:0: " + name_;
  }

  void open(const SourceStream& stream, const AVCodec& codec) {
    const LibavCapture capture(complaints_);
    device_ = make_hardware_device(cuda_stream_.get());
    context_.reset(avcodec_alloc_context3(&codec));
    if (!context_) throw std::bad_alloc();
    av_check(avcodec_parameters_to_context(context_.get(), stream.codec), "decoder " + stream.decoder);
    context_->pkt_timebase = stream.time_base;
    context_->thread_count = 1;  // the hardware works by itself
    context_->opaque = this;
    context_->get_format = c_callback<&CudaDecoder::choose_format, AV_PIX_FMT_NONE>;
    context_->hw_device_ctx = av_buffer_ref(device_.get());
    if (context_->hw_device_ctx == nullptr) throw std::bad_alloc();
    if (avcodec_open2(context_.get(), &codec, nullptr) < 0) throw HardwareRefused(reason_in(complaints_.lines()));
  }

  // Calls libavcodec, and throws when the hardware could not do what it was asked for.
  template <typename Call>
  int call(const Call& libav) {
    const LibavCapture capture(complaints_);
    complaints_.clear();
    choice_.tried = false;
    const int code = libav();
    if (!choice_.refusal.empty()) throw HardwareRefused(choice_.refusal);
    const bool failed = code == AVERROR_EXTERNAL || code == AVERROR(ENOSYS) || code == AVERROR(ENOMEM);
    if (failed || std::ranges::any_of(complaints_.lines(), is_of_hardware)) refusing([this] { give_up(); });
    return code;
  }

  void give_up() {
    // A context that is lost fails every call from now on, this one too.
    const cudaError_t state = cudaStreamQuery(cuda_stream_.get());
    if (state != cudaErrorNotReady) cuda_check(state, "the GPU failed while it decoded");
    throw HardwareRefused("the GPU's decoder gave up: " + reason_in(complaints_.lines()));
  }

  // libavcodec asks when it knows what the frames are, best first, and again without the GPU when that refused.
  static AVPixelFormat choose_format(AVCodecContext* context, const AVPixelFormat* offered) {
    return static_cast<CudaDecoder*>(context->opaque)->choose(offered);
  }

  AVPixelFormat choose(const AVPixelFormat* offered) {
    bool gpu_offered = false;
    for (const AVPixelFormat* format = offered; *format != AV_PIX_FMT_NONE; ++format) {
      gpu_offered = gpu_offered || *format == AV_PIX_FMT_CUDA;
    }
    if (!becomes_nv12(context_->sw_pix_fmt)) {
      choice_.refusal = refusal_of(context_->sw_pix_fmt);
    } else if (gpu_offered) {
      complaints_.clear();  // from here on they are the hardware's
      choice_.tried = true;
      return AV_PIX_FMT_CUDA;
    } else if (choice_.tried) {
      choice_.refusal = "the GPU does not decode this " + name_ + ": " + reason_in(complaints_.lines());
    } else {
      choice_.refusal = "no hardware decoder for " + name_ + " of " + name_of(context_->sw_pix_fmt) + " frames";
    }
    return AV_PIX_FMT_NONE;
  }

  // False: there is no slot for it.
  bool copy_into_slot(DecodedFrame& frame) {
    const FrameFormat format = format_of_frame();
    const auto slot = claim();
    if (!slot) return false;
    if (layout_.bytes > slot->pixels.size()) {
      ring_->unpin(slot->index);
      return false;
    }
    slot_ = slot->index;
    MutableFrameView view = view_in_slot(format, layout_, slot->pixels.data());
    view.memory = ring_->memory().kind();
    view.device = gpu_;
    enqueue_copy(view);
    complete(slot->index);
    frame.slot = slot->index;
    frame.record.format = format;
    frame.record.offset = layout_.offset;
    frame.record.stride = layout_.stride;
    frame.converted = false;
    return true;
  }

  // What only readers with a GPU get is complete when their streams find it so.
  void complete(unsigned slot) {
    if (ring_->memory().signals() != nullptr) return ring_->filled(slot, cuda_stream_.get());
    cuda_check(cudaStreamSynchronize(cuda_stream_.get()), "cannot wait for the GPU's copies");
  }

  // With none free, slots may wait only for fills to complete, e.g. those of a reader that died. Those are copies of
  // this stream, which wait for nothing but the decoder; so no frame is lost for want of a slot that is as good as
  // free. Were the GPU to hang here, the camera's thread would stop beating.
  std::optional<FrameRingWriter::Slot> claim() {
    if (auto slot = ring_->claim()) return slot;
    cuda_check(cudaStreamSynchronize(cuda_stream_.get()), "cannot wait for the GPU's copies");
    return ring_->claim();
  }

  void enqueue_copy(const MutableFrameView& to) {
    const auto software = reinterpret_cast<const AVHWFramesContext*>(frame_->hw_frames_ctx->data)->sw_format;
    const std::ptrdiff_t sample = software == AV_PIX_FMT_P010 ? 2 : 1;
    const auto left = static_cast<std::ptrdiff_t>(frame_->crop_left) * sample;
    const auto top = static_cast<std::ptrdiff_t>(frame_->crop_top);
    const std::array<const std::uint8_t*, 2> from{frame_->data[0] + top * frame_->linesize[0] + left,
                                                  frame_->data[1] + top / 2 * frame_->linesize[1] + left};
    if (software == AV_PIX_FMT_P010) {
      enqueue_p010_to_nv12(from[0], frame_->linesize[0], from[1], frame_->linesize[1], to, cuda_stream_.get());
    } else if (software == AV_PIX_FMT_NV12) {
      for (int plane = 0; plane < 2; ++plane) enqueue_plane(from.at(static_cast<std::size_t>(plane)), plane, to);
    } else {
      throw HardwareRefused(refusal_of(software));
    }
  }

  void enqueue_plane(const std::uint8_t* from, int plane, const MutableFrameView& to) {
    const auto at = static_cast<std::size_t>(plane);
    const PlaneSize size = plane_size(to.format, plane);
    const auto from_stride = static_cast<std::size_t>(frame_->linesize[plane]);
    cuda_check(cudaMemcpy2DAsync(to.data[at], static_cast<std::size_t>(to.stride[at]), from, from_stride,
                                 static_cast<std::size_t>(size.width), static_cast<std::size_t>(size.height),
                                 cudaMemcpyDefault, cuda_stream_.get()),
               "cannot copy a frame from the GPU's decoder");
  }

  void let_go() {
    av_frame_unref(frame_.get());
    if (slot_) ring_->unpin(*std::exchange(slot_, std::nullopt));
  }

  // The ring's memory may be unmapped when this object has let go of it. Where the GPU failed nothing writes any more.
  void finish_fills() {
    if (ring_) static_cast<void>(cudaStreamSynchronize(cuda_stream_.get()));
  }

  Device gpu_;
  std::string name_;
  int width_;
  int height_;
  FrameFormat expected_;
  SlotLayout layout_;
  CudaStream cuda_stream_;  // before what works on it
  AvBuffer device_;
  AvCodecContext context_;
  AvFrame frame_ = make_av_frame();
  LibavMessages complaints_{[](const std::string& line) { return line; }};
  struct Choice {
    bool tried = false;   // the GPU's decoder was chosen in this call
    std::string refusal;  // choose() cannot throw through libavcodec
  } choice_;
  std::shared_ptr<FrameRingWriter> ring_;
  std::optional<unsigned> slot_;
  bool waiting_ = false;  // frame_ is a frame that receive() has not handed out yet
};

}  // namespace

std::unique_ptr<Decoder> open_cuda_decoder(const SourceStream& stream, const Device& gpu) {
  return refusing([&] { return std::make_unique<CudaDecoder>(stream, gpu); });
}

}  // namespace campipe
