#include "app/worker/node.h"

#include <algorithm>
#include <utility>

#include "app/control/thread_scope.h"
#include "app/worker/join_input.h"
#include "app/worker/rendition.h"
#include "app/worker/ring_input.h"

namespace campipe {
Node::Node(const messages::RunNode& asked, const Device& gpu, const RigPage& page, const OutputEvents& events,
           const std::function<void()>& on_done)
    : name_(asked.name),
      page_(page),
      node_(page.node(asked.node, page.own())),
      events_(events),
      on_done_(on_done),
      place_{gpu, nullptr},
      input_(make_input(asked)) {
  events_.beat = [this] { beat(); };
  events_.abandoned = [this] { return input_->is_abandoned(); };
  make_outputs(asked);
  thread_ = std::jthread([this] { run(); });
}

Node::~Node() { input_->abandon(); }

std::unique_ptr<NodeInput> Node::make_input(const messages::RunNode& asked) {
  if (asked.compose) {
    auto input = std::make_unique<ComposeInput>(asked, place_, page_, node_.clock, events_);
    compose_ = input.get();
    return input;
  }
  const ReaderQueue queue{asked.drop_policy, asked.queue_size};
  if (asked.join) return std::make_unique<JoinInput>(asked.name, asked.inputs, *asked.join, queue, page_, place_);
  return std::make_unique<RingInput>(asked.name, asked.inputs.at(0), queue, page_);
}

void Node::make_outputs(const messages::RunNode& asked) {
  for (const messages::EncodedOutput& output : asked.outputs)
    outputs_.push_back(std::make_unique<Rendition>(output, page_, events_, place_));
  for (const messages::WrittenEdge& edge : asked.edges) begin(edge);
}

void Node::begin(const messages::WrittenEdge& edge) {
  auto output =
      std::make_unique<RingOutput>(edge, ReaderQueue{edge.drop_policy, edge.queue_size}, page_, events_, place_);
  ring_outputs_.push_back(output.get());
  outputs_.push_back(std::move(output));
}

void Node::end(EdgeId edge) {
  const auto found = std::ranges::find(ring_outputs_, edge, &RingOutput::edge);
  if (found != ring_outputs_.end()) {
    RingOutput* const output = *found;
    output->finish();
    ring_outputs_.erase(found);
    std::erase_if(outputs_, [output](const auto& one) { return one.get() == output; });
  }
  events_.on_edge_done(edge);
}

void Node::renew(EdgeId edge) {
  const std::lock_guard lock(mutex_);
  changes_.push_back({EdgeChange::Kind::renew, edge});
}

void Node::write(const messages::WrittenEdge& edge) {
  const std::lock_guard lock(mutex_);
  changes_.push_back({EdgeChange::Kind::write, edge.edge, edge});
}

void Node::stop(EdgeId edge) {
  const std::lock_guard lock(mutex_);
  changes_.push_back({EdgeChange::Kind::stop, edge});
}

void Node::shrink(bool half) {
  const std::lock_guard lock(mutex_);
  shrink_ = half;
}

void Node::show(const messages::ShowCell& cell) {
  if (compose_ != nullptr) compose_->show(cell.cell, cell.state);
}

void Node::obey() {
  std::vector<EdgeChange> changes;
  std::optional<bool> half;
  {
    const std::lock_guard lock(mutex_);
    changes.swap(changes_);
    half = std::exchange(shrink_, std::nullopt);
  }
  if (half) {
    for (const auto& output : outputs_) output->shrink(*half);
  }
  for (const auto& [kind, id, edge] : changes) {
    if (kind == EdgeChange::Kind::write) {
      begin(edge);
    } else if (kind == EdgeChange::Kind::stop) {
      end(id);
    } else if (const auto found = std::ranges::find(ring_outputs_, id, &RingOutput::edge);
               found != ring_outputs_.end()) {
      (*found)->renew();
    }
  }
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
  obey();
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
  obey();
  for (std::size_t i = 0; i + 1 < outputs_.size(); ++i) {
    outputs_[i]->process(ring, lease, source);
    beat();
  }
  if (!outputs_.empty()) outputs_.back()->process(ring, std::move(lease), source);
}

}  // namespace campipe
