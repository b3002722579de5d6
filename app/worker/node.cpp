#include "app/worker/node.h"

#include <algorithm>
#include <utility>

#include "app/control/thread_scope.h"
#include "app/worker/join_input.h"
#include "app/worker/ring_input.h"
#include "core/failpoint.h"
#include "ipc/node_block.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

constexpr unsigned most_ahead = 64;                          // frames whose packets wait in memory
constexpr auto usual_flush = std::chrono::milliseconds(10);  // until it can go on, mostly much less
constexpr auto catching_up = std::chrono::seconds(1);        // after it has gone on: its first frames cost more
constexpr auto longest_nap = std::chrono::milliseconds(50);
constexpr auto motion_settles = std::chrono::milliseconds(1500);  // stages/filters/motion.cpp

// What its filters must have seen before what they find counts.
std::chrono::nanoseconds settling_of(const messages::RunNode& node) {
  const auto has_motion = [](const std::vector<FilterConfig>& filters) {
    return std::ranges::find(filters, "motion", &FilterConfig::name) != filters.end();
  };
  const bool settles =
      std::ranges::any_of(node.outputs, [&](const auto& output) { return has_motion(output.config.filters); }) ||
      std::ranges::any_of(node.edges, [&](const auto& edge) { return has_motion(edge.filters); });
  return settles ? motion_settles : std::chrono::nanoseconds(0);
}

}  // namespace

