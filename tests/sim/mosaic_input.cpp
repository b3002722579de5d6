#include "tests/sim/mosaic_input.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ipc/drop_causes.h"
#include "tests/sim/machine.h"
#include "tests/sim/rates.h"

namespace campipe::sim {
namespace {

constexpr std::int64_t longest_start = 2'000'000'000;  // ns, for the first frames of all cells

}  // namespace

MosaicInput::MosaicInput(Child& child, const messages::RunNode& asked)
    : child_(child),
      name_(asked.name),
      rate_(asked.compose->mosaic.rate),
      most_late_(asked.queue_size),
      clock_(child.page().node(asked.node, child.id()).clock),
      origin_(asked.compose->clock.value_or(messages::TickOrigin())),
      rehearses_(asked.compose->clock.has_value()) {
  for (std::size_t i = 0; i < asked.compose->mosaic.cells.size(); ++i) {
    cameras_.push_back(asked.compose->mosaic.cells[i].camera);
    cells_.emplace_back(name_ + ": " + cameras_.back(), place_, child.page(), [](std::shared_ptr<FrameRingMemory>) {});
    if (i < asked.compose->cells.size()) cells_.back().set(asked.compose->cells[i]);
  }
}

void MosaicInput::show(unsigned cell, const messages::CellState& state) {
  if (cell < cells_.size()) cells_[cell].set(state);
}

void MosaicInput::add(EdgeId edge, std::shared_ptr<FrameRingMemory> memory, unsigned seat) {
  for (CellInput& cell : cells_) cell.add(edge, {memory, seat, frame_rate, 0});
}

std::optional<NodeInput::Frame> MosaicInput::next() {
  if (!frame_ && !finishes_ && !leaves_ && begin() && now_ns() >= time_of(next_)) take_tick();
  return frame_;
}

// The clock of a predecessor goes on; a new one begins once the cells have frames, or need not be waited for.
bool MosaicInput::begin() {
  if (begun_) return true;
  const std::int64_t now = now_ns();
  if (!rehearses_ && clock_.first > 0 && clock_.first <= now) {
    origin_ = {clock_.first, clock_.media_offset};
    next_ = noted_ = clock_.ticks;
    goes_on_ = true;
    child_.machine().world().reached("a mosaic's clock goes on");
    return begun_ = true;
  }
  if (!child_.page().barrier().over(0)) return false;
  look_at_cells();
  if (!settles_by_) settles_by_ = now + longest_start;
  if (now < *settles_by_ && !std::ranges::all_of(cells_, &CellInput::is_settled)) return false;
  if (rehearses_) {
    next_ = ticks_in(now - origin_.first) + 1;
    return begun_ = true;
  }
  origin_ = {now, utc_now_ns()};
  clock_.media_offset = origin_.media_offset;
  clock_.ticks = 0;
  clock_.first = origin_.first;
  return begun_ = true;
}

void MosaicInput::take_tick() {
  const std::uint64_t behind = ticks_in(now_ns() - time_of(next_));
  const bool catches_up = !goes_on_ && behind <= most_late_;
  skipped_ = std::exchange(goes_on_, false) ? DropCause::worker_lost : DropCause::queue_full;
  const std::uint64_t tick = next_ + (catches_up ? 0 : behind);
  next_ = tick + 1;
  look_at_cells();
  frame_ = Frame{tick + 1, tick + 1, FrameSize::usual, times_of(tick), 0, tick + 1};
}

void MosaicInput::look_at_cells() {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    cells_[i].take_newest([] {});
    child_.machine().mosaic_watch().on_cell(name_, cameras_[i], cells_[i].content().frame != nullptr);
  }
}

void MosaicInput::become_own() { note(frame_->number - 1, frame_->number); }

void MosaicInput::note(std::uint64_t tick, std::uint64_t ticks) {
  const std::uint64_t skipped = tick - std::min(noted_, tick);
  clock_.ticks = noted_ = ticks;
  if (skipped > 0) counter(clock_.skipped, skipped_).fetch_add(skipped);
}

void MosaicInput::go_live(std::uint64_t number) {
  if (!std::exchange(rehearses_, false)) return;
  noted_ = number - std::min<std::uint64_t>(number, 1);
  clock_.media_offset = origin_.media_offset;
  clock_.first = origin_.first;
}

// The tick is another node's.
void MosaicInput::leave() {
  if (frame_ && !rehearses_) note(frame_->number - 1, frame_->number - 1);
  frame_.reset();
  leaves_ = true;
  cells_.clear();
}

std::int64_t MosaicInput::time_of(std::uint64_t tick) const {
  return origin_.first + std::llround(static_cast<double>(tick) * 1e9 / rate_);
}

std::uint64_t MosaicInput::ticks_in(std::int64_t time) const {
  return static_cast<std::uint64_t>(static_cast<double>(std::max<std::int64_t>(time, 0)) * rate_ / 1e9);
}

FrameTimes MosaicInput::times_of(std::uint64_t tick) const {
  FrameTimes times;
  times.pts = time_of(tick) - origin_.first;
  times.duration = std::llround(1e9 / rate_);
  times.media_time = origin_.media_offset + times.pts;
  times.arrival = time_of(tick);
  times.decoded = times.published = now_ns();
  return times;
}

}  // namespace campipe::sim
