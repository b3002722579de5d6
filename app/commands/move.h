// campipe move.
#pragma once

#include <optional>
#include <string>

#include "app/commands/api_client.h"

namespace campipe {

// `from`: as messages::MoveCamera has it. Waits until it is done. Prints to standard output; returns the exit status.
// Throws Error where nothing answers, or the rig refuses.
int run_move(const ApiAddress& address, const std::string& camera, unsigned worker, std::optional<unsigned> from);

}  // namespace campipe
