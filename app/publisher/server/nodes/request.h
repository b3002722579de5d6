// Requests that a node sends to another one's door, as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/publisher/server/access.h"

namespace campipe {

// For whom a node asks. Counts at a node's door only.
inline constexpr const char* node_user_header = "Campipe-User";
inline constexpr const char* node_visitor_header = "Campipe-Visitor";
inline constexpr const char* node_own_header = "Campipe-Node";

using HeaderLine = std::pair<std::string, std::string>;

// `has_users`: of this node. The owner of this rig's token is not known to other nodes: the node asks for itself.
// Throws Error for one who is not known.
HeaderLine header_for(const Identity& identity, bool has_users);

// The line and the headers, up to and with the empty line. Throws Error where a part holds what would end it.
std::string request_head(const std::string& method, const std::string& target, unsigned version,
                         const std::vector<HeaderLine>& headers);

}  // namespace campipe
