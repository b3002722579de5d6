#include "app/master/copy_motion.h"

#include <algorithm>
#include <utility>

#include "app/rings/source_times.h"
#include "core/ffmpeg.h"
#include "ipc/decode_blocks.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

constexpr double usual_rate = 25;  // of a stream that says neither times nor how many frames a second it has

FrameView view_of(const DecodedFrame& frame, const FrameRingMemory& ring) {
  const FrameRecord& record = frame.record;
  FrameView view;
  view.format = record.format;
  view.stride = record.stride;
  const std::uint8_t* slot = ring.pixels(frame.slot).data();
  for (int plane = 0; plane < plane_count(record.format.pixels); ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    view.data[at] = slot + record.offset[at];
  }
  return view;
}

}  // namespace

CopyMotion::CopyMotion(const std::vector<CopyTarget>& targets, const RigPage& page, ProcessId process) {
  for (const CopyTarget& target : targets) {
    if (!target.filters.empty()) outputs_.emplace_back(target, page.look(target.output, process).motion);
  }
}

void CopyMotion::begin(const SourceStream& stream, std::unique_ptr<Decoder> decoder) {
  end();
  stream_ = &stream;
  decoder_ = std::move(decoder);
  if (decoder_) make_ring();
  looks_ = true;
}

void CopyMotion::end() {
  decoder_.reset();
  ring_.reset();
  looks_ = false;
  for (Output& output : outputs_) output.metadata = {};
}

void CopyMotion::skip() {
  decoder_->flush();
  for (Output& output : outputs_) output.metadata = {};
}

void CopyMotion::make_ring() {
  const SlotNeeds needs = decoder_->needs();
  FrameRingSpec spec;
  spec.slots = std::min<unsigned>(needs.kept + 1, max_ring_slots);
  spec.slot_bytes = needs.bytes;
  ring_ = std::make_shared<FrameRingWriter>(FrameRingMemory::create(spec));
  decoder_->write_to(ring_);
}

void CopyMotion::decode(const AVPacket& packet) {
  decoder_->send(&packet, 0);
  for (;;) {
    DecodedFrame frame;
    const Decoder::Receive received = decoder_->receive(frame);
    if (received == Decoder::Receive::none) return;
    if (received == Decoder::Receive::changed) make_ring();
    if (received == Decoder::Receive::frame) look(ring_->memory(), frame, time_of(frame));
  }
}

std::int64_t CopyMotion::time_of(const DecodedFrame& frame) const {
  if (frame.pts != AV_NOPTS_VALUE) return source_ns(*stream_, frame.pts);
  return last_ + static_cast<std::int64_t>(1e9 / (stream_->frame_rate > 0 ? stream_->frame_rate : usual_rate));
}

// All of them, or none.
void CopyMotion::configure(const FrameFormat& format) {
  format_ = {};
  for (Output& output : outputs_) output.filters.configure(format);
  format_ = format;
}

void CopyMotion::look(const FrameRingMemory& ring, const DecodedFrame& frame, std::int64_t pts) {
  if (!looks_) return;
  const FrameView view = view_of(frame, ring);
  if (format_ != view.format) configure(view.format);
  for (Output& output : outputs_) {
    output.metadata = output.filters.process({view, nullptr, frame.record.metadata}, pts).metadata;
    output.meter.take(output.metadata, pts);
  }
  last_ = pts;
}

FrameMetadata CopyMotion::metadata(OutputId output) const {
  const auto found = std::ranges::find(outputs_, output, &Output::id);
  return found == outputs_.end() ? FrameMetadata{} : found->metadata;
}

}  // namespace campipe
