// JSON that somebody else wrote, read with a limit to how deeply it is nested: what is read is written, compared and
// copied by recursion, which the stack of a thread must be enough for.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace campipe {

// None of what campipe writes is nested half as deeply.
inline constexpr int deepest_json = 32;

// Discarded (`is_discarded()`), which is of no type: it is no JSON, or is nested more deeply.
nlohmann::json parse_shallow(std::string_view text, int deepest = deepest_json);

}  // namespace campipe
