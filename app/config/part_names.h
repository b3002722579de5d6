// What parts of a rig may be called, and how its workers are numbered: for the configuration, the API and commands.
#pragma once

#include <string_view>

namespace campipe {

// Of cameras, mosaics, groups and outputs.
inline constexpr std::string_view name_rule =
    "has 1 to 64 of the characters A-Z, a-z, 0-9, _ and -, and begins with a letter or a digit";

constexpr bool is_part_name(std::string_view name) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  return !name.empty() && name.size() <= 64 && name.front() != '_' && name.front() != '-' &&
         name.find_first_not_of(allowed) == std::string_view::npos;
}

inline constexpr unsigned most_worker = 1'000;  // numbers beyond are none of a worker

}  // namespace campipe
