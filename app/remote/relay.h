// A worker whose work another node of the cluster does (`placement: {filter: node-b/0}`): to the supervisor it is one
// like any other. Frames of the edges that its nodes read go over a link to a guest there (app/remote/guest.h), and
// what that makes of them comes back over another link, into rings of the edges that its nodes write.
#pragma once

namespace campipe {

// The process's main function; see app/control/child.h. Returns the exit status.
int run_relay();

}  // namespace campipe
