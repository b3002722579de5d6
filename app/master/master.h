// The master: opens and decodes every camera of the rig, one ingest thread each.
#pragma once

namespace campipe {

// The process's main function; see app/control/child.h. Returns the exit status.
int run_master();

}  // namespace campipe
