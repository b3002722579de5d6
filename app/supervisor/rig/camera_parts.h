// What a camera consists of where it is to run: its nodes, the edges between them, and its outputs' places.
#pragma once

#include <string>
#include <vector>

#include "app/placement/plan.h"
#include "app/supervisor/rig/camera.h"

namespace campipe {

// A node for each of the plan's, and an edge that each of them writes, but for the last one, which encodes: the next
// one reads it; of a tile, the last one. The first edge is the source's: it is made where there is none yet. A mosaic's
// node has cells.
void add_nodes(Camera& camera, const std::vector<NodeId>& nodes, const std::vector<EdgeId>& edges,
               const CameraPlan& where, const Devices& devices);
// Who encodes the output, with what, and where. `config`: as it is run.
void place_output(Output& output, const ResolvedOutput& config, const std::vector<NodeId>& nodes,
                  const CameraPlan& where, const Devices& devices);
// "GPU 1", "the CPU": of its own stream.
std::string name_of_place(const Camera& camera);

}  // namespace campipe
