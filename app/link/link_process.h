// The process of a node that has the ends of its links to other nodes, `campipe link`: one thread for each end. What an
// end sends comes from a ring that the supervisor gives it a seat in; what it receives goes into rings of its own,
// which the supervisor passes on. Where the process dies, its successor goes on with the same links.
#pragma once

namespace campipe {

inline constexpr const char* link_role = "link";
// The whole life of the process: its exit status.
int run_link();

}  // namespace campipe
