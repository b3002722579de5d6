// The master: decodes every camera of the rig, one thread each.
#pragma once

namespace campipe {

// The process's main function; see app/control/child.h. Returns the exit status.
int run_master();

}  // namespace campipe
