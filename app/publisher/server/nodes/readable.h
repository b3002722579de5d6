// What another node says of its cameras, as far as it can be shown. It is of another version, perhaps, or is no campipe
// at all: one camera that is not what the API describes must not make an answer with all of them fail.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace campipe {

// Of a status: its cameras and its time, with texts of 1 KiB at most. A camera whose members are not of the types that
// the API's description gives to those names is "unreachable", and its reason names the node and the member; a graph
// alone is left out. Members that are not described are kept, and those that are missing are none of its business.
nlohmann::json readable_status(nlohmann::json status, const std::string& node);

}  // namespace campipe
