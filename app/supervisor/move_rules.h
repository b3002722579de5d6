// Which cameras may go over to which workers (moves.h), and why not: for people. Pure functions of what the supervisor
// knows.
#pragma once

#include <string>

#include "app/supervisor/camera.h"
#include "app/supervisor/process.h"
#include "app/supervisor/rig_state.h"

namespace campipe {

// Each returns the reason; empty: there is none.

// Why a camera of its kind is never moved.
std::string never_moved(const Camera& camera);
// Why the worker cannot read the camera's frames where they are, or, of a mosaic, those of its cells.
std::string why_unreadable(const RigState& rig, const Camera& camera, const ManagedProcess& worker);
// Likewise a camera's, in that memory.
std::string why_unreadable(const RigState& rig, const ManagedProcess& worker, const RingMemory& memory);
// Why it cannot be moved to that worker just now.
std::string why_not_moved(const RigState& rig, const Camera& camera, const ManagedProcess& worker);
// Why a move is cancelled when the master begins with the next ring; `frames`: the camera's, with the ring before.
std::string why_cancelled_by(const CameraEdge& frames, const FrameRingMemory& next);
// Why one ends whose node has nothing to do any more.
std::string why_it_ends(const RigState& rig, const Camera& camera);

}  // namespace campipe
