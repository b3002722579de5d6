#include "tests/sim/worker_node.h"

#include <algorithm>
#include <utility>

#include "app/control/messages/edges.h"
#include "app/control/messages/from_worker.h"
#include "ipc/drop_causes.h"
#include "stages/encoders/key_frame_grid.h"
#include "tests/sim/machine.h"

namespace campipe::sim {
namespace {

constexpr unsigned frames_a_step = 32;
constexpr nanoseconds cpu_of_frame = milliseconds(4);
constexpr auto catching_up = seconds(1);
constexpr std::uint64_t not_ready_once_in = 12;

// Nothing waits here: what is undecided is so in the next step, too.
bool gives_up() { return false; }

}  // namespace

WorkerNode::WorkerNode(Child& child, const messages::RunNode& asked, std::shared_ptr<HandOver> takes_over,
                       GroupPages& group_pages)
    : child_(child),
      name_(asked.name),
      id_(asked.node),
      block_(child.page().node(asked.node, child.id())),
      joins_(asked.join.has_value()),
      input_(make_node_input(child, asked)) {
  for (const messages::EncodedOutput& output : asked.outputs) {
    const auto page = group_pages.extract(output.output);
    outputs_.emplace_back(child, output, page.empty() ? nullptr : page.mapped());
  }
  for (const messages::WrittenEdge& edge : asked.edges) edges_.emplace_back(child, edge);
  if (takes_over) takes_over_ = std::make_unique<TakesOver>(std::move(takes_over), nanoseconds(0));
}

void WorkerNode::give_over(std::shared_ptr<HandOver> page) {
  const bool has_grid = child_.chance().one_in(2);  // in a cell without an end: it leaves when patience ends
  const KeyFrameGrid grid(seconds(1), nanoseconds(0));
  gives_over_ = std::make_unique<GivesOver>(std::move(page), has_grid ? std::optional(grid) : std::nullopt);
  comes_to(MoveStep::offered);
}

void WorkerNode::go_on(const messages::GoOn& from) {
  for (const messages::GoOn::Output& output : from.outputs) {
    const auto found = std::ranges::find(outputs_, output.output, &Encoding::id);
    if (found != outputs_.end()) found->go_on(output, from.died);
  }
  for (const messages::GoOn::Edge& edge : from.edges) {
    const auto found = std::ranges::find(edges_, edge.edge, &FrameOutput::edge);
    if (found != edges_.end()) found->go_on(edge);
  }
  goes_on_ = true;
  if (joins_ || !edges_.empty()) child_.machine().world().reached("a part of a camera goes over");
  child_.machine().world().reached(from.died ? "a move is over by a death" : "a move is over");
}

void WorkerNode::shrink(bool half) {
  for (Encoding& output : outputs_) output.shrink(half);
}

void WorkerNode::renew(EdgeId edge) {
  const auto found = std::ranges::find(edges_, edge, &FrameOutput::edge);
  if (found != edges_.end()) found->renew();
}

void WorkerNode::stop(EdgeId edge) {
  const auto found = std::ranges::find(edges_, edge, &FrameOutput::edge);
  if (found != edges_.end()) {
    found->close();
    edges_.erase(found);
  }
  child_.send(messages::EdgeDone{{edge}});
}

void WorkerNode::abandon() {
  if (done_) return;
  while (!takes_over_ && (frame_ || next_frame())) {
    if (!std::exchange(is_own_, true)) input_->become_own();
    if (!std::exchange(is_taken_, false)) {
      for (Encoding& output : outputs_) output.push(frame_->times, frame_->source_number, frame_->size);
      for (FrameOutput& edge : edges_) edge.lose(frame_->source_number);
    }
    for (Encoding& output : outputs_) output.act_undecided();
    input_->done();
    frame_.reset();
  }
  for (Encoding& output : outputs_) output.abandon();
  end();
}

void WorkerNode::step() {
  if (done_) return;
  block_.thread.beat.store(now_ns());
  for (FrameOutput& edge : edges_) edge.service();
  if (!flush()) return;
  for (unsigned i = 0; i < frames_a_step && !leaves_; ++i) {
    if (!frame_ && !next_frame()) break;
    if (!handle()) return;
  }
  if (takes_over_ && takes_over_->is_cancelled()) leave_frames();
  if (!frame_ && !leaves_) std::ranges::for_each(outputs_, &Encoding::follow);
  const bool is_over = leaves_ || (!frame_ && input_->is_over());
  if (is_over && may_end()) end();
}

bool WorkerNode::next_frame() {
  set_heed();
  frame_ = input_->next();
  if (!frame_) return false;
  is_own_ = false;
  made_at_ = Clock::now() + child_.takes(milliseconds(1), milliseconds(12));
  block_.thread.cpu_time.fetch_add(cpu_of_frame.count());
  return true;
}

// False: it is not done with the frame yet.
bool WorkerNode::handle() {
  if (!is_own_) {
    switch (turn()) {
      case Turn::own:
        is_own_ = true;
        input_->become_own();
        break;
      case Turn::rehearsal:
        if (Clock::now() < made_at_) return false;
        if (frame_->is_whole) rehearse();
        input_->done();
        frame_.reset();
        return true;
      case Turn::others:
        leave_frames();
        return true;
      case Turn::undecided:
        return false;
    }
  }
  if (!is_taken_ && !take()) return false;
  is_taken_ = true;
  if (!std::ranges::all_of(outputs_, &Encoding::is_done_with_frame)) return false;
  is_taken_ = false;
  input_->done();
  frame_.reset();
  if (takes_over_ && goes_on_) finish_move();
  return flush();
}

// All outputs have the frame, or know that a part of it is missing. False: it takes time, or one of them has no room.
bool WorkerNode::take() {
  if (!frame_->is_whole) {
    for (Encoding& output : outputs_) output.give_up(frame_->source_number, DropCause::part_missing);
    return true;
  }
  bool has_room = std::ranges::all_of(outputs_, &Encoding::has_room) && Clock::now() >= made_at_;
  for (FrameOutput& edge : edges_) has_room = has_room && edge.is_ready(frame_->size);
  if (!has_room) return false;
  for (Encoding& output : outputs_) output.push(frame_->times, frame_->source_number, frame_->size);
  for (FrameOutput& edge : edges_) edge.write(frame_->times, frame_->source_number);
  return true;
}

WorkerNode::Turn WorkerNode::turn() {
  if (takes_over_) {
    if (const Turn turn = turn_in_taking_over(); turn != Turn::own) return turn;
  }
  return gives_over_ && gives_away() ? Turn::others : Turn::own;
}

WorkerNode::Turn WorkerNode::turn_in_taking_over() {
  const bool was_live = takes_over_->is_live();
  const TakesOver::Frame frame = takes_over_->look_at(frame_->number, gives_up);
  if (frame == TakesOver::Frame::rehearse) return Turn::rehearsal;
  if (frame == TakesOver::Frame::none) return takes_over_->is_cancelled() ? Turn::others : Turn::undecided;
  if (!std::exchange(has_taken_, true)) comes_to(MoveStep::takes);
  if (!was_live) go_live();
  if (!goes_on_ && waits_to_go_on()) return Turn::undecided;
  if (goes_on_) finish_move();
  return Turn::own;
}

// Only packets can wait in memory; a join's accounts begin where the other one's end.
bool WorkerNode::waits_to_go_on() const {
  return joins_ || !edges_.empty() || std::ranges::any_of(outputs_, &Encoding::waits_to_go_on);
}

// True: the frame, and all that follow, are the other node's.
bool WorkerNode::gives_away() {
  if (gives_over_->is_cancelled()) {
    gives_over_.reset();
    return false;
  }
  const bool leaves =
      gives_over_->leaves(frame_->number, frame_->times.media_time, std::max<std::uint64_t>(frame_->taken, 1));
  comes_to(leaves ? MoveStep::committed : MoveStep::passed);
  return leaves;
}

// Until its encoders are open.
void WorkerNode::rehearse() {
  if (!opened_at_) {
    opened_at_ = Clock::now() + child_.takes(milliseconds(20), milliseconds(700));
    comes_to(MoveStep::rehearses);
  }
  const bool is_open = Clock::now() >= *opened_at_;
  const bool may_get_ready = takes_over_->rehearsed(frame_->times.pts, frame_->taken) && is_open;
  if (!may_get_ready) return;
  if (!is_heeded_ && child_.chance().one_in(not_ready_once_in)) {
    if (takes_over_->cancel()) child_.send(messages::NotReady{id_, "its encoder cannot be opened"});
    return;
  }
  if (!std::exchange(is_heeded_, true)) return;
  takes_over_->get_ready(frame_->newest);
  comes_to(MoveStep::ready);
}

void WorkerNode::set_heed() {
  using Heed = FrameRingReader::Heed;
  if (takes_over_) return input_->set_heed(is_heeded_ ? Heed::awaited : Heed::unheeded);
  const bool gives_over = gives_over_ && !gives_over_->is_cancelled();
  input_->set_heed(gives_over || Clock::now() < catches_up_until_ ? Heed::awaited : Heed::usual);
}

void WorkerNode::go_live() { input_->go_live(takes_over_->boundary().value_or(0)); }

void WorkerNode::finish_move() {
  takes_over_.reset();
  comes_to(MoveStep::gone_on);
  catches_up_until_ = Clock::now() + catching_up;
}

void WorkerNode::leave_frames() {
  leaves_ = true;
  frame_.reset();
  input_->leave();
}

bool WorkerNode::flush() {
  bool all = true;
  for (Encoding& output : outputs_) all = output.flush() && all;
  return all;
}

// No frame comes any more. A move of it is decided first.
bool WorkerNode::may_end() {
  if (gives_over_) {
    gives_over_->cancel();
    if (!gives_over_->is_cancelled()) std::ranges::for_each(outputs_, &Encoding::hand_over);
  }
  if (takes_over_ && !takes_over_->is_cancelled()) {
    const bool was_live = takes_over_->is_live();
    if (!takes_over_->finish(gives_up)) return false;
    if (!was_live) go_live();
    if (!goes_on_) return false;
  }
  if (!flush()) return false;
  const bool all_finished = std::ranges::all_of(outputs_, &Encoding::has_finished);
  return flush() && all_finished;
}

void WorkerNode::end() {
  for (Encoding& output : outputs_) output.close();
  for (FrameOutput& edge : edges_) edge.close();
  done_ = true;
  block_.thread.beat.store(0);
  child_.send(messages::NodeDone{{id_}});
  if (gives_over_) comes_to(MoveStep::done);
}

void WorkerNode::comes_to(MoveStep step) { child_.machine().on_move_step(child_, step); }

}  // namespace campipe::sim
