#include "app/worker/join_input.h"

#include <algorithm>
#include <utility>

#include "app/control/messages/run_node.h"
#include "app/control/thread_scope.h"
#include "app/worker/room_interval.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/drop_causes.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;

constexpr auto short_slice = milliseconds(20);  // while another tile may come back

}  // namespace

JoinInput::JoinInput(std::string name, const std::vector<EdgeId>& edges, const messages::Join& asked,
                     const ReaderQueue& queue, const RigPage& page, NodePlace& place)
    : name_(std::move(name)), filters_(asked.filters), queue_size_(queue.size), assembly_(place) {
  const TilePart::Events events{
      [this](const InputRing& ring) { expect(ring); },
      [this](std::shared_ptr<FrameRingMemory> memory) { leave_to_main_thread(std::move(memory)); }};
  for (const EdgeId edge : edges) {
    const bool elsewhere = std::ranges::find(asked.elsewhere, edge) != asked.elsewhere.end();
    parts_.push_back(std::make_unique<TilePart>(name_, edge, asked.frames, queue, page, events, elsewhere));
  }
}

TilePart& JoinInput::part(EdgeId edge) {
  return **std::ranges::find_if(parts_, [edge](const auto& part) { return part->edge() == edge; });
}

void JoinInput::finish() {
  for (const auto& part : parts_) part->rings().finish();
}

void JoinInput::abandon() {
  for (const auto& part : parts_) part->rings().abandon();
}

bool JoinInput::is_over() const {
  return std::ranges::all_of(parts_, [](const auto& part) { return part->is_over(); });
}

// That has the oldest of the frames that have come.
TilePart* JoinInput::first() {
  TilePart* first = nullptr;
  for (const auto& part : parts_) {
    if (part->next() && (first == nullptr || *part->next() < *first->next())) first = part.get();
  }
  return first;
}

void JoinInput::run(FrameTaker& taker) {
  taker_ = &taker;
  while (!is_abandoned() && !leaves_) {
    taker.beat();
    for (const auto& part : parts_) {
      part->set_heed(taker.heed());
      part->receive(Clock::now());
    }
    if (TilePart* const oldest = first()) {
      settle(*oldest->next(), *oldest, taker);
    } else if (is_over()) {
      break;
    } else {
      wait_for_any(taker);
    }
  }
  if (!leaves_) return;
  for (const auto& part : parts_) part->leave();
}

void JoinInput::wait(TilePart& part, FrameTaker& taker) {
  const bool all_there = std::ranges::all_of(parts_, [](const auto& other) { return other->is_awaited(); });
  part.receive(Clock::now() + (all_there ? beat_slice : short_slice));
  if (!part.next()) taker.rest();
}

void JoinInput::wait_for_any(FrameTaker& taker) {
  auto found = std::ranges::find_if(parts_, [](const auto& part) { return part->is_awaited(); });
  if (found == parts_.end()) found = std::ranges::find_if(parts_, [](const auto& part) { return !part->is_over(); });
  if (found != parts_.end()) wait(**found, taker);
}

// The frame is joined, or given up, or it waits for one part.
void JoinInput::settle(std::uint64_t number, TilePart& has_it, FrameTaker& taker) {
  if (std::exchange(awaited_, number) != number) awaited_since_ = Clock::now();
  describe(has_it.input(), has_it.lease().frame.view.format);
  if (!made_) return give_up(has_it, DropCause::part_missing, taker);
  const std::size_t parts = std::min(made_->parts.rows.size(), parts_.size());
  for (std::size_t i = 0; i < parts; ++i) {
    TilePart& part = *parts_[i];
    if (part.next() == number) continue;
    if (part.is_missing(number) || part.give_up(number, awaited_since_))
      return give_up(has_it, DropCause::part_missing, taker);
    return wait(part, taker);
  }
  if (!agree(parts)) {
    spdlog::warn("{}: the parts of a frame are not of one source; it is dropped", name_);
    return give_up(has_it, DropCause::part_missing, taker);
  }
  if (!get_ready(taker)) return give_up(has_it, DropCause::no_gpu_memory, taker);
  join(taker);
}

// What can be made ready before the first frame comes, is.
void JoinInput::expect(const InputRing& ring) {
  if (made_ || ring.memory->expected().width == 0) return;
  describe(ring, ring.memory->expected());
  if (made_) get_ready(*taker_);
}

