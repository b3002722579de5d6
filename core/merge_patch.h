// What turns one JSON object into another one, as RFC 7396 has it; nlohmann::json::merge_patch() applies it.
#pragma once

#include <nlohmann/json.hpp>

namespace campipe {

// Both are objects. In `to` no object that is reached through objects alone has a null: to such a patch that means
// nothing. Empty: they are equal. A list that differs is there as a whole.
nlohmann::json merge_patch_between(const nlohmann::json& from, const nlohmann::json& to);

}  // namespace campipe
