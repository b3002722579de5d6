#include "app/worker/node.h"

#include <algorithm>
#include <utility>

#include "app/control/thread_scope.h"
#include "app/worker/join_input.h"
#include "app/worker/rendition.h"
#include "app/worker/ring_input.h"

namespace campipe {
namespace {

std::unique_ptr<NodeInput> make_input(const messages::RunNode& asked, const ReaderQueue& queue, const RigPage& page,
                                      NodePlace& place) {
  if (!asked.join) return std::make_unique<RingInput>(asked.name, asked.inputs.at(0), queue, page);
  return std::make_unique<JoinInput>(asked.name, asked.inputs, asked.join->filters, queue, page, place);
}

}  // namespace

Node::Node(const messages::RunNode& asked, const Device& gpu, const RigPage& page, const OutputEvents& events,
           const std::function<void()>& on_done)
    : name_(asked.name),
      queue_{asked.drop_policy, asked.queue_size},
      node_(page.node(asked.node, page.own())),
      events_(events),
      on_done_(on_done),
      place_{gpu, nullptr},
      input_(make_input(asked, queue_, page, place_)) {
  events_.beat = [this] { beat(); };
  events_.abandoned = [this] { return input_->is_abandoned(); };
  make_outputs(asked, page);
  thread_ = std::jthread([this] { run(); });
}

Node::~Node() { input_->abandon(); }

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

void Node::run() {
  ThreadScope scope(node_.thread, "st:" + name_);
  scope_ = &scope;
  try {
    input_->run(*this);
  } catch (const GpuError& error) {
    events_.on_gpu_lost(error.what());
  }
  for (const auto& output : outputs_) output->finish();
  ring_outputs_.clear();
  outputs_.clear();
  place_.stream.reset();
  on_done_();
}

void Node::beat() { scope_->beat(); }

void Node::rest() {
  beat();
  for (const auto& output : outputs_) output->rest();
}

void Node::get_ready(const FrameFormat& expected, const NodeOutput::Source& source) {
  for (const auto& output : outputs_) {
    output->get_ready(expected, source);
    beat();
  }
}

void Node::give_up(std::uint64_t source_number, DropCause cause) {
  for (const auto& output : outputs_) output->give_up(source_number, cause);
}

// Each output has a copy of the lease, and the slot goes back when the last one is done with it.
void Node::take(RingInUse* ring, FrameRingReader::Lease lease, const NodeOutput::Source& source) {
  if (!ring_outputs_.empty()) renew_rings();
  for (std::size_t i = 0; i + 1 < outputs_.size(); ++i) {
    outputs_[i]->process(ring, lease, source);
    beat();
  }
  if (!outputs_.empty()) outputs_.back()->process(ring, std::move(lease), source);
}

}  // namespace campipe
