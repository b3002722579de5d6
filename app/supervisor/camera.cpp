#include "app/supervisor/camera.h"

#include <algorithm>

namespace campipe {

const char* name_of(CameraState state) {
  switch (state) {
    case CameraState::starting:
      return "starting";
    case CameraState::running:
      return "running";
    case CameraState::waiting:
      return "waiting";
    case CameraState::ended:
      return "ended";
    case CameraState::failed:
      return "failed";
    case CameraState::disabled:
      return "disabled";
  }
  return "";
}

bool Camera::all_failed() const {
  return std::ranges::all_of(outputs, [](const Output& output) { return output.state == CameraState::failed; });
}

bool Camera::all_encoded_failed() const {
  return std::ranges::all_of(
      outputs, [](const Output& output) { return output.is_copy() || output.state == CameraState::failed; });
}

}  // namespace campipe
