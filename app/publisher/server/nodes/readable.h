// What another node says of its cameras, as far as it can be shown. It is of another version, perhaps, or is no campipe
// at all: one camera that is not what the API describes must not make an answer with all of them fail.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace campipe {

// Returns the cameras and the time of `status`, which `node` sent, with texts of 1 KiB at most. A camera becomes
// "unreachable" where a member has another type than the API's description says; its reason names the node and the
// member. A graph of another type is left out. Members that the description does not have are kept; missing ones are
// not looked for.
nlohmann::json readable_status(nlohmann::json status, const std::string& node);

}  // namespace campipe