// Whose it is, is asked when it is known what becomes of it: an older one may come until then.
void JoinInput::give_up(const TilePart& has_it, DropCause cause, FrameTaker& taker) {
  const std::uint64_t number = *has_it.next();
  const FrameTaker::Turn turn = taker.turn_of(number, has_it.lease().times.media_time, 0);
  if (turn == FrameTaker::Turn::others) return;
  pass(number);
  if (turn == FrameTaker::Turn::own) taker.give_up(number, cause);
}

void JoinInput::pass(std::uint64_t number) {
  for (const auto& part : parts_) part->pass(number);
}

// `part`: the format of a part of the frame. Where sources follow one another, frames of both may be asked for in turn.
void JoinInput::describe(const InputRing& ring, const FrameFormat& part) {
  const BandSource& source = ring.memory->band_source();
  if (made_ && made_->source == source && made_->parts.format.pixels == part.pixels &&
      made_->as_source.frame_rate == ring.frame_rate)
    return;
  made_.reset();
  try {
    if (source.format.width == 0) throw Error("a tile does not say what its frames are made of");
    made_ = Made();
    made_->source = source;
    made_->parts = tile_parts(filters_, source.format, source.rotation, static_cast<int>(parts_.size()));
    made_->parts.format.pixels = part.pixels;
    made_->as_source = {ring.frame_rate, 0, made_->parts.filtered};
  } catch (const Error& error) {
    made_.reset();
    spdlog::warn("{}: parts of frames cannot be joined: {}", name_, error.what());
  }
}

// False: the GPU has no room; it is tried again.
bool JoinInput::get_ready(FrameTaker& taker) {
  if (made_->is_ready) return true;
  if (try_again_ && Clock::now() < *try_again_) return false;
  try {
    FrameFormat format = made_->parts.format;
    if (made_->parts.rows.size() > 1) format = assembly_.configure(format, made_->parts.rows);
    taker.get_ready(format, made_->as_source);
    try_again_.reset();
    made_->is_ready = true;
  } catch (const GpuError& error) {
    if (error.kind == GpuError::Kind::broken) throw;
    if (!try_again_) spdlog::warn("{}: its frames are dropped until the GPU has room: {}", name_, error.what());
    try_again_ = Clock::now() + room_interval;
  }
  return made_->is_ready;
}

// All are made of what the first one is made of.
bool JoinInput::agree(std::size_t parts) const {
  for (std::size_t i = 0; i < parts; ++i) {
    TilePart& part = *parts_[i];
    const FrameFormat wanted = part_format(made_->parts.format, made_->parts.rows[i]);
    const bool same = part.input().memory->band_source() == made_->source && part.lease().frame.view.format == wanted;
    if (!same) return false;
  }
  return true;
}

void JoinInput::join(FrameTaker& taker) {
  failpoint("stage.frame", name_);
  TilePart& first = *parts_.front();
  const std::uint64_t number = *first.next();
  const FrameTaker::Turn turn = taker.turn_of(number, first.lease().times.media_time, 0);
  if (turn == FrameTaker::Turn::others) return;
  const bool is_tiled = made_->parts.rows.size() > 1;
  RingInUse* const ring = is_tiled ? nullptr : &first.ring();
  FrameRingReader::Lease lease = is_tiled ? assemble(taker) : std::exchange(first.lease(), {});
  if (turn == FrameTaker::Turn::rehearsal) {
    if (lease.frame.owner != nullptr) taker.rehearse(ring, lease, made_->as_source, 0, number + queue_size_);
  } else if (lease.frame.owner != nullptr) {
    taker.take(ring, std::move(lease), made_->as_source);
  } else {
    taker.give_up(number, DropCause::part_missing);
  }
  pass(number);
}

// Without a frame where a tile died before its part was complete.
FrameRingReader::Lease JoinInput::assemble(FrameTaker& taker) {
  FrameRingReader::Lease whole = parts_.front()->lease();
  whole.frame = {};
  FrameMetadata metadata = parts_.front()->lease().frame.metadata;  // each tile found the same
  bool complete = true;
  assembly_.begin();
  for (std::size_t i = 0; i < parts_.size() && i < made_->parts.rows.size(); ++i) {
    TilePart& part = *parts_[i];
    whole.times.filter_cost = std::max(whole.times.filter_cost, part.lease().times.filter_cost);
    complete = complete && assembly_.add(i, part.ring(), part.lease(), [&] { taker.beat(); });
  }
  FrameRef frame = assembly_.finish();
  if (!complete) return whole;
  whole.frame = std::move(frame);
  whole.frame.metadata = metadata;
  return whole;
}

}  // namespace campipe
