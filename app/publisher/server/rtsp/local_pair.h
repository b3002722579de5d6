// Two ends of one connection within this process, as a network's: GStreamer takes no others.
#pragma once

#include <optional>
#include <utility>

#include "core/unique_handle.h"

namespace campipe {

// Both do not block. Nothing: there are no descriptors, or no loopback.
std::optional<std::pair<UniqueFd, UniqueFd>> local_pair();

}  // namespace campipe
