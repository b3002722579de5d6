// Which cameras may go over to which workers (moves.h), and why not: for people. Pure functions of what the supervisor
// knows.
#pragma once

#include <optional>
#include <string>

#include "app/supervisor/processes/process.h"
#include "app/supervisor/rig/camera.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

// Each returns the reason; empty: there is none.

// Why there is no node to be moved, or which one is not said. `from`: the worker that it is in; none: the only one.
std::string why_no_node(const Camera& camera, std::optional<unsigned> from);
// Where there is no such reason.
const CameraNode& node_to_move(const Camera& camera, std::optional<unsigned> from);
// Why a node like that is never moved.
std::string never_moved(const Camera& camera, const CameraNode& node);
// Why the worker cannot read the node's frames where they are: of a mosaic's, those of its cells.
std::string why_unreadable(const RigState& rig, const Camera& camera, const CameraNode& node,
                           const ManagedProcess& worker);
// Likewise a camera's, in that memory.
std::string why_unreadable(const RigState& rig, const ManagedProcess& worker, const RingMemory& memory);
// Why nothing of it can be moved just now.
std::string why_not_moved(const RigState& rig, const Camera& camera);
// Why the node, where any can, cannot be moved to that worker.
std::string why_not_moved(const RigState& rig, const Camera& camera, const CameraNode& node,
                          const ManagedProcess& worker);
// Why a move is cancelled when the writer begins with the next ring; `frames`: an edge of it, with the ring before.
std::string why_cancelled_by(const CameraEdge& frames, const FrameRingMemory& next);
// Why one ends whose node has nothing to do any more.
std::string why_it_ends(const RigState& rig, const Camera& camera);

}  // namespace campipe
