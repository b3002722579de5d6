// The publisher: takes the encoded packets of every camera and writes the recordings, one thread each.
#pragma once

namespace campipe {

// The process's main function; see app/control/child.h. Returns the exit status.
int run_publisher();

}  // namespace campipe
