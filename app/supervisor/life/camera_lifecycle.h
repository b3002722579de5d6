// The room `life` owns how a camera comes, runs, is changed and goes: its states, what processes are sent for it, its
// rings on their way from writer to reader, mosaics' cells, admission, and changes of the configuration. Where a
// camera that runs goes on elsewhere is not its business. The loop, `moving`, `faults` and `cluster` may call it.
//
// What becomes of cameras and their outputs: which state they are in, and what they no longer have when their source,
// a node or the rig ends. A camera ends from its source on: then its nodes, one after another, then the publisher have
// nothing more to do with it.
#pragma once

#include <string>

#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

class CameraLifecycle {
 public:
  CameraLifecycle(RigState& rig, Processes& processes) : rig_(rig), processes_(processes) {}

  // Logs it, unless the output has failed already.
  static void fail(Output& output, const std::string& reason);
  // The camera with all its outputs.
  static void fail(Camera& camera, const std::string& reason);
  // Its other outputs, too, for a reason that has been logged.
  static void fail_others(Camera& camera, const std::string& reason);
  // Its source is not to be opened: nothing of it runs.
  static void leave_out(Camera& camera, const std::string& why);

  // A frame ring or a packet ring has come.
  static void begin(const Camera& camera, Output& output);
  // Nobody waits for frames of outputs that are encoded on demand: they are there as soon as their camera is.
  static void begin_on_demand(Camera& camera);
  void on_source_state(Camera& camera, bool delivers, const std::string& reason);
  // Has its source ended; a mosaic's clock ends.
  void stop(Camera& camera);
  void stop_mosaics();
  // `failure`: empty where it ended as it should.
  void on_source_over(Camera& camera, const std::string& failure);
  void on_decoding_over(Camera& camera, const std::string& failure);
  // Its master has no thread for it any more, and another one will go on.
  static void on_decoding_left(Camera& camera);
  // No further ring of its frames comes to the nodes that it has.
  void end_frames(const Camera& camera) { end_edge(camera, camera.frames()); }
  // Nor packets of what they encode: none of it goes on.
  void end_encoded(Camera& camera);
  // Nothing of it is decoded any more. What is passed on as it comes goes on.
  void give_up_decoding(Camera& camera, const std::string& reason);
  void on_decoding_state(Camera& camera, bool decodes, const std::string& reason);
  // To be called several times a second: cameras that wait until a master or a worker is restarted, or for a node that
  // does a part of theirs, do not run.
  void follow_restarts();
  void on_node_done(Camera& camera, CameraNode& node);
  // What a node makes for other nodes comes no more.
  void on_edge_failed(Camera& camera, CameraEdge& edge, const std::string& reason);
  void on_publisher_done(Output& output);

  void on_source_death();
  void on_master_death(ProcessId master);
  void on_worker_death(ProcessId worker);
  // There is no source any more, and none will be started.
  void give_up_sources();

 private:
  static bool is_needed(const ManagedProcess& process, const Camera& camera);
  void end_packets(Camera& camera, Output& output);
  void end_edge(const Camera& camera, const CameraEdge& edge);
  void on_node_death(Camera& camera, CameraNode& node);
  void on_mosaic_death(const Camera& mosaic, const CameraNode& node);
  static void on_reader_death(CameraEdge& input, NodeId node);
  static void forget_ending_edges(Camera& camera, const CameraNode& writer);

  RigState& rig_;
  Processes& processes_;
};

}  // namespace campipe
