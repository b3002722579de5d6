#include "tests/sim/worker_node.h"

#include <algorithm>
#include <utility>

#include "app/control/messages/from_worker.h"
#include "ipc/accusation.h"
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
      edge_block_(child.page().edge_reader(asked.inputs.at(0), child.id())),
      blocks_(asked.drop_policy == DropPolicy::block),
      queue_(asked.queue_size) {
  for (const messages::EncodedOutput& output : asked.outputs) {
    const auto page = group_pages.extract(output.output);
    outputs_.emplace_back(child, output, page.empty() ? nullptr : page.mapped());
  }
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
    if (found != outputs_.end()) found->go_on(output);
  }
  goes_on_ = true;
  child_.machine().world().reached(from.died ? "a move is over by a death" : "a move is over");
}

void WorkerNode::shrink(bool half) {
  for (Encoding& output : outputs_) output.shrink(half);
}

void WorkerNode::step() {
  if (done_) return;
  block_.thread.beat.store(now_ns());
  if (!flush()) return;
  for (unsigned i = 0; i < frames_a_step && !leaves_; ++i) {
    if (!frame_ && !next_frame()) break;
    if (!handle()) return;
  }
  if (takes_over_ && takes_over_->is_cancelled()) leave_frames();
  if (!frame_ && !leaves_) std::ranges::for_each(outputs_, &Encoding::follow);
  const bool is_over = leaves_ || (!frame_ && !reader_ && rings_.empty() && finishes_);
  if (is_over && may_end()) end();
}

bool WorkerNode::next_frame() {
  if (!reader_) {
    if (rings_.empty()) return false;
    reader_.emplace(rings_.front().memory, rings_.front().seat, nanoseconds(0));
    set_heed();
    reader_->attach(blocks_, queue_);
  }
  set_heed();
  FrameRingReader::Lease lease;
  switch (reader_->next(lease, Clock::now())) {
    case FrameRingReader::Next::frame:
      edge_block_.queue.record(now_ns() - lease.times.published);
      frame_ = std::move(lease);
      is_own_ = false;
      encoded_at_ = Clock::now() + child_.takes(milliseconds(1), milliseconds(12));
      block_.thread.cpu_time.fetch_add(cpu_of_frame.count());
      return true;
    case FrameRingReader::Next::timeout:
      return false;
    case FrameRingReader::Next::broken:
      accuse(edge_block_.accusation, Accused::other_end);
      break;
    default:
      break;
  }
  reader_.reset();
  rings_.pop_front();
  return false;
}

// False: it is not done with the frame yet.
bool WorkerNode::handle() {
  if (!is_own_) {
    switch (turn()) {
      case Turn::own:
        is_own_ = true;
        break;
      case Turn::rehearsal:
        if (Clock::now() < encoded_at_) return false;
        rehearse();
        frame_.reset();
        return true;
      case Turn::others:
        leave_frames();
        return true;
      case Turn::undecided:
        return false;
    }
  }
  if (!is_taken_) {
    const bool may_push = std::ranges::all_of(outputs_, &Encoding::has_room);
    if (Clock::now() < encoded_at_ || !may_push) return false;
    for (Encoding& output : outputs_) output.push(frame_->times, frame_->number);
    is_taken_ = true;
  }
  if (!std::ranges::all_of(outputs_, &Encoding::is_done_with_frame)) return false;
  is_taken_ = false;
  frame_.reset();
  if (takes_over_ && goes_on_) finish_move();
  return flush();
}

WorkerNode::Turn WorkerNode::turn() {
  if (takes_over_) {
    if (const Turn turn = turn_in_taking_over(); turn != Turn::own) return turn;
  }
  return gives_over_ && gives_away() ? Turn::others : Turn::own;
}

WorkerNode::Turn WorkerNode::turn_in_taking_over() {
  const TakesOver::Frame frame = takes_over_->look_at(frame_->number, gives_up);
  if (frame == TakesOver::Frame::rehearse) return Turn::rehearsal;
  if (frame == TakesOver::Frame::none) return takes_over_->is_cancelled() ? Turn::others : Turn::undecided;
  if (!std::exchange(has_taken_, true)) comes_to(MoveStep::takes);
  if (!goes_on_ && std::ranges::any_of(outputs_, &Encoding::waits_to_go_on)) return Turn::undecided;
  if (goes_on_) finish_move();
  return Turn::own;
}

// True: the frame, and all that follow, are the other node's.
bool WorkerNode::gives_away() {
  if (gives_over_->is_cancelled()) {
    gives_over_.reset();
    return false;
  }
  const bool leaves =
      gives_over_->leaves(frame_->number, frame_->times.media_time, std::max<std::uint64_t>(reader_->taken(), 1));
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
  const bool may_get_ready = takes_over_->rehearsed(frame_->times.pts, reader_->taken()) && is_open;
  if (!may_get_ready) return;
  if (!is_heeded_ && child_.chance().one_in(not_ready_once_in)) {
    if (takes_over_->cancel()) child_.send(messages::NotReady{id_, "its encoder cannot be opened"});
    return;
  }
  if (!std::exchange(is_heeded_, true)) return;
  takes_over_->get_ready(FrameRingObserver(rings_.front().memory).published());
  comes_to(MoveStep::ready);
}

void WorkerNode::set_heed() {
  using Heed = FrameRingReader::Heed;
  if (takes_over_) return reader_->set_heed(is_heeded_ ? Heed::awaited : Heed::unheeded);
  const bool gives_over = gives_over_ && !gives_over_->is_cancelled();
  reader_->set_heed(gives_over || Clock::now() < catches_up_until_ ? Heed::awaited : Heed::usual);
}

void WorkerNode::finish_move() {
  takes_over_.reset();
  comes_to(MoveStep::gone_on);
  catches_up_until_ = Clock::now() + catching_up;
}

void WorkerNode::leave_frames() {
  leaves_ = true;
  frame_.reset();
  if (reader_) reader_->leave();
  reader_.reset();
  rings_.clear();
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
  if (takes_over_ && !takes_over_->is_cancelled() && (!takes_over_->finish(gives_up) || !goes_on_)) return false;
  if (!flush()) return false;
  const bool all_finished = std::ranges::all_of(outputs_, &Encoding::has_finished);
  return flush() && all_finished;
}

void WorkerNode::end() {
  for (Encoding& output : outputs_) output.close();
  done_ = true;
  block_.thread.beat.store(0);
  child_.send(messages::NodeDone{{id_}});
  if (gives_over_) comes_to(MoveStep::done);
}

void WorkerNode::comes_to(MoveStep step) { child_.machine().on_move_step(child_, step); }

}  // namespace campipe::sim
