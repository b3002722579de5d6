// campipe make-token: what a user's `token` in the configuration is.
#pragma once

namespace campipe {

// Prints a new token, as the end of an address, and its hash. Returns the exit status; throws Error.
int run_make_token();

}  // namespace campipe
