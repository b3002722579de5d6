#include "app/worker/node.h"

#include <algorithm>
#include <utility>

#include "app/control/thread_scope.h"
#include "app/worker/rendition.h"
#include "core/clock.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto slice = std::chrono::milliseconds(100);  // how long a wait may last before the thread beats again

}  // namespace

Node::Node(const messages::RunNode& asked, const Device& gpu, const RigPage& page, const OutputEvents& events,
           const std::function<void()>& on_done)
    : name_(asked.name),
      queue_{asked.drop_policy, asked.queue_size},
      node_(page.node(asked.node, page.own())),
      edge_(page.edge_reader(asked.inputs.at(0), page.own())),
      events_(events),
      on_done_(on_done),
      place_{gpu, nullptr} {
  events_.beat = [this] { scope_->beat(); };
  events_.abandoned = [this] { return rings_.is_abandoned(); };
  make_outputs(asked, page);
  thread_ = std::jthread([this] { run(); });
}

Node::~Node() { abandon(); }

void Node::make_outputs(const messages::RunNode& asked, const RigPage& page) {
  for (const messages::EncodedOutput& output : asked.outputs)
    outputs_.push_back(std::make_unique<Rendition>(output, page, events_, place_));
  for (const messages::WrittenEdge& edge : asked.edges) {
    auto output = std::make_unique<RingOutput>(edge, queue_, page, events_, place_);
    ring_outputs_.push_back(output.get());
    outputs_.push_back(std::move(output));
  }
}

void Node::renew(EdgeId edge) {
  const std::lock_guard lock(mutex_);
  to_renew_.push_back(edge);
}

void Node::renew_rings() {
  const std::lock_guard lock(mutex_);
  for (RingOutput* output : ring_outputs_) {
    if (std::ranges::find(to_renew_, output->edge()) != to_renew_.end()) output->renew();
  }
  to_renew_.clear();
}

void Node::drop_used_rings() {
  std::vector<std::shared_ptr<FrameRingMemory>> used;
  const std::lock_guard lock(mutex_);
  used.swap(used_rings_);
}

void Node::run() {
  ThreadScope scope(node_.thread, "st:" + name_);
  scope_ = &scope;
  while (auto ring = next_ring()) {
    drain(*ring);
    const std::lock_guard lock(mutex_);
    used_rings_.push_back(std::move(ring->memory));
  }
  for (const auto& output : outputs_) output->finish();
  ring_outputs_.clear();
  outputs_.clear();
  place_.stream.reset();
  on_done_();
}

void Node::rest() {
  for (const auto& output : outputs_) output->rest();
}

// Nothing: there will be none.
std::optional<Node::Ring> Node::next_ring() {
  auto ring = rings_.next(std::chrono::nanoseconds(0));
  while (!ring && !rings_.is_over()) {
    scope_->beat();
    rest();
    ring = rings_.next(slice);
  }
  return ring;
}

// A source begins when its reader is attached: what can be made ready before is.
void Node::drain(const Ring& ring) {
  const NodeOutput::Source source{ring.frame_rate, ring.rotation};
  for (const auto& output : outputs_) {
    output->get_ready(ring.memory->expected(), source);
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
    } else {
      for (RingOutput* output : ring_outputs_) output->rest();
    }
  }
}

// Each output has a copy of the lease, and the slot goes back when the last one is done with it.
void Node::process(RingInUse& ring, FrameRingReader::Lease lease, const NodeOutput::Source& source) {
  failpoint("stage.frame", name_);
  edge_.queue.record(now_ns() - lease.times.published);
  if (!ring_outputs_.empty()) renew_rings();
  for (std::size_t i = 0; i + 1 < outputs_.size(); ++i) {
    outputs_[i]->process(ring, lease, source);
    scope_->beat();
  }
  if (!outputs_.empty()) outputs_.back()->process(ring, std::move(lease), source);
}

}  // namespace campipe
