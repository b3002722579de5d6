// A node of a simulated worker, as app/worker/node: takes frames from the rings of its edge, and encodes each of them.
// Its work may go over to a node of another worker, or come from there, by the real TakesOver and GivesOver.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/control/messages/nodes.h"
#include "app/control/messages/run_node.h"
#include "app/worker/gives_over.h"
#include "app/worker/takes_over.h"
#include "ipc/edge_blocks.h"
#include "ipc/frame_ring.h"
#include "ipc/node_block.h"
#include "tests/sim/child.h"
#include "tests/sim/encoding.h"

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
  void add(std::shared_ptr<FrameRingMemory> memory, unsigned seat) { rings_.push_back({std::move(memory), seat}); }
  void finish() { finishes_ = true; }
  void give_over(std::shared_ptr<HandOver> page);
  void go_on(const messages::GoOn& from);
  void shrink(bool half);
  void step();

 private:
  enum class Turn : std::uint8_t { own, rehearsal, others, undecided };

  struct Ring {
    std::shared_ptr<FrameRingMemory> memory;
    unsigned seat = 0;
  };

  bool next_frame();
  bool handle();
  [[nodiscard]] Turn turn();
  [[nodiscard]] Turn turn_in_taking_over();
  bool gives_away();
  void rehearse();
  void comes_to(MoveStep step);
  void set_heed();
  void finish_move();
  void leave_frames();
  bool flush();
  [[nodiscard]] bool may_end();
  void end();

  Child& child_;
  std::string name_;
  NodeId id_;
  NodeBlock& block_;
  EdgeReaderBlock& edge_block_;
  bool blocks_;
  unsigned queue_;
  std::deque<Encoding> outputs_;
  std::deque<Ring> rings_;
  std::optional<FrameRingReader> reader_;  // of the first of them
  std::optional<FrameRingReader::Lease> frame_;
  bool is_own_ = false;    // the frame,
  bool is_taken_ = false;  // and all outputs have it
  Clock::time_point encoded_at_;
  std::unique_ptr<TakesOver> takes_over_;       // until it has gone on
  std::unique_ptr<GivesOver> gives_over_;       // until that is cancelled
  bool has_taken_ = false;                      // a frame, of one that takes over
  std::optional<Clock::time_point> opened_at_;  // its encoders, of one that takes over
  bool is_heeded_ = false;
  bool goes_on_ = false;
  Clock::time_point catches_up_until_{};
  bool leaves_ = false;
  bool finishes_ = false;
  bool done_ = false;
};

}  // namespace campipe::sim
