#include "app/worker/ring_input.h"

#include <utility>

#include "app/control/thread_scope.h"
#include "core/clock.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {}  // namespace

RingInput::RingInput(std::string name, EdgeId edge, const ReaderQueue& queue, const RigPage& page)
    : name_(std::move(name)), queue_(queue), edge_(page.edge_reader(edge, page.own())) {}

void RingInput::add(EdgeId /*edge*/, InputRing ring) { rings_.add(ring); }

void RingInput::accuse_writer(EdgeId /*edge*/) { accuse(edge_.accusation, Accused::other_end); }

void RingInput::run(FrameTaker& taker) {
  while (!leaves_) {
    auto ring = next_ring(taker);
    if (!ring) return;
    drain(*ring, taker);
    leave_to_main_thread(std::move(ring->memory));
  }
}

// Nothing: there will be none.
std::optional<InputRing> RingInput::next_ring(FrameTaker& taker) {
  auto ring = rings_.next(std::chrono::nanoseconds(0));
  while (!ring && !rings_.is_over()) {
    taker.rest();
    if (leaves_) return std::nullopt;
    ring = rings_.next(beat_slice);
  }
  return ring;
}

// A source begins when its reader is attached: what can be made ready before is.
void RingInput::drain(const InputRing& ring, FrameTaker& taker) {
  const NodeOutput::Source source{ring.frame_rate, ring.rotation};
  taker.get_ready(ring.memory->expected(), source);
  RingInUse use{FrameRingReader(ring.memory, ring.reader), FrameRingObserver(ring.memory)};
  use.reader.set_heed(taker.heed());
  failpoint("stage.attaching", name_);
  use.reader.attach(queue_.policy == DropPolicy::block, queue_.size);
  for (;;) {
    taker.beat();
    use.reader.set_heed(taker.heed());
    FrameRingReader::Lease lease;
    const auto next = use.reader.next(lease, Clock::now() + beat_slice);
    if (next == FrameRingReader::Next::frame) {
      failpoint("stage.frame", name_);
      edge_.queue.record(now_ns() - lease.times.published);
      hand_on(use, std::move(lease), source, taker);
    } else if (next == FrameRingReader::Next::broken) {
      spdlog::error("{}: its frame ring is damaged; it is abandoned", name_);
      return accuse(edge_.accusation, Accused::other_end);
    } else if (next != FrameRingReader::Next::timeout || is_abandoned()) {
      return;
    } else {
      taker.rest();
    }
    if (leaves_) return use.reader.leave();
  }
}

void RingInput::hand_on(RingInUse& ring, FrameRingReader::Lease lease, const NodeOutput::Source& source,
                        FrameTaker& taker) {
  const std::uint64_t taken = ring.reader.taken();
  switch (taker.turn_of(lease.number, lease.times.media_time, taken)) {
    case FrameTaker::Turn::own:
      return taker.take(&ring, std::move(lease), source);
    case FrameTaker::Turn::rehearsal:
      return taker.rehearse(&ring, lease, source, taken, ring.ring.published());
    case FrameTaker::Turn::others:
      return;
  }
}

}  // namespace campipe
