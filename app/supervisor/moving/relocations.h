// Cameras that go on elsewhere, decoded by another master and worked on by other nodes, since a GPU is gone or here
// again. Their source, their copies and their files stay as they are: only what lies between the packet rings is ended,
// and made anew.
//
// 1. The master lets go of the camera, or is gone: what it has not published stays in the packet ring.
// 2. The nodes work off what it has published, and are done; those whose worker is gone lose it, and so do, with policy
//    block, those that made frames for them.
// 3. Nothing of it is in flight. It gets its place in the present plan, with other nodes and edges; what the old ones
//    have counted goes over. A new master goes on as after a death, and new encoders begin in the same files.
#pragma once

#include <map>
#include <string>

#include "app/supervisor/life/camera_lifecycle.h"
#include "app/supervisor/life/camera_roster.h"
#include "app/supervisor/life/camera_setup.h"
#include "app/supervisor/life/worker_choice.h"
#include "app/supervisor/moving/moves.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

class Relocations {
 public:
  Relocations(RigState& rig, Processes& processes, CameraLifecycle& lifecycle, CameraSetup& setup, CameraRoster& roster,
              Moves& moves)
      : rig_(rig),
        processes_(processes),
        lifecycle_(lifecycle),
        setup_(setup),
        roster_(roster),
        moves_(moves),
        workers_(rig, processes) {}

  // `stands_in`: the place to prefer, "1" or "cpu"; empty: where plan() says. One that has no source, or has failed,
  // comes anew instead.
  void begin(Camera& camera, const std::string& stands_in);
  // To be called several times a second.
  void follow();

 private:
  using Drops = std::map<OutputId, DropsByCause>;

  void follow(Camera& camera);
  void let_go(const Camera& camera);
  void end_nodes(Camera& camera);
  void give_up_waiting_nodes(Camera& camera);
  void go_on(Camera& camera);
  void settle_all(Camera& camera) const;
  void forget_old(Camera& camera, NodeId first, ProcessId process);
  void place(Camera& camera, const PartIds& ids, const CameraPlan& where);
  void come_anew(Camera& camera);

  RigState& rig_;
  Processes& processes_;
  CameraLifecycle& lifecycle_;
  CameraSetup& setup_;
  CameraRoster& roster_;
  Moves& moves_;
  WorkerChoice workers_;
};

}  // namespace campipe
