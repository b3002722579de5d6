#include "app/worker/cell_input.h"

#include <algorithm>
#include <utility>

#include "app/rings/cell_queue.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/nanoseconds.h"
#include "core/utc_text.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

// Frames of a camera that sends a few a second are shown until the next ones are overdue.
constexpr std::int64_t least_patience = 2 * ns_per_s;
constexpr std::int64_t patience_without_rate = 5 * ns_per_s;
constexpr double overdue_frames = 4;

// "since 14:03:22 UTC", and with its day where that is another one.
std::string since_text(std::int64_t since) {
  if (since <= 0) return "";
  const std::string text = utc_text(since);
  const std::string now = utc_text(utc_now_ns());
  const bool today = text.substr(0, 10) == now.substr(0, 10);
  return "since " + (today ? "" : text.substr(0, 10) + " ") + text.substr(11, 8) + " UTC";
}

}  // namespace

void CellInput::set(messages::CellState state) {
  if (state.edge != state_.edge) forget_ring();
  state_ = std::move(state);
}

void CellInput::add(EdgeId edge, const InputRing& ring) {
  if (edge != state_.edge) return drop_(ring.memory);
  forget_ring();
  memory_ = ring.memory;
  frame_rate_ = ring.frame_rate;
  ring_.emplace(RingInUse{FrameRingReader(memory_, ring.reader), FrameRingObserver(memory_)});
  ring_->reader.attach(false, cell_queue_size);
}

void CellInput::take_newest(const std::function<void()>& beat) {
  std::optional<FrameRingReader::Lease> newest;
  // No more than can wait at once: a writer that goes on meanwhile, as only one that is out of its mind does, keeps
  // nobody from drawing.
  for (unsigned taken = 0; ring_; ++taken) {
    FrameRingReader::Lease lease;
    const auto next = taken < max_ring_slots ? ring_->reader.next(lease, Clock::now()) : FrameRingReader::Next::timeout;
    if (next == FrameRingReader::Next::frame) {
      newest = std::move(lease);
      continue;
    }
    if (newest) use(std::move(*std::exchange(newest, std::nullopt)), beat);
    if (next == FrameRingReader::Next::timeout) return;
    if (next == FrameRingReader::Next::broken) {
      spdlog::error("{}: its frame ring is damaged; it is abandoned", name_);
      accuse(page_.edge_reader(*state_.edge, page_.own()).accusation, Accused::other_end);
    }
    forget_ring();
  }
}

void CellInput::use(FrameRingReader::Lease lease, const std::function<void()>& beat) {
  FrameRef frame;
  if (!on_gpu(place_.gpu)) {
    frame = std::move(lease.frame);
  } else if (memory_->kind() != MemoryKind::host) {
    ring_->reader.use_on(place_.stream.get(), lease);
    frame = std::move(lease.frame);
  } else {
    if (!upload_) upload_ = make_frame_path({}, place_.gpu, place_.stream);
    if (uploaded_ != lease.frame.view.format) {
      uploaded_ = lease.frame.view.format;
      upload_->configure(uploaded_, true);
    }
    auto uploaded = upload_->process(&*ring_, lease, beat, nullptr);
    if (!uploaded) return;  // it was never filled
    frame = std::move(*uploaded);
  }
  forget_frame();
  newest_.emplace(Newest{std::move(frame), memory_, now_ns(), utc_now_ns()});
  ++number_;
}

void CellInput::forget_ring() {
  if (!ring_) return;
  ring_.reset();
  drop_(std::exchange(memory_, nullptr));
}

// The last that refers to the ring's memory is the one that frees it.
void CellInput::forget_frame() {
  if (!newest_) return;
  newest_->frame = {};
  drop_(std::move(newest_->memory));
  newest_.reset();
}

bool CellInput::is_fresh() const {
  if (!newest_) return false;
  const std::int64_t overdue =
      frame_rate_ > 0 ? static_cast<std::int64_t>(overdue_frames * 1e9 / frame_rate_) : patience_without_rate;
  return now_ns() - newest_->came < std::max(overdue, least_patience);
}

CellContent CellInput::content() {
  if (!state_.away && is_fresh()) return {&newest_->frame.view, number_};
  const std::int64_t last_frame = newest_ ? newest_->came_utc : 0;
  since_ = since_text(state_.since != 0 ? state_.since : last_frame);
  return {nullptr, number_, state_.reason, since_};
}

}  // namespace campipe
