// JSON that somebody else wrote, read with a limit to how deeply it is nested: what is read is written, compared and
// copied by recursion, which the stack of a thread must be enough for.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace campipe {

// None of what campipe writes is nested half as deeply.
inline constexpr int deepest_json = 32;

// Why a text is not to be read. The time to find out grows with its size: nlohmann::json::parse() with a callback goes
// through all elements of a list again for each list or object in it.
struct JsonProblem {
  enum class Kind : std::uint8_t { none, no_json, too_deep, duplicate_key };
  Kind kind = Kind::none;
  std::string key = {};  // that an object has twice
};
enum class JsonKeys : std::uint8_t { any, unique };  // parse() takes the last of those that are there twice
JsonProblem find_json_problem(std::string_view text, int deepest, JsonKeys keys = JsonKeys::any);

// Discarded (`is_discarded()`), which is of no type: it is no JSON, or is nested more deeply.
nlohmann::json parse_shallow(std::string_view text, int deepest = deepest_json);

}  // namespace campipe
