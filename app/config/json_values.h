// Values of a configuration as JSON, for the processes of the rig. Both ends are of one build: what does not fit is a
// mistake of ours, and an Error.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/config/names.h"
#include "core/error.h"

namespace campipe {

template <typename T>
nlohmann::json optional_to_json(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

template <typename T>
std::optional<T> optional_from_json(const nlohmann::json& from) {
  return from.is_null() ? std::nullopt : std::optional<T>(from.get<T>());
}

template <typename T>
T choice_from_json(const nlohmann::json& from) {
  const auto value = find_choice<T>(from.get<std::string>());
  if (!value) throw Error("unknown choice '" + from.get<std::string>() + "'");
  return *value;
}

}  // namespace campipe
