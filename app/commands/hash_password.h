// campipe hash-password: what a user's `password` in the configuration is.
#pragma once

namespace campipe {

// Asks for the password on the terminal, twice; where standard input is no terminal its first line is taken. Prints
// the hash. Returns the exit status; throws Error.
int run_hash_password();

}  // namespace campipe
