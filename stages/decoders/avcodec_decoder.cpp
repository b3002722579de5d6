#include "stages/decoders/avcodec_decoder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <mutex>
#include <optional>

#include "core/c_callback.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "core/media_limits.h"
#include "stages/decoders/frame_format.h"
#include "stages/decoders/slot_converter.h"
#include "stages/decoders/slot_layout.h"

namespace campipe {
namespace {

std::optional<PixelFormat> ring_format(int av_format) {
  switch (av_format) {
    case AV_PIX_FMT_YUV420P:
    case AV_PIX_FMT_YUVJ420P:
      return PixelFormat::i420;
    case AV_PIX_FMT_NV12:
      return PixelFormat::nv12;
    default:
      return std::nullopt;
  }
}

// How many frames a codec may keep for reference while it decodes another.
constexpr unsigned most_reference_frames = 17;

unsigned reference_frames(AVCodecID codec) {
  switch (codec) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
      return most_reference_frames;
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1:
      return 9;
    case AV_CODEC_ID_MJPEG:
      return 1;
    default:
      return 4;
  }
}

unsigned slots_kept(unsigned references, int threads) {
  return references + static_cast<unsigned>(std::max(threads, 1)) + 1;
}

class AvcodecDecoder final : public Decoder {
 public:
  AvcodecDecoder(const SourceStream& stream, int threads) : frame_(make_av_frame()) {
    const AVCodec* codec = avcodec_find_decoder(stream.codec->codec_id);
    if (codec == nullptr) throw Error("there is no decoder for " + stream.decoder);
    context_.reset(avcodec_alloc_context3(codec));
    if (!context_) throw std::bad_alloc();
    av_check(avcodec_parameters_to_context(context_.get(), stream.codec), "decoder " + stream.decoder);
    width_ = stream.codec->width;
    height_ = stream.codec->height;
    if (width_ <= 0 || height_ <= 0) throw Error("the stream does not have the size of its frames");
    context_->pkt_timebase = stream.time_base;
    context_->thread_count = threads;
    context_->max_pixels = most_pixels;
    context_->opaque = this;
    context_->get_buffer2 = c_callback<&AvcodecDecoder::get_buffer, AVERROR(ENOMEM)>;
    use_own_threads_safely();
    av_check(avcodec_open2(context_.get(), codec, nullptr), "cannot open the decoder " + stream.decoder);
    expected_ = expected_format(*stream.codec, PixelFormat::i420);
    slot_bytes_ = bytes_of_slot();
  }
  ~AvcodecDecoder() override {
    let_go();
    context_.reset();  // its references go before the pins that they name
  }

  SlotNeeds needs() const override {
    return {slot_bytes_, slots_kept(reference_frames(context_->codec_id), context_->thread_count), false, expected_};
  }

  void write_to(std::shared_ptr<FrameRingWriter> ring) override {
    if (!waiting_) let_go();
    const std::lock_guard lock(slots_mutex_);
    ring_ = std::move(ring);
    // A new set: libavcodec may still hold references into the ring before. Older ones would keep their rings' memory.
    pins_.remove_if([](const Pins& pins) { return pins.used.load(std::memory_order_acquire) == 0; });
    Pins& pins = pins_.emplace_back();
    for (unsigned slot = 0; slot < max_ring_slots; ++slot) pins.pin[slot] = {ring_, slot, &pins.used};
  }

  bool send(const AVPacket* packet, std::int64_t) override {
    draining_ = packet == nullptr;
    const int code = avcodec_send_packet(context_.get(), packet);
    if (code == AVERROR(ENOMEM)) throw std::bad_alloc();
    return code >= 0;
  }

