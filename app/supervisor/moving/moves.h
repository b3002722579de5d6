// The room `moving` owns changes of place: cameras, mosaics and parts that go over to another worker, cameras that go
// on with another master, the rules for both, and the supervisor's own reasons: balance, and shedding where no move
// helps. The loop and `faults` may call it.
//
// Cameras whose work goes over from one worker to another while they run, without losing a frame.
//
// The camera has a second node in the other worker, which reads the same frames, until both have agreed by a page of
// their own (ipc/hand_over.h) at which frame the work goes over. When the first node has encoded what came before, and
// is done, its counters, outputs and place are the second one's. Until then the first one goes on as if nothing had
// been whenever something goes wrong: the other node cannot get ready, dies, or takes too long; the frame ring is
// replaced; an output fails. When the first one's process dies, the second one takes over, if it is ready.
//
// A mosaic goes over in the same way: its frames are the ticks of its clock, and both nodes read all cells' edges. So
// does one of several nodes of a camera by stage or by tile: what it makes for the next one, and for mosaics, the
// second one makes once the first one is done. Where the other worker cannot read the memory of the GPU that decodes a
// camera with one node, its frames come through host memory from the next key frame on, and it goes over then; they
// come in the GPU's again when it is where that can be read.
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/supervisor/life/camera_setup.h"
#include "app/supervisor/life/mosaic_cells.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

namespace messages {
struct Answer;
struct GoOn;
struct MoveCamera;
}  // namespace messages

class Moves {
 public:
  // To who asked; `request` as in messages::MoveCamera.
  using Answerer = std::function<void(pid_t asker, std::uint64_t request, const messages::Answer& answer)>;

  Moves(RigState& rig, Processes& processes, CameraSetup& setup, MosaicCells& cells, Answerer answer)
      : rig_(rig), processes_(processes), setup_(setup), cells_(cells), answer_(std::move(answer)) {}

  // The answer follows, maybe at once.
  void begin(const messages::MoveCamera& asked, pid_t asker);
  // For a reason of the supervisor's own. Returns why not; empty: it has begun.
  std::string begin(Camera& camera, unsigned worker, const std::string& reason);
  // To be called several times a second: those that take too long are cancelled.
  void follow();
  // What it began does not come about, unless it has: the camera stays where it is.
  void cancel(Camera& camera, const std::string& why);
  // True: the camera goes on without that node, which is not there any more.
  bool on_node_done(Camera& camera, const CameraNode& node);
  // Before anything else is done about it.
  void on_worker_death(unsigned worker);
  // No process runs any more.
  void end_all();

 private:
  // Its frames are to come in other memory first.
  struct Waiting {
    std::string name;  // the camera's
    CameraMove move;
    std::uint64_t epoch = 0;  // of the ring before
  };

  // What a part of a camera makes is about to come to the part behind it: who asked has the answer then, so that the
  // next move can follow at once.
  struct Arriving {
    std::string name;
    CameraMove move;
    std::vector<EdgeId> edges;
    std::uint64_t epochs = 0;  // that these have had together
    Clock::time_point begun = Clock::now();
  };

  void begin(Camera& camera, CameraMove move);
  void start(Camera& camera, CameraMove& move);
  void begin_in_host_memory(Camera& camera, CameraMove move);
  static bool has_ring_in_host_memory(const Camera& camera);
  void take_frames_in(Camera& camera, const RingMemory& memory);
  void take_frames_where_they_were(Camera& camera);
  void follow_waiting();
  void follow_arriving();
  void end_cancelled(Camera& camera);
  static void keep_counts(const CameraMove& move, CameraEdge& edge);
  void give_up(Camera& camera, CameraMove& move, const std::string& why);
  [[nodiscard]] std::string refusal(const Camera& camera, unsigned worker, std::optional<unsigned> from = {}) const;
  template <typename Do>
  void for_each_input(Camera& camera, const CameraNode& node, const Do& act);
  void on_death_of_old(Camera& camera);
  void on_death_of_new(Camera& camera);
  void complete(Camera& camera);
  void correct_recalled(Camera& camera, const CameraNode& from);
  void take_edges(Camera& camera, const CameraMove& move, messages::GoOn& go_on);
  static void require_readers(Camera& camera);
  void drop_new_node(Camera& camera);
  void remove_node(Camera& camera, NodeId node, unsigned worker);
  void note_cancelled(Camera& camera, const std::string& why);
  void answer(CameraMove& move, const messages::Answer& answer);

  RigState& rig_;
  Processes& processes_;
  CameraSetup& setup_;
  MosaicCells& cells_;
  Answerer answer_;
  std::map<CameraId, Waiting> waiting_;
  std::list<Arriving> arriving_;
};

}  // namespace campipe
