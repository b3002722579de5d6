#include "app/worker/ring_output.h"

#include <algorithm>
#include <utility>

#include "app/config/limited_rate.h"
#include "app/control/messages/node_parts.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"
#include "ipc/ring_slots.h"
#include "stages/filters/tile_parts.h"

namespace campipe {
namespace {

constexpr auto reader_deadline = std::chrono::seconds(30);   // `block`: for one that was restarted, or is slow
constexpr auto dropping_deadline = std::chrono::seconds(1);  // `drop`: for one that is slow
constexpr auto coming_deadline = std::chrono::seconds(2);    // likewise: for one to come to a ring that is new

}  // namespace

RingOutput::RingOutput(const messages::WrittenEdge& edge, const ReaderQueue& queue, const RigPage& page,
                       const OutputEvents& events, NodePlace& place)
    : NodeOutput({.name = edge.name,
                  .filters = edge.filters,
                  .rate = edge.rate,
                  .dropped = page.edge_writer(edge.edge, page.own()).unpublished,
                  .after_failure = DropCause::filter_failed,
                  .failed = edge.failed,
                  .rehearses = edge.waits},
                 events, place),
      edge_(edge),
      queue_(queue),
      block_(page.edge_writer(edge.edge, page.own())) {}

void RingOutput::rest() {
  if (ring_) ring_->service();
}

void RingOutput::make_ready(const Ready& wanted) {
  nothing_ = false;
  const Made made = edge_.tile ? configure_tile(wanted, *edge_.tile) : configure(wanted);
  if (nothing_) return;
  if (edge_.waits) {
    made_ = made;
  } else if (!ring_ || made_ != made) {
    open(made);
  }
}

void RingOutput::go_on(const messages::GoOn::Edge& from) {
  edge_.waits = false;
  edge_.epoch = from.epoch;
  edge_.base = from.base;
  if (from.failed) set_failed();
}

RingOutput::Made RingOutput::configure(const Ready& wanted) {
  const bool on_gpu = edge_.memory.kind != MemoryKind::host;
  const FrameFormat format = filters().configure(filters_for(wanted.source), wanted.input, on_gpu);
  const FrameRows all{{0, format.height}, {0, (format.height + 1) / 2}};
  return {format, all, {}, limited_rate(wanted.source.frame_rate, edge_.rate)};
}

RingOutput::Made RingOutput::configure_tile(const Ready& wanted, const messages::Tile& tile) {
  const int rotation = wanted.source.rotation;
  const TileParts parts = tile_parts(edge_.filters, wanted.input, rotation, static_cast<int>(tile.count));
  if (tile.index == 0 && !parts.untiled.empty() && untiled_ != parts.untiled)
    spdlog::info("{}: its frames are not tiled: {}", name(), parts.untiled);
  untiled_ = parts.untiled;
  nothing_ = tile.index >= parts.rows.size();
  if (nothing_) return {};
  const FrameRows& rows = parts.rows[tile.index];
  const bool on_gpu = edge_.memory.kind != MemoryKind::host;
  const FrameFormat format = filters().configure(parts.banded, wanted.input, on_gpu, rows.luma);
  return {format, rows, {wanted.input, rotation}, wanted.source.frame_rate};
}

void RingOutput::open(const Made& made) {
  close();
  const FrameFormat format = part_format(made.format, made.rows);
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
  spec.band_source = made.source;
  ring_ = std::make_shared<FrameRingWriter>(FrameRingMemory::create(spec));
  is_stuck_ = false;
  is_new_ = true;
  ring_->on_faulty_reader([this] { accuse(block_.accusation, Accused::other_end); });
  made_ = made;
  format_ = format;
  events().on_ring(edge_.edge, ring_->memory(), edge_.epoch, made.frame_rate);
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

// Also with `drop`, so that frames are dropped where nothing has been done to them yet, in the source's ring. A reader
// that takes none in that time is not waited for again until it has taken one; and what feeds a mosaic never waits.
bool RingOutput::wait_for_room() {
  const auto interrupted = [this] { return beat_or_abandon(); };
  if (queue_.policy == DropPolicy::drop) {
    const bool awaits = std::exchange(is_new_, false) && !edge_.cell;
    if (!ring_->wait_for_reader(Clock::now() + (awaits ? coming_deadline : std::chrono::seconds(0)), interrupted))
      return false;
    if (edge_.cell) return true;
    const Deadline deadline = Clock::now() + (is_stuck_ ? std::chrono::seconds(0) : dropping_deadline);
    is_stuck_ = !ring_->wait_for_room(deadline, interrupted, FrameRingWriter::Readers::all);
    return !is_stuck_ || !events().abandoned();
  }
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

// Where the filters write to: the rows that they make, in the claimed slot.
MutableFrameView RingOutput::target() const {
  MutableFrameView view = view_in_slot(format_, layout_, slot_->pixels.data());
  view.memory = edge_.memory.kind;
  if (edge_.memory.kind != MemoryKind::host) view.device = edge_.memory.device;
  return edge_.tile ? rows_in(view, made_.format, made_.rows) : view;
}

std::optional<FrameRef> RingOutput::run_filters(RingInUse* ring, FrameRingReader::Lease& lease) {
  if (nothing_) {
    if (ring_) ring_->service();
    count(DropCause::unwatched);
    return std::nullopt;
  }
  if (edge_.waits) return filters().process(ring, lease, events().beat, nullptr);  // a rehearsal
  if (std::exchange(renew_, false) || !ring_ || ring_->exhausted()) open(Made(made_));
  if (!wait_for_room()) {
    count(DropCause::worker_lost);
    return std::nullopt;
  }
  slot_ = claim();
  if (!slot_) {
    count(DropCause::queue_full);
    return std::nullopt;
  }
  const MutableFrameView rows = target();
  try {
    auto frame = filters().process(ring, lease, events().beat, &rows);
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

void RingOutput::on_resolved(std::uint64_t number) {
  if (ring_) ring_->resolve(number);
}

void RingOutput::on_failure(const std::string& reason) {
  close();
  events().on_edge_failed(edge_.edge, reason);
}

}  // namespace campipe