Node::Node(const messages::RunNode& asked, const Device& gpu, const RigPage& page, const OutputEvents& events,
           const std::function<void()>& on_done, std::shared_ptr<HandOver> takes_over)
    : name_(asked.name),
      joins_(asked.join.has_value()),
      page_(page),
      node_(page.node(asked.node, page.own())),
      events_(events),
      on_done_(on_done),
      place_{gpu, nullptr},
      input_(make_input(asked)) {
  events_.beat = [this] { beat(); };
  events_.abandoned = [this] { return input_->is_abandoned(); };
  if (takes_over) {
    takes_over_ = std::make_unique<TakesOver>(std::move(takes_over), settling_of(asked));
    const auto gives_up = [this](const std::string& reason) {
      const bool cancels = takes_over_ && !takes_over_->is_live() && takes_over_->cancel();
      if (cancels) events_.on_not_ready(reason);
      return cancels;
    };
    events_.on_failed = [gives_up, failed = events.on_failed](OutputId output, const std::string& reason) {
      if (!gives_up(reason)) failed(output, reason);
    };
    events_.on_edge_failed = [gives_up, failed = events.on_edge_failed](EdgeId edge, const std::string& reason) {
      if (!gives_up(reason)) failed(edge, reason);
    };
  }
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
  for (const messages::EncodedOutput& output : asked.outputs) {
    auto rendition = std::make_unique<Rendition>(output, page_, events_, place_);
    renditions_.push_back(rendition.get());
    outputs_.push_back(std::move(rendition));
  }
  if (!asked.outputs.empty()) grid_ = key_frame_grid(asked.outputs.front().config);
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

void Node::give_over(std::shared_ptr<HandOver> page) {
  const std::lock_guard lock(mutex_);
  asked_to_give_ = std::move(page);
}

void Node::go_on(messages::GoOn from) {
  const std::lock_guard lock(mutex_);
  go_on_ = std::move(from);
  asked_.notify_one();
}

void Node::obey() {
  std::vector<EdgeChange> changes;
  std::optional<bool> half;
  std::shared_ptr<HandOver> give;
  std::optional<messages::GoOn> from;
  {
    const std::lock_guard lock(mutex_);
    changes.swap(changes_);
    half = std::exchange(shrink_, std::nullopt);
    give.swap(asked_to_give_);
    from.swap(go_on_);
  }
  if (give) gives_over_ = std::make_unique<GivesOver>(std::move(give), grid_);
  if (from) obey(*from);
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
  obey();  // else a move that has just been asked for were left undecided
  if (gives_over_ && !gives_over_->cancel()) {
    for (Rendition* const output : renditions_) output->hand_over();
  }
  if (takes_over_) finish_taking_over();
  for (const auto& output : outputs_) output->finish();
  if (gives_over_) failpoint("hand_over.finished", name_);
  ring_outputs_.clear();
  renditions_.clear();
  outputs_.clear();
  place_.stream.reset();
  on_done_();
}

void Node::beat() { scope_->beat(); }

void Node::rest() {
  beat();
  obey();
  if (takes_over_ && takes_over_->is_cancelled()) return input_->leave();
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
  for (std::size_t i = 0; i + 1 < outputs_.size(); ++i) {
    outputs_[i]->process(ring, lease, source);
    beat();
  }
  if (!outputs_.empty()) outputs_.back()->process(ring, std::move(lease), source);
  if (takes_over_) wait_to_go_on();
}

FrameTaker::Turn Node::turn_of(std::uint64_t number, std::int64_t media_time, std::uint64_t taken) {
  obey();
  const Turn turn = takes_over_ ? turn_in_taking_over(number) : Turn::own;
  if (turn == Turn::own && gives_over_ && gives_away(number, media_time, taken)) return Turn::others;
  return turn;
}

// True: the frame, and all that follow, are the other node's.
bool Node::gives_away(std::uint64_t number, std::int64_t media_time, std::uint64_t taken) {
  if (gives_over_->is_cancelled()) {
    gives_over_.reset();
    return false;
  }
  for (unsigned i = 0; i < renditions_.size(); ++i) gives_over_->carry(i, renditions_[i]->due());
  if (!gives_over_->leaves(number, media_time, std::max<std::uint64_t>(taken, 1))) return false;
  input_->leave();
  return true;
}

// Only packets can wait in memory. Where a join's frames begin to be its own, the other one has to have counted its
// own.
bool Node::waits_to_go_on() const {
  return joins_ || !ring_outputs_.empty() || std::ranges::any_of(renditions_, &Rendition::waits_to_go_on);
}

bool Node::keep_waiting() {
  beat();
  obey();
  return !input_->is_abandoned();
}

FrameTaker::Turn Node::turn_in_taking_over(std::uint64_t number) {
  const bool was_live = takes_over_->is_live();
  const auto wait = [this] { return keep_waiting(); };
  const TakesOver::Frame frame = takes_over_->look_at(number, wait);
  if (frame == TakesOver::Frame::rehearse) return Turn::rehearsal;
  if (frame == TakesOver::Frame::own) {
    if (!was_live) go_live();
    if (!waits_to_go_on() || wait_until_it_goes_on()) {
      if (goes_on_) finish_move();
      return Turn::own;
    }
  }
  input_->leave();
  return Turn::others;
}

// A mosaic is shown nothing before the work is the node's own.
void Node::rehearse(RingInUse* ring, const FrameRingReader::Lease& lease, const NodeOutput::Source& source,
                    std::uint64_t taken, std::uint64_t newest) {
  bool all_ready = true;
  for (const auto& output : outputs_) {
    output->rehearse(ring, lease, source);
    all_ready = all_ready && output->is_ready();
    beat();
  }
  if (!takes_over_->rehearsed(lease.times.pts, taken) || !all_ready) return;
  // What came while it opened its encoders may have been taken back from its queue. From here on it is waited for.
  if (std::exchange(is_heeded_, true)) takes_over_->get_ready(newest);
}

// During a move a moment in which one of the two nodes is held up must cost no frame, with the policy drop either:
// where a worker opens an encoder, others on its cores or its GPU stand still for some time.
FrameRingReader::Heed Node::heed() {
  using Heed = FrameRingReader::Heed;
  if (takes_over_) return is_heeded_ ? Heed::awaited : Heed::unheeded;
  const bool gives_over = gives_over_ && !gives_over_->is_cancelled();
  return gives_over || Clock::now() < catches_up_until_ ? Heed::awaited : Heed::usual;
}

void Node::finish_move() {
  takes_over_.reset();
  catches_up_until_ = Clock::now() + catching_up;
}

void Node::go_live() {
  failpoint("hand_over.live", name_);
  input_->go_live(takes_over_->boundary().value_or(0));
  for (RingOutput* const output : ring_outputs_) output->go_live({});
  for (unsigned i = 0; i < renditions_.size(); ++i) renditions_[i]->go_live(takes_over_->carried(i));
}

// False: the process has to leave.
bool Node::wait_until_it_goes_on() {
  while (!goes_on_ && keep_waiting()) {
    std::unique_lock lock(mutex_);
    asked_.wait_for(lock, longest_nap, [this] { return go_on_.has_value(); });
  }
  return goes_on_;
}

// Its packets follow those of the other node, which has to encode what it has.
void Node::wait_to_go_on() {
  ++ahead_;
  const bool may_be_further = ahead_ < most_ahead;
  do {
    {
      std::unique_lock lock(mutex_);
      asked_.wait_for(lock, may_be_further ? usual_flush : longest_nap, [this] { return go_on_.has_value(); });
    }
    beat();
    obey();
  } while (!goes_on_ && !may_be_further && !input_->is_abandoned());
  if (goes_on_) finish_move();
}

void Node::obey(const messages::GoOn& from) {
  failpoint("hand_over.going_on", name_);
  for (const messages::GoOn::Output& output : from.outputs) {
    const auto found = std::ranges::find(renditions_, output.output, &Rendition::output);
    if (found != renditions_.end()) (*found)->go_on(output, from.died);
  }
  for (const messages::GoOn::Edge& edge : from.edges) {
    const auto found = std::ranges::find(ring_outputs_, edge.edge, &RingOutput::edge);
    if (found != ring_outputs_.end()) (*found)->go_on(edge);
  }
  goes_on_ = true;
}

// No frame comes any more.
void Node::finish_taking_over() {
  const auto wait = [this] { return keep_waiting(); };
  const bool was_live = takes_over_->is_live();
  if (!takes_over_->finish(wait)) return;
  if (!was_live) go_live();
  wait_until_it_goes_on();
}

}  // namespace campipe
