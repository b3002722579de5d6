// The cells of mosaics: which edges bring their cameras' frames, and what a mosaic's node knows of each camera. Cameras
// and mosaics come, change and go without one another: a cell's edge is its camera's, ends with it, and is made anew
// for the camera that comes in its place.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "app/supervisor/life/camera_setup.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

// It is a mosaic, and is to be drawn.
bool runs_as_mosaic(const Camera& camera);
// Frames come from it, or may come.
bool may_be_shown(const Camera& camera);

class MosaicCells {
 public:
  MosaicCells(RigState& rig, Processes& processes, CameraSetup& setup)
      : rig_(rig), processes_(processes), setup_(setup) {}

  // Makes the edges of cells, and what their mosaics know, as the cameras are now. To be called several times a second.
  void follow();
  // The camera's node `from`, which has no thread any more, is replaced by `to`, which writes its cells' edges from now
  // on. Mosaics go on with the frames that they have, until the first one from there comes.
  void go_over(Camera& camera, const CameraNode& from, const CameraNode& to);

  // Of a ring from one of the camera's nodes to that of a mosaic, or to another one of its own.
  [[nodiscard]] RingMemory memory_between(const Camera& camera, const CameraNode& from, const CameraNode& to) const;

 private:
  using CamerasByName = std::map<std::string_view, Camera*>;

  void end_cells_of_others();
  void follow_mosaics();
  void follow(Camera& mosaic, const CamerasByName& cameras);
  CameraEdge* edge_for(Camera& camera, const CellPlace& place);
  CameraEdge& add_edge(Camera& camera, const Camera& mosaic, unsigned cell);
  void end(Camera& camera, CameraEdge& edge);
  void show(Camera& camera);

  RigState& rig_;
  Processes& processes_;
  CameraSetup& setup_;
};

}  // namespace campipe
