// campipe move.
#pragma once

#include <string>

#include "app/commands/api_client.h"

namespace campipe {

// Waits until it is done. Prints to standard output; returns the exit status. Throws Error where nothing answers, or
// the rig refuses.
int run_move(const ApiAddress& address, const std::string& camera, unsigned worker);

}  // namespace campipe
