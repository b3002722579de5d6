// A worker: filters and encodes the cameras that were given to it, one thread each.
#pragma once

namespace campipe {

// The process's main function; see app/control/child.h. Returns the exit status.
int run_worker();

}  // namespace campipe
