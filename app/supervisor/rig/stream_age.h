// How far what leaves the rig is behind its source.
#pragma once

#include <chrono>
#include <optional>

#include "app/supervisor/rig/camera.h"

namespace campipe {

class RigPage;

// More than this is worth a word; a stream that keeps up is some tenths of a second behind.
inline constexpr auto noticeably_behind = std::chrono::seconds(3);

// Of an output's newest frame: by how much later than usual its packet came (a file's, that is read in real time: later
// than its turn), and how long it took from there until it was encoded or passed on. While its camera's queue is full,
// the time counts, too, that has passed since. Nothing as long as there is none, or where frames do not come.
struct StreamAge {
  std::chrono::nanoseconds source{0};
  std::chrono::nanoseconds rig{0};
  [[nodiscard]] std::chrono::nanoseconds total() const { return source + rig; }
};
std::optional<StreamAge> age_of(const Camera& camera, const Output& output, const RigPage& page);

// How far the rig itself has fallen behind with the camera's own stream. What the network holds up is not its fault; a
// file, that waits for nobody else, is late because of it alone.
std::chrono::nanoseconds fallen_behind(const Camera& camera, const RigPage& page);

}  // namespace campipe
