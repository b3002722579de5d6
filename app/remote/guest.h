// A worker that does work of another node of the cluster (app/remote/relay.h): frames come over a link, its nodes make
// of them what that node's camera asks for, and over another link they go back. The rings between are its own.
#pragma once

namespace campipe {

// The process's main function; see app/control/child.h. Returns the exit status.
int run_guest();

}  // namespace campipe
