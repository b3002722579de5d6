// The source: connects to every camera of the rig and reads it, one ingest thread each. What it reads goes on in packet
// rings, to the master, which decodes it, and as it came to the publisher.
#pragma once

namespace campipe {

// The process's main function; see app/control/child.h. Returns the exit status.
int run_source();

}  // namespace campipe
