#include "app/worker/ring_output.h"

#include <algorithm>
#include <utility>

#include "core/failpoint.h"
#include "ipc/ring_slots.h"

namespace campipe {
namespace {

constexpr auto reader_deadline = std::chrono::seconds(30);  // `block`: for one that was restarted, or is slow

}  // namespace

RingOutput::RingOutput(const messages::WrittenEdge& edge, const ReaderQueue& queue, const RigPage& page,
                       const OutputEvents& events, NodePlace& place)
    : NodeOutput({.name = edge.name,
                  .filters = edge.filters,
                  .rate = edge.rate,
                  .dropped = page.edge_writer(edge.edge, page.own()).unpublished,
                  .after_failure = DropCause::filter_failed,
                  .failed = edge.failed},
                 events, place),
      edge_(edge),
      queue_(queue),
      block_(page.edge_writer(edge.edge, page.own())) {}

void RingOutput::rest() {
  if (ring_) ring_->service();
}

void RingOutput::make_ready(const Ready& wanted) {
  const bool on_gpu = edge_.memory.kind != MemoryKind::host;
  const FrameFormat format = filters().configure(wanted.input, wanted.source.rotation, on_gpu);
  const double rate = limited_rate(wanted.source.frame_rate, edge_.rate);
  if (!ring_ || format_ != format || frame_rate_ != rate) open(format, rate);
}

void RingOutput::open(const FrameFormat& format, double frame_rate) {
  close();
  const bool on_host = edge_.memory.kind == MemoryKind::host;
  layout_ = slot_layout(format.pixels, format.width, format.height, on_host ? simd_row_alignment : gpu_row_alignment);
  FrameRingSpec spec;
  spec.slots = ring_slots(1, queue_.size, edge_.readers);
  spec.slot_bytes = layout_.bytes;
  spec.epoch = edge_.epoch;
  spec.base = edge_.base + published_;
  spec.memory = edge_.memory.kind;
  spec.ready = edge_.memory.ready;
  spec.device = edge_.memory.device;
  spec.expected = format;
  ring_ = std::make_shared<FrameRingWriter>(FrameRingMemory::create(spec));
  ring_->on_faulty_reader([this] { accuse(block_.accusation, Accused::other_end); });
  format_ = format;
  frame_rate_ = frame_rate;
  events().on_ring(edge_.edge, ring_->memory(), edge_.epoch, frame_rate);
  ++edge_.epoch;
}

void RingOutput::close() {
  if (!ring_) return;
  ring_->close();
  if (ring_->memory().signals() != nullptr) events().keep(ring_);
  ring_.reset();
}

// True: the process has to leave.
bool RingOutput::beat_or_abandon() const {
  events().beat();
  return events().abandoned();
}

// With `drop` it never waits, and what is in the reader's queue for too long is taken back.
bool RingOutput::wait_for_room() {
  const auto interrupted = [this] { return beat_or_abandon(); };
  if (queue_.policy == DropPolicy::drop) return ring_->wait_for_reader(Clock::now(), interrupted);
  const Deadline deadline = Clock::now() + reader_deadline;
  if (!ring_->wait_for_reader(deadline, interrupted)) return false;
  // A reader that takes nothing for so long loses its oldest frames, like one with policy `drop`.
  return ring_->wait_for_room(deadline, interrupted) || !events().abandoned();
}

std::optional<FrameRingWriter::Slot> RingOutput::claim() {
  const bool may_wait = queue_.policy == DropPolicy::block;
  return ring_->claim_by(Clock::now() + (may_wait ? reader_deadline : std::chrono::seconds(0)),
                         [this] { return beat_or_abandon(); });
}

std::optional<FrameRef> RingOutput::run_filters(RingInUse* ring, FrameRingReader::Lease& lease) {
  if (std::exchange(renew_, false) || ring_->exhausted()) open(format_, frame_rate_);
  if (!wait_for_room()) {
    count(DropCause::worker_lost);
    return std::nullopt;
  }
  slot_ = claim();
  if (!slot_) {
    count(DropCause::queue_full);
    return std::nullopt;
  }
  MutableFrameView target = view_in_slot(format_, layout_, slot_->pixels.data());
  target.memory = edge_.memory.kind;
  if (edge_.memory.kind != MemoryKind::host) target.device = edge_.memory.device;
  try {
    auto frame = filters().process(ring, lease, events().beat, &target);
    if (frame) return frame;
  } catch (...) {
    ring_->unpin(std::exchange(slot_, std::nullopt)->index);
    throw;
  }
  ring_->unpin(std::exchange(slot_, std::nullopt)->index);
  count(DropCause::master_lost);
  return std::nullopt;
}

void RingOutput::deliver(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) {
  FrameRecord record;
  record.source_number = number;
  record.format = format_;
  record.offset = layout_.offset;
  record.stride = layout_.stride;
  record.times = times;
  record.times.leased = record.times.filtered = 0;
  record.times.published = now_ns();
  record.metadata = frame.metadata;
  const unsigned slot = std::exchange(slot_, std::nullopt)->index;
  const auto published = ring_->publish(slot, record);
  if (published == FrameRingWriter::Published::no_reader) {
    count(DropCause::worker_lost);
  } else {
    ++published_;
  }
  ring_->unpin(slot);
  failpoint("stage.handed_on", name());
}

void RingOutput::on_failure(const std::string& reason) {
  close();
  events().on_edge_failed(edge_.edge, reason);
}

}  // namespace campipe
