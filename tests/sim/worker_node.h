// A node of a simulated worker, as app/worker/node: takes frames from its input, encodes each of them, and makes frames
// of it for other nodes. Its work may go over to a node of another worker, or come from there, by the real TakesOver
// and GivesOver.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/control/messages/nodes.h"
#include "app/control/messages/run_node.h"
#include "app/worker/gives_over.h"
#include "app/worker/takes_over.h"
#include "ipc/node_block.h"
#include "tests/sim/child.h"
#include "tests/sim/encoding.h"
#include "tests/sim/frame_output.h"
#include "tests/sim/node_input.h"

namespace campipe::sim {

class WorkerNode {
 public:
  using GroupPages = std::map<OutputId, std::shared_ptr<GroupPage>>;

  // `takes_over`: null where its frames are its own from the first on.
  // `group_pages`: of outputs in groups.
  WorkerNode(Child& child, const messages::RunNode& asked, std::shared_ptr<HandOver> takes_over,
             GroupPages& group_pages);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_done() const { return done_; }
  [[nodiscard]] const std::deque<Encoding>& outputs() const { return outputs_; }
  NodeInput& input() { return *input_; }
  void give_over(std::shared_ptr<HandOver> page);
  void go_on(const messages::GoOn& from);
  void shrink(bool half);
  void renew(EdgeId edge);
  void write(const messages::WrittenEdge& edge) { edges_.emplace_back(child_, edge); }
  void stop(EdgeId edge);
  // It ends now, and waits for nothing any more.
  void abandon();
  void step();

 private:
  enum class Turn : std::uint8_t { own, rehearsal, others, undecided };

  bool next_frame();
  bool handle();
  [[nodiscard]] Turn turn();
  [[nodiscard]] Turn turn_in_taking_over();
  bool gives_away();
  bool take();
  [[nodiscard]] bool waits_to_go_on() const;
  void rehearse();
  void comes_to(MoveStep step);
  void set_heed();
  void go_live();
  void finish_move();
  void leave_frames();
  bool flush();
  [[nodiscard]] bool may_end();
  void end();

  Child& child_;
  std::string name_;
  NodeId id_;
  NodeBlock& block_;
  bool joins_;
  std::unique_ptr<NodeInput> input_;
  std::deque<Encoding> outputs_;
  std::list<FrameOutput> edges_;
  std::optional<NodeInput::Frame> frame_;
  bool is_own_ = false;    // the frame,
  bool is_taken_ = false;  // and all outputs have it
  Clock::time_point made_at_;
  std::unique_ptr<TakesOver> takes_over_;       // until it has gone on
  std::unique_ptr<GivesOver> gives_over_;       // until that is cancelled
  bool has_taken_ = false;                      // a frame, of one that takes over
  std::optional<Clock::time_point> opened_at_;  // its encoders, of one that takes over
  bool is_heeded_ = false;
  bool goes_on_ = false;
  Clock::time_point catches_up_until_{};
  bool leaves_ = false;
  bool done_ = false;
};

}  // namespace campipe::sim
