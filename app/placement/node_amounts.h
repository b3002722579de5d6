// What a machine has, and what each camera takes of it, as amounts by resource: with these the elected node of a
// cluster (docs/cluster.md) decides which node gets which camera. Pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/placement/rig_needs.h"

namespace campipe {

// "cores", "memory", "GPU time" … in units that all machines share.
using NodeAmounts = std::map<std::string, double>;

// As much as a rig may use of it. What is estimated counts twice, as in admission.
NodeAmounts node_capacity(const Machine& machine, const MachineCosts& costs);

// What one more camera of the kind takes, by this machine's costs, in each of the ways in which it can run: as it would
// run here, and, where it may be on any device, on cores alone. None: it cannot be placed on this machine. A stream
// that is not known counts as 1080p. `loaded`: the rig, with that camera first, and of a mosaic with what it shows.
std::vector<NodeAmounts> camera_ways(const LoadedConfig& loaded, const Machine& machine, const MachineCosts& costs,
                                     const KnownStreams& streams);

}  // namespace campipe
