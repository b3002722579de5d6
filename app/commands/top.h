// campipe top: a rig on the terminal, as it goes.
#pragma once

#include "app/commands/api_client.h"

namespace campipe {

// Until the user leaves; returns the exit status. Throws Error where nothing answers at first, or the rig refuses;
// later that is shown, and tried again every second. Signals end the process as they always do, with the terminal as it
// was.
int run_top(const ApiAddress& address);

}  // namespace campipe
