#include "app/placement/quarantine.h"

#include <fmt/format.h>

#include "app/config/camera_config.h"
#include "app/placement/plan.h"

namespace campipe {

bool begins_in_quarantine(const CameraConfig& camera) {
  return camera.enabled && may_be_quarantined(camera) && camera.decode_isolation == DecodeIsolation::always;
}

bool may_be_quarantined(const CameraConfig& camera) {
  return !camera.mosaic && !decodes_together(camera) && camera.decode_isolation != DecodeIsolation::never;
}

unsigned free_quarantine(const std::set<unsigned>& taken) {
  unsigned number = 0;
  while (number + 1 < max_quarantines && taken.contains(number)) ++number;
  return number;
}

std::map<std::string, unsigned> first_quarantines(std::span<const CameraConfig> cameras) {
  std::map<std::string, unsigned> numbers;
  std::set<unsigned> taken;
  for (const CameraConfig& camera : cameras) {
    if (begins_in_quarantine(camera)) numbers.emplace(camera.name, *taken.insert(free_quarantine(taken)).first);
  }
  return numbers;
}

std::string quarantine_name(unsigned number) { return fmt::format("master q{}", number); }

}  // namespace campipe
