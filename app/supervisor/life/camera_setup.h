// What a process has to know of the rig's cameras: sent when it has been started, and when a camera is added.
#pragma once

#include "app/supervisor/life/ring_router.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

class CameraSetup {
 public:
  CameraSetup(RigState& rig, Processes& processes, RingRouter& rings)
      : rig_(rig), processes_(processes), rings_(rings) {}

  // Of all cameras, to one that has just been started.
  void send_all(ManagedProcess& process);
  // Of one that is new, to all that have work with it. One that does not run is started: it had none before.
  void send(Camera& camera);
  // Nothing of it runs, but there may be recordings of it.
  void send_disabled(const Camera& camera);
  // A cell's edge that is new, to its writer. Nodes that had no work before are started.
  void send_edge(Camera& camera, const CameraEdge& edge);
  // Whether a mosaic shows it has changed.
  void send_shown(Camera& camera);
  // It is the master that decodes the camera, or will.
  static void set_master(Camera& camera, const ManagedProcess& master);
  // Another master decodes it from now on, as a successor of the one before, which has no thread for it any more.
  void decode_in(Camera& camera, ManagedProcess& master);
  // A node that is new, to its process. One that does not run is started.
  void send_new_node(Camera& camera, const CameraNode& node);
  // Nothing of it is left.
  void remove_cell_edge(Camera& camera, EdgeId edge);
  // Its ids are free.
  void send_forget(const Camera& camera);

 private:
  void send(ManagedProcess& process, Camera& camera);
  void send_new_work(ManagedProcess& process, Camera& camera);
  void send_to_source(Camera& camera);
  void send_to_master(Camera& camera);
  void send_nodes(const ManagedProcess& process, Camera& camera);
  messages::GroupSeat take_seat(const Camera& camera, const CameraNode& node, Output& output);
  void send_node(Camera& camera, const CameraNode& node);
  void start_nodes(Camera& camera);
  void send_to_publisher(Camera& camera, Output& output);
  [[nodiscard]] ResolvedOutput of_this_node(ResolvedOutput config) const;

  RigState& rig_;
  Processes& processes_;
  RingRouter& rings_;
};

}  // namespace campipe
