// What feeds a simulated mosaic's node, as app/worker/compose_input: a frame at each tick of its clock, in which each
// cell, the real CellInput, shows the newest frame of its camera. Nothing waits here.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "app/worker/cell_input.h"
#include "ipc/node_block.h"
#include "tests/sim/child.h"
#include "tests/sim/node_input.h"

namespace campipe::sim {

class MosaicInput final : public NodeInput {
 public:
  MosaicInput(Child& child, const messages::RunNode& asked);

  void show(unsigned cell, const messages::CellState& state) override;
  void add(EdgeId edge, std::shared_ptr<FrameRingMemory> memory, unsigned seat) override;
  void finish(EdgeId) override {}  // the ring shows it
  void finish_all() override { finishes_ = true; }
  void set_heed(FrameRingReader::Heed) override {}
  std::optional<Frame> next() override;
  void become_own() override;
  void go_live(std::uint64_t number) override;
  void done() override { frame_.reset(); }
  [[nodiscard]] bool is_over() const override { return !frame_ && (finishes_ || leaves_); }
  void leave() override;

 private:
  bool begin();
  bool join_in();
  void look_at_cells();
  void take_tick();
  void note(std::uint64_t tick, std::uint64_t ticks);
  [[nodiscard]] std::int64_t time_of(std::uint64_t tick) const;
  [[nodiscard]] FrameTimes times_of(std::uint64_t tick) const;
  [[nodiscard]] std::uint64_t ticks_in(std::int64_t time) const;

  Child& child_;
  std::string name_;
  double rate_;
  std::uint64_t most_late_;  // ticks that are caught up with
  TickClock& clock_;
  NodePlace place_;
  std::vector<std::string> cameras_;  // of the cells
  std::deque<CellInput> cells_;
  messages::TickOrigin origin_;
  bool rehearses_;  // of the clock of another node, that is not its own yet
  std::optional<std::int64_t> settles_by_;
  bool begun_ = false;
  bool goes_on_ = false;     // with the clock of a predecessor, and has not done so yet
  std::uint64_t next_ = 0;   // tick
  std::uint64_t noted_ = 0;  // ticks in clock_
  std::optional<Frame> frame_;
  DropCause skipped_{};  // why ticks before it are
  bool finishes_ = false;
  bool leaves_ = false;
};

}  // namespace campipe::sim
