// How many descriptors the processes of a rig may have, and need: each ring, file and connection is one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/unique_handle.h"

namespace campipe {

struct CameraConfig;
struct RigConfig;

// Raises this process's limit, which those that it starts inherit, as far as it may without privileges.
void raise_descriptor_limit();
std::size_t descriptor_limit();

// How many connections a server lets in that would take `wanted`: viewers of HTTP and RTSP leave half of the
// descriptors to cameras.
std::size_t most_viewers(std::size_t wanted);

// Descriptors kept back from all that would use up the rest.
class DescriptorReserve {
 public:
  DescriptorReserve() { refill(); }
  void refill();
  void release() { kept_.clear(); }

 private:
  std::vector<UniqueFd> kept_;
};

struct DescriptorNeeds {
  std::string process;  // the one that needs the most
  std::size_t count = 0;
};
// About as many as `rig` uses at its busiest, with as many viewers as are let in.
DescriptorNeeds descriptors_needed(const RigConfig& rig);

// What the supervisor, through which all rings go, needs: for a camera, and for itself and its processes.
std::size_t descriptors_of(const CameraConfig& camera);
std::size_t supervisor_descriptors(std::size_t processes);

// "the publisher needs about 1200 descriptors; the limit is 1024"
std::string describe_descriptors(const DescriptorNeeds& needs, std::size_t limit);

}  // namespace campipe
