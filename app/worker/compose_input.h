// What feeds a mosaic's node: at a clock of its own, a frame in which each cell shows the newest frame of its camera,
// or a card that says why there is none. It waits for no camera. Tick k is at first + k / rate; a successor of the
// process goes on with the clock of its predecessor (TickClock). What it is too late for is skipped, and counted.
//
// Where the mosaic goes over to another worker (ipc/hand_over.h), both draw by the same clock; tick k is frame k + 1.
// The one that takes over notes none of them before they are its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/control/messages/node_parts.h"
#include "app/worker/cell_input.h"
#include "app/worker/node_input.h"
#include "app/worker/output_events.h"
#include "ipc/ids.h"
#include "stages/compose/canvas.h"

namespace campipe {

namespace messages {
struct RunNode;
}  // namespace messages
class RigPage;
struct TickClock;

class ComposeInput final : public NodeInput {
 public:
  // `place`: of the node. `clock`: the node's. They outlive it.
  ComposeInput(const messages::RunNode& asked, NodePlace& place, const RigPage& page, TickClock& clock,
               const OutputEvents& events);

  // Main thread: what is known of a cell has changed.
  void show(unsigned cell, const messages::CellState& state);

  void add(EdgeId edge, InputRing ring) override;
  void accuse_writer(EdgeId edge) override;
  void finish(EdgeId /*edge*/) override {}  // the ring shows it
  void finish() override;
  void abandon() override;
  void leave() override { leaves_ = true; }
  void go_live(std::uint64_t number) override;
  void run(FrameTaker& taker) override;
  [[nodiscard]] bool is_abandoned() const override { return abandoned_; }

 private:
  struct NewState {
    unsigned cell;
    messages::CellState state;
  };
  struct NewRing {
    EdgeId edge;
    InputRing ring;
  };
  using News = std::vector<std::variant<NewState, NewRing>>;
  // From the main thread.
  struct Inbox {
    std::mutex mutex;  // of the others
    std::condition_variable changed;
    News news;
    bool finishing = false;
  };
  // What the next tick is, and how many before it it is too late for.
  struct Due {
    std::uint64_t tick;
    DropCause cause;  // of those before it
  };
  using Draw = std::function<FrameRef(std::span<const CellContent>)>;

  Draw make_drawing();
  [[nodiscard]] bool is_going() const;
  bool begin(FrameTaker& taker);
  bool sleep_until(std::int64_t time, FrameTaker& taker);
  void take_news();
  [[nodiscard]] std::int64_t time_of(std::uint64_t tick) const;
  [[nodiscard]] std::int64_t media_time_of(std::uint64_t tick) const;
  [[nodiscard]] std::uint64_t newest_tick() const;
  Due next_tick();
  void note(const Due& due, std::uint64_t ticks);
  void compose(FrameTaker& taker);
  void make(std::uint64_t tick, FrameTaker& taker);
  FrameRef draw(FrameTaker& taker);
  void wait_for_room(const std::string& reason);
  void skip(DropCause cause, std::uint64_t ticks);

  std::string name_;
  double rate_;
  CanvasConfig canvas_;
  NodePlace& place_;
  const RigPage& page_;
  TickClock& clock_;
  messages::TickOrigin origin_;  // of that clock
  std::uint64_t next_ = 0;       // tick
  std::uint64_t noted_ = 0;      // ticks in clock_
  bool rehearses_;               // that is not its own yet
  bool leaves_ = false;
  const OutputEvents& events_;
  std::uint64_t most_late_;  // ticks that are caught up with, as a camera's queue is
  std::list<CellInput> cells_;
  std::vector<CellContent> contents_;
  Draw draw_;
  std::int64_t try_again_ = 0;  // the GPU had no room; monotonic ns, 0: it has
  bool goes_on_ = false;        // with the clock of a predecessor, and has not done so yet

  Inbox inbox_;
  std::atomic<bool> abandoned_{false};
};

}  // namespace campipe