  Receive receive(DecodedFrame& decoded) override {
    if (!std::exchange(waiting_, false)) {
      const Receive received = receive_frame();
      if (received != Receive::frame) return received;
    }
    decoded.pts = frame_->best_effort_timestamp;
    decoded.packet = frame_->pkt_pos;
    decoded.corrupt = frame_->decode_error_flags != 0 || (frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0;
    decoded.record.times.duration = av_rescale_q(frame_->pkt_duration, context_->pkt_timebase, nanoseconds);
    return describe_direct(decoded) || convert_into_slot(decoded) ? Receive::frame : Receive::no_slot;
  }

  void flush() override {
    let_go();
    waiting_ = false;
    avcodec_flush_buffers(context_.get());
  }

 private:
  // A slot that libavcodec holds references to.
  struct Pin {
    std::shared_ptr<FrameRingWriter> ring;
    unsigned slot = 0;
    std::atomic<unsigned>* used = nullptr;
  };
  struct Pins {
    std::array<Pin, max_ring_slots> pin;
    std::atomic<unsigned> used{0};  // how many buffers name one of them
  };

  // Into frame_.
  Receive receive_frame() {
    let_go();
    int code = avcodec_receive_frame(context_.get(), frame_.get());
    // At the end an error belongs to the frame of one thread, and others may have good ones.
    for (int i = 0; draining_ && code < 0 && code != AVERROR_EOF && i < context_->thread_count; ++i) {
      code = avcodec_receive_frame(context_.get(), frame_.get());
    }
    if (code == AVERROR(ENOMEM)) throw std::bad_alloc();
    if (code < 0) return Receive::none;  // needs more, at the end, or the packet was damaged
    if (frame_->width == width_ && frame_->height == height_) return Receive::frame;
    if (refused_size(frame_->width, frame_->height)) return Receive::none;  // as damaged: in mid-stream it is not meant
    width_ = frame_->width;
    height_ = frame_->height;
    expected_.width = width_;
    expected_.height = height_;
    const std::lock_guard lock(slots_mutex_);
    slot_bytes_ = bytes_of_slot();
    waiting_ = true;
    return Receive::changed;
  }

  void use_own_threads_safely() {
#if LIBAVCODEC_VERSION_MAJOR < 60
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    // Otherwise libavcodec hands every allocation of its threads back to ours and waits for it.
    context_->thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
#endif
  }

  // The size of the codec's own planes is only known per frame; this has room for what codecs are known to add.
  std::size_t bytes_of_slot() {
    int width = width_;
    int height = height_;
    std::array<int, AV_NUM_DATA_POINTERS> align{};
    avcodec_align_dimensions2(context_.get(), &width, &height, align.data());
    return slot_layout(PixelFormat::i420, width + 64, height + 64).bytes;
  }

  static int get_buffer(AVCodecContext* context, AVFrame* frame, int flags) {
    failpoint("decoder.buffer");
    auto& self = *static_cast<AvcodecDecoder*>(context->opaque);
    return self.place_in_slot(*context, *frame) ? 0 : avcodec_default_get_buffer2(context, frame, flags);
  }

  // Any of libavcodec's threads, with its own `context`. Gives `frame` a slot to be decoded into; false where that
  // cannot be.
  bool place_in_slot(AVCodecContext& context, AVFrame& frame) {
    const std::lock_guard lock(slots_mutex_);
    const auto pixels = ring_format(frame.format);
    if (!pixels || (context.codec->capabilities & AV_CODEC_CAP_DR1) == 0 || !ring_) return false;
    int width = frame.width;
    int height = frame.height;
    std::array<int, AV_NUM_DATA_POINTERS> align{};
    avcodec_align_dimensions2(&context, &width, &height, align.data());
    const SlotLayout layout = slot_layout(*pixels, width, height);
    if (layout.bytes > slot_bytes_) return false;
    const auto slot = ring_->claim();
    if (!slot) return false;
    if (layout.bytes > slot->pixels.size()) {
      ring_->unpin(slot->index);
      return false;
    }
    Pins& pins = pins_.back();
    frame.buf[0] = av_buffer_create(slot->pixels.data(), slot->pixels.size(), c_callback<&AvcodecDecoder::unpin>,
                                    &pins.pin[slot->index], 0);
    if (frame.buf[0] == nullptr) {
      ring_->unpin(slot->index);
      return false;
    }
    pins.used.fetch_add(1, std::memory_order_relaxed);
    for (int plane = 0; plane < plane_count(*pixels); ++plane) {
      const auto at = static_cast<std::size_t>(plane);
      frame.data[plane] = slot->pixels.data() + layout.offset[at];
      frame.linesize[plane] = layout.stride[at];
    }
    frame.extended_data = frame.data;
    return true;
  }

  static void unpin(void* opaque, std::uint8_t*) {
    const auto& pin = *static_cast<Pin*>(opaque);
    pin.ring->unpin(pin.slot);
    pin.used->fetch_sub(1, std::memory_order_release);  // the last: the set may go now
  }

  // The frame already lies in a slot that has not been published: where.
  bool describe_direct(DecodedFrame& decoded) {
    const auto pixels = ring_format(frame_->format);
    const auto slot = slot_of(*frame_);
    if (!pixels || !slot || !ring_->unpublished(*slot)) return false;
    if (frame_->width != width_ || frame_->height != height_) return false;
    const std::uint8_t* base = ring_->memory().pixels(*slot).data();
    for (int plane = 0; plane < plane_count(*pixels); ++plane) {
      const auto at = static_cast<std::size_t>(plane);
      decoded.record.offset[at] = static_cast<std::uint32_t>(frame_->data[plane] - base);
      decoded.record.stride[at] = frame_->linesize[plane];
    }
    decoded.slot = *slot;
    decoded.record.format = format_of(*frame_, pixel_format(), *pixels);
    decoded.converted = false;
    return true;
  }

  std::optional<unsigned> slot_of(const AVFrame& frame) const {
    const auto* opaque =
        static_cast<const Pin*>(frame.buf[0] != nullptr ? av_buffer_get_opaque(frame.buf[0]) : nullptr);
    for (const Pin& pin : pins_.back().pin) {
      if (&pin == opaque) return pin.slot;
    }
    return std::nullopt;
  }

  bool convert_into_slot(DecodedFrame& decoded) {
    const auto slot = ring_->claim();
    if (!slot) return false;
    FrameFormat format = format_of(*frame_, pixel_format(), PixelFormat::i420);
    format.width = width_;
    format.height = height_;
    const SlotLayout layout = slot_layout(format.pixels, width_, height_);
    if (layout.bytes > slot->pixels.size()) {
      ring_->unpin(slot->index);
      return false;
    }
    converted_slot_ = slot->index;
    converter_.convert(*frame_, view_in_slot(format, layout, slot->pixels.data()));
    decoded.slot = slot->index;
    decoded.record.format = format;
    decoded.record.offset = layout.offset;
    decoded.record.stride = layout.stride;
    decoded.converted = true;
    return true;
  }

  AVPixelFormat pixel_format() const { return static_cast<AVPixelFormat>(frame_->format); }

  void let_go() {
    av_frame_unref(frame_.get());
    if (converted_slot_) ring_->unpin(*std::exchange(converted_slot_, std::nullopt));
  }

  AvCodecContext context_;
  AvFrame frame_;
  FrameFormat expected_;
  bool draining_ = false;
  bool waiting_ = false;  // frame_ is a frame that receive() has not handed out yet
  int width_ = 0;
  int height_ = 0;
  std::mutex slots_mutex_;  // of what stands below: libavcodec's threads go on while the ring is replaced
  std::size_t slot_bytes_ = 0;
  std::shared_ptr<FrameRingWriter> ring_;
  std::list<Pins> pins_;  // one set for each ring; a list, since buffers point into it
  std::optional<unsigned> converted_slot_;
  SlotConverter converter_;
};

}  // namespace

unsigned most_slots_kept(int threads) { return slots_kept(most_reference_frames, threads); }

std::unique_ptr<Decoder> open_avcodec_decoder(const SourceStream& stream, int threads) {
  return std::make_unique<AvcodecDecoder>(stream, threads);
}

}  // namespace campipe
