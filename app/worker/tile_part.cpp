#include "app/worker/tile_part.h"

#include <algorithm>
#include <utility>

#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

using Next = FrameRingReader::Next;
using std::chrono::milliseconds;
using std::chrono::seconds;

// For a sign of a tile for which a frame waits.
constexpr auto patience_dropping = milliseconds(500);
constexpr auto most_patience = seconds(8);       // with one that is always late
constexpr auto patience_blocking = seconds(30);  // as with any reader or writer
// As long as frames wait for a link to another node (app/link/link_thread.cpp), and until it is noticed that it is
// gone.
constexpr auto patience_elsewhere = seconds(7);

// Source numbers grow by ones but for what is lost while a process is away.
constexpr std::uint64_t longest_gap = 1U << 24;

std::chrono::nanoseconds patience_with(DropPolicy policy, bool elsewhere) {
  if (policy == DropPolicy::drop) return patience_dropping;
  return elsewhere ? patience_elsewhere : patience_blocking;
}

}  // namespace

TilePart::TilePart(std::string name, EdgeId edge, std::uint64_t frames, const ReaderQueue& queue, const RigPage& page,
                   Events events, bool elsewhere)
    : name_(std::move(name)),
      id_(edge),
      queue_(queue),
      edge_(page.edge_reader(edge, page.own())),
      events_(std::move(events)),
      frames_(frames),
      patience_(patience_with(queue.policy, elsewhere)) {}

std::optional<std::uint64_t> TilePart::next() const {
  return lease_ ? std::optional(lease_->source_number) : std::nullopt;
}

void TilePart::sign() {
  signed_at_ = Clock::now();
  late_ = false;
}

void TilePart::accuse_writer() { accuse(edge_.accusation, Accused::other_end); }

void TilePart::set_heed(FrameRingReader::Heed heed) {
  heed_ = heed;
  if (use_) use_->reader.set_heed(heed);
}

void TilePart::leave() {
  lease_.reset();
  if (!use_) return;
  use_->reader.leave();
  close();
}

void TilePart::receive(Deadline deadline) {
  while (!lease_ && (use_ || open(deadline))) {
    FrameRingReader::Lease lease;
    const Next next = use_->reader.next(lease, deadline);
    if (next == Next::frame) {
      if (!take(std::move(lease))) deadline = Clock::now();
    } else if (next == Next::broken) {
      abandon("is damaged");
    } else if (!is_possible(use_->reader.resolved())) {
      abandon("is further than its source can be");
    } else {
      learn(use_->reader.resolved());
      if (next == Next::timeout) return;
      close();
    }
  }
}

void TilePart::learn(std::uint64_t resolved) {
  if (resolved > resolved_) sign();
  resolved_ = std::max(resolved_, resolved);
}

bool TilePart::is_possible(std::uint64_t number) const { return number <= std::max(passed_, frames_) + longest_gap; }

// Its writer wrote what cannot be.
void TilePart::abandon(const char* why) {
  spdlog::error("{}: its frame ring {}; it is abandoned", name_, why);
  accuse_writer();
  close();
}

// A frame comes when its reader is attached: what can be made ready before is.
bool TilePart::open(Deadline deadline) {
  const auto patience = std::max<Clock::duration>(deadline - Clock::now(), Clock::duration(0));
  input_ = rings_.next(patience);
  if (!input_) return false;
  events_.on_ring(*input_);
  use_.emplace(RingInUse{FrameRingReader(input_->memory, input_->reader), FrameRingObserver(input_->memory)});
  use_->reader.set_heed(heed_);
  use_->reader.attach(queue_.policy == DropPolicy::block, queue_.size);
  resolved_ = passed_;  // what another writer claimed is nothing to go by
  sign();
  return true;
}

void TilePart::close() {
  use_.reset();
  events_.on_used(std::move(input_->memory));
  input_.reset();
}

// False: it is none that anybody waits for.
bool TilePart::take(FrameRingReader::Lease lease) {
  const std::uint64_t number = lease.source_number;
  if (lease.ready != ReadySignal::immediate || !is_possible(number)) {
    lease = {};
    abandon("has a part of a frame that cannot be");
    return false;
  }
  edge_.queue.record(now_ns() - lease.times.published);
  sign();
  resolved_ = std::max(resolved_, number);
  if (number > passed_) {
    lease_ = std::move(lease);
    return true;
  }
  if (number <= late_at_) {
    late_at_ = 0;
    if (queue_.policy == DropPolicy::drop) patience_ = std::min<std::chrono::nanoseconds>(2 * patience_, most_patience);
  }
  return false;
}

bool TilePart::is_missing(std::uint64_t number) const {
  if (lease_) return lease_->source_number > number;
  return late_ || resolved_ >= number || is_over();
}

void TilePart::pass(std::uint64_t number) {
  passed_ = std::max(passed_, number);
  if (lease_ && lease_->source_number <= number) lease_.reset();
}

bool TilePart::give_up(std::uint64_t number, Clock::time_point since) {
  if (Clock::now() < std::max(since, signed_at_) + patience_) return false;
  late_ = true;
  late_at_ = number;
  return true;
}

}  // namespace campipe
