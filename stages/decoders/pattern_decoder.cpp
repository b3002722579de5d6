#include "stages/decoders/pattern_decoder.h"

#include <optional>

#include "core/test_pattern.h"
#include "stages/decoders/slot_layout.h"

namespace campipe {
namespace {

class PatternDecoder final : public Decoder {
 public:
  explicit PatternDecoder(const SourceStream& stream)
      : format_{PixelFormat::i420, stream.width, stream.height, AVCOL_RANGE_MPEG, AVCOL_SPC_SMPTE170M},
        layout_(slot_layout(format_.pixels, stream.width, stream.height)),
        painter_(format_) {}
  ~PatternDecoder() override { let_go(); }

  SlotNeeds needs() const override { return {layout_.bytes, 1, false, format_}; }

  void write_to(std::shared_ptr<FrameRingWriter> ring) override {
    let_go();
    ring_ = std::move(ring);
  }

  bool send(const AVPacket* packet, std::int64_t capture_utc) override {
    if (packet != nullptr) next_ = Waiting{packet->pts, capture_utc / 1000, packet->pos};
    return true;
  }

  Receive receive(DecodedFrame& frame) override {
    let_go();
    if (!next_) return Receive::none;
    const Waiting waiting = *std::exchange(next_, std::nullopt);
    frame.packet = waiting.packet;
    const auto slot = ring_->claim();
    if (!slot) return Receive::no_slot;
    shown_ = slot->index;
    painter_.paint({static_cast<std::uint32_t>(waiting.number), waiting.utc_us},
                   view_in_slot(format_, layout_, slot->pixels.data()));
    frame = {slot->index, {format_, layout_.offset, layout_.stride, {}}, waiting.number, false};
    frame.packet = waiting.packet;
    return Receive::frame;
  }

  void flush() override {
    let_go();
    next_.reset();
  }

 private:
  struct Waiting {
    std::int64_t number;
    std::int64_t utc_us;
    std::int64_t packet;
  };

  void let_go() {
    if (shown_) ring_->unpin(*std::exchange(shown_, std::nullopt));
  }

  FrameFormat format_;
  SlotLayout layout_;
  PatternPainter painter_;
  std::shared_ptr<FrameRingWriter> ring_;
  std::optional<Waiting> next_;
  std::optional<unsigned> shown_;
};

}  // namespace

std::unique_ptr<Decoder> open_pattern_decoder(const SourceStream& stream) {
  return std::make_unique<PatternDecoder>(stream);
}

}  // namespace campipe
