// Asks for a host's address on a thread of its own: the system's lookup cannot be interrupted, and takes longer than
// everything else when no server of names answers.
#pragma once

#include <functional>
#include <string>

namespace campipe {

// False: the name is not known, or `stop`, which is asked every 50 ms, ended the wait. Addresses need no lookup.
bool can_resolve(const std::string& host, const std::function<bool()>& stop);

}  // namespace campipe
