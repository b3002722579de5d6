// Reading a value of etcd field by field: each that is known is taken out, so that what is left is what this version
// does not know, and keeps when it writes the value again.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/shallow_json.h"

namespace campipe {

// Takes a field out of an object, if it is there. False: it is of another type, or out of its type's range.
template <typename T>
bool take(nlohmann::json& from, const char* key, T& value) {
  const auto found = from.find(key);
  if (found == from.end()) return true;
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    const bool fits = found->is_number_unsigned()  ? std::in_range<T>(found->template get<std::uint64_t>())
                      : found->is_number_integer() ? std::in_range<T>(found->template get<std::int64_t>())
                                                   : false;
    if (!fits) return false;
  }
  try {
    value = found->template get<T>();
  } catch (const nlohmann::json::exception&) {
    return false;
  }
  from.erase(found);
  return true;
}

// Of a value (parse_shallow()): it is an object, and of a schema that this version can read.
inline bool take_schema(nlohmann::json& from) {
  int schema = 0;
  return from.is_object() && take(from, "schema", schema) && schema == 1;
}

}  // namespace campipe
