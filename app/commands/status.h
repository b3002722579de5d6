// campipe status, and campipe reload.
#pragma once

#include "app/commands/api_client.h"

namespace campipe {

// The rig's status, as the API answers it; tries for ten seconds where there is none yet. Throws Error.
std::string fetch_status(ApiClient& client);

// Print to standard output; return the exit status. Throw Error where nothing answers, or the rig refuses.
int run_status(const ApiAddress& address, bool json);
// 2: the configuration is refused, with the errors of --check on standard error, and nothing has changed.
int run_reload(const ApiAddress& address);

}  // namespace campipe
