// A choice of a configuration and the names of what it may be; YAML and JSON use the same. Names of enumerations that
// have a header of their own stand there, those of all others in app/config/names.h.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace campipe {

template <typename T>
struct Choice {
  std::string_view name;
  T value;
};

template <typename T>
inline constexpr auto choices = nullptr;  // specialised for every enumeration that a file can name
template <>
inline constexpr std::array choices<bool>{Choice<bool>{"true", true}, Choice<bool>{"false", false}};

template <typename T>
constexpr std::optional<T> find_choice(std::string_view name) {
  for (const auto& choice : choices<T>) {
    if (choice.name == name) return choice.value;
  }
  return std::nullopt;
}

template <typename T>
constexpr std::string_view choice_name(T value) {
  for (const auto& choice : choices<T>) {
    if (choice.value == value) return choice.name;
  }
  return {};
}

}  // namespace campipe
