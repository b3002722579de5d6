#include "app/worker/compose_input.h"

#include <algorithm>
#include <cmath>

#include "app/config/mosaic_config.h"
#include "app/control/messages/run_node.h"
#include "app/worker/room_interval.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"
#include "ipc/node_block.h"
#include "ipc/rig_page.h"
#include "stages/compose/compositor.h"
#include "stages/compose/gpu_compositor.h"

namespace campipe {
namespace {

constexpr std::int64_t slice = 100'000'000;            // ns that a wait may last before the thread beats again
constexpr std::int64_t longest_start = 2'000'000'000;  // likewise, for the first frames of all cells
constexpr std::uint8_t limited_range = 1, bt709 = 1;   // as FFmpeg numbers them

// As what cameras send is mostly meant, and what players take it for.
CanvasConfig canvas_of(const MosaicConfig& mosaic, const Device& gpu) {
  CanvasConfig canvas;
  canvas.format.pixels = on_gpu(gpu) ? PixelFormat::nv12 : PixelFormat::i420;
  canvas.format.width = mosaic.width;
  canvas.format.height = mosaic.height;
  canvas.format.color_range = limited_range;
  canvas.format.color_space = canvas.format.color_primaries = canvas.format.color_transfer = bt709;
  canvas.format.sample_aspect_num = 1;
  canvas.background = mosaic.background;
  canvas.labels = mosaic.labels;
  canvas.font = label_font();
  for (const MosaicCell& cell : mosaic.cells) canvas.cells.push_back({cell.camera, cell.region});
  return canvas;
}

}  // namespace

ComposeInput::ComposeInput(const messages::RunNode& asked, NodePlace& place, const RigPage& page, TickClock& clock,
                           const OutputEvents& events)
    : name_(asked.name),
      rate_(asked.compose->mosaic.rate),
      canvas_(canvas_of(asked.compose->mosaic, place.gpu)),
      place_(place),
      page_(page),
      clock_(clock),
      origin_(asked.compose->clock.value_or(messages::TickOrigin())),
      rehearses_(asked.compose->clock.has_value()),
      events_(events),
      most_late_(asked.queue_size),
      contents_(canvas_.cells.size()) {
  const auto drop = [this](std::shared_ptr<FrameRingMemory> memory) { leave_to_main_thread(std::move(memory)); };
  for (std::size_t i = 0; i < canvas_.cells.size(); ++i) {
    cells_.emplace_back(asked.name + ": " + canvas_.cells[i].name, place, page, drop);
    if (i < asked.compose->cells.size()) cells_.back().set(asked.compose->cells[i]);
  }
}

void ComposeInput::show(unsigned cell, const messages::CellState& state) {
  const std::lock_guard lock(inbox_.mutex);
  inbox_.news.emplace_back(NewState{cell, state});
}

void ComposeInput::add(EdgeId edge, InputRing ring) {
  const std::lock_guard lock(inbox_.mutex);
  inbox_.news.emplace_back(NewRing{edge, std::move(ring)});
}

void ComposeInput::accuse_writer(EdgeId edge) {
  accuse(page_.edge_reader(edge, page_.own()).accusation, Accused::other_end);
}

void ComposeInput::finish() {
  const std::lock_guard lock(inbox_.mutex);
  inbox_.finishing = true;
  inbox_.changed.notify_one();
}

void ComposeInput::abandon() {
  abandoned_ = true;
  finish();
}

void ComposeInput::run(FrameTaker& taker) {
  taker.get_ready(canvas_.format, {rate_, 0});
  if (begin(taker)) {
    while (!leaves_ && sleep_until(time_of(next_), taker)) compose(taker);
  }
  cells_.clear();  // frames go back behind work on the node's stream, which ends with its outputs
  draw_ = nullptr;
}

// On the node's thread, whose GPU it uses.
ComposeInput::Draw ComposeInput::make_drawing() {
  if constexpr (with_cuda) {
    if (on_gpu(place_.gpu)) {
      place_.stream = make_frame_path({}, place_.gpu, nullptr)->stream();
      auto drawing = std::make_shared<GpuCompositor>(canvas_, place_.stream);
      return [drawing](std::span<const CellContent> contents) { return drawing->compose(contents); };
    }
  }
  auto drawing = std::make_shared<Compositor>(canvas_);
  return [drawing](std::span<const CellContent> contents) { return drawing->compose(contents); };
}

// A predecessor began it. What cannot be is not believed: it would stand still for ever.
bool ComposeInput::is_going() const {
  const std::int64_t now = now_ns();
  const std::int64_t first = clock_.first;
  const auto most_ticks = static_cast<std::uint64_t>(static_cast<double>(now - first) * rate_ / 1e9) + 2;
  return first > 0 && first <= now && clock_.ticks <= most_ticks;
}

// The clock begins when all processes are ready and the cells have frames, or need not be waited for any longer; one
// that takes over joins in then. False: it never does.
bool ComposeInput::begin(FrameTaker& taker) {
  goes_on_ = !rehearses_ && is_going();
  if (goes_on_) {
    origin_ = {clock_.first, clock_.media_offset};
    next_ = noted_ = clock_.ticks;
    return true;
  }
  while (!page_.barrier().over(0)) {
    if (!sleep_until(now_ns() + slice, taker)) return false;
  }
  const std::int64_t latest = now_ns() + longest_start;
  const auto wait = [&] {
    for (CellInput& cell : cells_) cell.take_newest([&] { taker.beat(); });
    return now_ns() < latest && !std::ranges::all_of(cells_, &CellInput::is_settled);
  };
  while (wait()) {
    if (!sleep_until(now_ns() + slice / 10, taker)) return false;
  }
  if (rehearses_) {
    next_ = newest_tick() + 1;
    return true;
  }
  origin_ = {now_ns(), utc_now_ns()};
  clock_.media_offset = origin_.media_offset;
  clock_.ticks = 0;
  clock_.first = origin_.first;
  return true;
}

// False: it ends.
bool ComposeInput::sleep_until(std::int64_t time, FrameTaker& taker) {
  for (;;) {
    taker.beat();
    {
      std::unique_lock lock(inbox_.mutex);
      const std::int64_t left = std::min<std::int64_t>(time - now_ns(), slice);
      const auto over = [this] { return inbox_.finishing; };
      if (left > 0) inbox_.changed.wait_for(lock, std::chrono::nanoseconds(left), over);
      if (inbox_.finishing) return false;
    }
    take_news();
    if (leaves_) return false;
    if (now_ns() >= time) return true;
    taker.rest();
  }
}

void ComposeInput::take_news() {
  News news;
  {
    const std::lock_guard lock(inbox_.mutex);
    news.swap(inbox_.news);
  }
  for (auto& one : news) {
    if (const auto* ring = std::get_if<NewRing>(&one)) {
      for (CellInput& cell : cells_) cell.add(ring->edge, ring->ring);
    } else {
      auto& [cell, state] = std::get<NewState>(one);
      if (cell < cells_.size()) std::next(cells_.begin(), cell)->set(std::move(state));
    }
  }
}

std::int64_t ComposeInput::time_of(std::uint64_t tick) const {
  return origin_.first + std::llround(static_cast<double>(tick) * 1e9 / rate_);
}

std::int64_t ComposeInput::media_time_of(std::uint64_t tick) const {
  return origin_.media_offset + time_of(tick) - origin_.first;
}

// By the clock; 0 before the first one, too.
std::uint64_t ComposeInput::newest_tick() const {
  const std::int64_t passed = std::max<std::int64_t>(now_ns() - origin_.first, 0);
  return static_cast<std::uint64_t>(static_cast<double>(passed) * rate_ / 1e9);
}

// All before it have been, or are skipped.
ComposeInput::Due ComposeInput::next_tick() {
  const std::int64_t late = std::max<std::int64_t>(now_ns() - time_of(next_), 0);
  const auto behind = static_cast<std::uint64_t>(static_cast<double>(late) * rate_ / 1e9);
  const bool catches_up = !goes_on_ && behind <= most_late_;
  const auto cause = std::exchange(goes_on_, false) ? DropCause::worker_lost : DropCause::queue_full;
  const std::uint64_t tick = next_ + (catches_up ? 0 : behind);
  next_ = tick + 1;
  return {tick, cause};
}

// So many ticks have come; those before the one that is due were skipped.
void ComposeInput::note(const Due& due, std::uint64_t ticks) {
  const std::uint64_t skipped = due.tick - std::min(noted_, due.tick);
  clock_.ticks = noted_ = ticks;
  if (skipped > 0) skip(due.cause, skipped);
}

void ComposeInput::go_live(std::uint64_t number) {
  if (!std::exchange(rehearses_, false)) return;
  noted_ = number - std::min<std::uint64_t>(number, 1);
  clock_.media_offset = origin_.media_offset;
  clock_.first = origin_.first;
}

void ComposeInput::skip(DropCause cause, std::uint64_t ticks) { counter(clock_.skipped, cause).fetch_add(ticks); }

void ComposeInput::compose(FrameTaker& taker) {
  const Due due = next_tick();
  switch (taker.turn_of(due.tick + 1, media_time_of(due.tick), 0)) {
    case FrameTaker::Turn::own:
      note(due, due.tick + 1);
      return make(due.tick, taker);
    case FrameTaker::Turn::rehearsal:
      return make(due.tick, taker);
    case FrameTaker::Turn::others:
      if (!rehearses_) note(due, due.tick);
  }
}

void ComposeInput::make(std::uint64_t tick, FrameTaker& taker) {
  failpoint("mosaic.tick");
  const auto leave_out = [this](DropCause cause) {
    if (!rehearses_) skip(cause, 1);
  };
  FrameRingReader::Lease lease;
  try {
    lease.frame = draw(taker);
  } catch (const GpuError& error) {
    if (error.kind == GpuError::Kind::broken) events_.on_gpu_lost(error.what());
    wait_for_room(error.what());
  } catch (const std::exception& error) {
    spdlog::error("{}: a frame is left out: {}", name_, error.what());
    return leave_out(DropCause::filter_failed);
  }
  if (lease.frame.owner == nullptr) return leave_out(DropCause::no_gpu_memory);
  FrameTimes& times = lease.times;
  times.pts = time_of(tick) - origin_.first;
  times.duration = std::llround(1e9 / rate_);
  times.media_time = media_time_of(tick);
  times.arrival = time_of(tick);
  times.capture_utc = utc_now_ns() - (now_ns() - times.arrival);
  times.decoded = times.published = now_ns();
  lease.number = lease.source_number = tick + 1;
  if (rehearses_) return taker.rehearse(nullptr, lease, {rate_, 0}, 0, tick + 1);
  taker.take(nullptr, std::move(lease), {rate_, 0});
}

// No owner: the GPU has no room.
FrameRef ComposeInput::draw(FrameTaker& taker) {
  if (now_ns() < try_again_) return {};
  if (!draw_) draw_ = make_drawing();
  auto cell = cells_.begin();
  for (CellContent& content : contents_) {
    cell->take_newest([&] { taker.beat(); });
    content = cell->content();
    ++cell;
  }
  FrameRef frame = draw_(contents_);
  if (std::exchange(try_again_, 0) != 0) spdlog::info("{}: the GPU has room for its frames again", name_);
  return frame;
}

void ComposeInput::wait_for_room(const std::string& reason) {
  if (try_again_ == 0) spdlog::warn("{}: its frames are left out until the GPU has room: {}", name_, reason);
  try_again_ = to_ns(Clock::now() + room_interval);
}

}  // namespace campipe
