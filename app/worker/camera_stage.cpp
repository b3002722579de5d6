#include "app/worker/camera_stage.h"

#include <utility>

#include "app/control/thread_scope.h"
#include "core/clock.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto slice = std::chrono::milliseconds(100);  // how long a wait may last before the thread beats again

}  // namespace

CameraStage::CameraStage(const messages::EncodeCamera& asked, const Device& gpu, const RigPage& page,
                         const Events& events)
    : name_(asked.name),
      queue_{asked.drop_policy, asked.queue_size},
      node_(page.node(asked.node, page.own())),
      edge_(page.edge_reader(asked.edge, page.own())),
      on_done_(events.on_done),
      place_{gpu, nullptr} {
  make_renditions(asked.outputs, page, events);
  thread_ = std::jthread([this] { run(); });
}

CameraStage::~CameraStage() { abandon(); }

void CameraStage::make_renditions(const std::vector<messages::EncodedOutput>& outputs, const RigPage& page,
                                  const Events& events) {
  OutputEvents of_rendition;
  of_rendition.on_packets = events.on_packets;
  of_rendition.on_failed = events.on_failed;
  of_rendition.on_gpu_lost = events.on_gpu_lost;
  of_rendition.beat = [this] { scope_->beat(); };
  of_rendition.abandoned = [this] { return rings_.is_abandoned(); };
  for (const messages::EncodedOutput& output : outputs) {
    renditions_.push_back(std::make_unique<Rendition>(output, page, of_rendition, place_));
  }
}

void CameraStage::drop_used_rings() {
  std::vector<std::shared_ptr<FrameRingMemory>> used;
  const std::lock_guard lock(mutex_);
  used.swap(used_rings_);
}

void CameraStage::run() {
  ThreadScope scope(node_.thread, "st:" + name_);
  scope_ = &scope;
  while (auto ring = next_ring()) {
    drain(*ring);
    const std::lock_guard lock(mutex_);
    used_rings_.push_back(std::move(ring->memory));
  }
  for (const auto& rendition : renditions_) rendition->finish();
  renditions_.clear();
  place_.stream.reset();
  on_done_();
}

// Nothing: there will be none.
std::optional<CameraStage::Ring> CameraStage::next_ring() {
  auto ring = rings_.next(std::chrono::nanoseconds(0));
  while (!ring && !rings_.is_over()) {
    scope_->beat();
    for (const auto& rendition : renditions_) rendition->rest_if_unwatched();
    ring = rings_.next(slice);
  }
  return ring;
}

// A source begins when its reader is attached: what can be made ready before is.
void CameraStage::drain(const Ring& ring) {
  const Rendition::Source source{ring.frame_rate, ring.rotation};
  for (const auto& rendition : renditions_) {
    rendition->get_ready(ring.memory->expected(), source);
    scope_->beat();
  }
  RingInUse use{FrameRingReader(ring.memory, ring.reader), FrameRingObserver(ring.memory)};
  use.reader.attach(queue_.policy == DropPolicy::block, queue_.size);
  for (;;) {
    scope_->beat();
    FrameRingReader::Lease lease;
    const auto next = use.reader.next(lease, Clock::now() + slice);
    if (next == FrameRingReader::Next::frame) {
      process(use, std::move(lease), source);
    } else if (next == FrameRingReader::Next::broken) {
      spdlog::error("{}: its frame ring is damaged; it is abandoned", name_);
      return accuse_writer();
    } else if (next != FrameRingReader::Next::timeout || rings_.is_abandoned()) {
      return;
    }
  }
}

// Each rendition has a copy of the lease, and the slot goes back when the last one is done with it.
void CameraStage::process(RingInUse& ring, FrameRingReader::Lease lease, const Rendition::Source& source) {
  failpoint("stage.frame", name_);
  edge_.queue.record(now_ns() - lease.times.decoded);
  for (std::size_t i = 0; i + 1 < renditions_.size(); ++i) {
    renditions_[i]->process(ring, lease, source);
    scope_->beat();
  }
  if (!renditions_.empty()) renditions_.back()->process(ring, std::move(lease), source);
}

}  // namespace campipe
