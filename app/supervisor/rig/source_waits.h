// Frames that wait for a camera's nodes, and those for which there was no room to wait.
#pragma once

#include <cstdint>

#include "app/supervisor/rig/camera.h"

namespace campipe {

// In the fullest queue before its first nodes. While one is taken back, one more may lie there for a moment.
unsigned waiting_frames(const Camera& camera);
// That is full just now, and the source waits for room in it, which it should not have to.
bool source_waits(const Camera& camera);
// Frames wait for it there in that case, and are not dropped.
bool may_wait(const Camera& camera);
// A worker does not keep up: its queue was full for more than one in twenty of the frames that came.
constexpr bool is_overload(std::uint64_t queue_full, std::uint64_t came) { return queue_full * 20 > came; }

}  // namespace campipe
