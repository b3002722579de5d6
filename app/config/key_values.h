// What the kinds of values of app/config/key.h are: how each is read, documented and put into a schema.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "app/config/names.h"
#include "app/config/reader.h"
#include "app/config/units.h"
#include "app/config/values.h"

namespace campipe {

// Of a key without any other: what it may be stands in names.h.
template <typename T>
struct ChoiceKey {};

template <typename T>
struct ValueIn {
  using Type = T;
  static constexpr bool is_optional = false;
};
template <typename T>
struct ValueIn<std::optional<T>> {
  using Type = T;
  static constexpr bool is_optional = true;
};

std::string code(std::string_view text);  // in Markdown

template <typename T>
std::vector<std::string_view> choice_names() {
  using Value = typename ValueIn<T>::Type;
  std::vector<std::string_view> names;
  if constexpr (ValueIn<T>::is_optional) names.emplace_back("auto");
  for (const auto& choice : choices<Value>) names.push_back(choice.name);
  return names;
}

template <typename T>
std::string type_text(const ChoiceKey<T>&) {
  return std::is_same_v<T, bool> ? "boolean" : "choice";
}
std::string type_text(const IntegerKey& values);
std::string type_text(const NumberKey& values);
std::string type_text(const DurationKey& values);
template <typename T>
std::string type_text(const ParsedKey<T>& values) {
  return std::string(values.type);
}

std::string range_of_choices(const std::vector<std::string_view>& names);
std::string range_in_schema(std::string_view schema);
template <typename T>
std::string range_text(const ChoiceKey<T>&) {
  return range_of_choices(choice_names<T>());
}
std::string range_text(const IntegerKey& values);
std::string range_text(const NumberKey& values);
std::string range_text(const DurationKey& values);
template <typename T>
std::string range_text(const ParsedKey<T>& values) {
  return range_in_schema(values.schema);
}

// As nlohmann::json writes it.
std::string schema_of_boolean();
std::string schema_of_choices(const std::vector<std::string_view>& names);
std::string compact_schema(std::string_view schema);
template <typename T>
std::string schema_text(const ChoiceKey<T>&) {
  return std::is_same_v<T, bool> ? schema_of_boolean() : schema_of_choices(choice_names<T>());
}
std::string schema_text(const IntegerKey& values);
std::string schema_text(const NumberKey& values);
std::string schema_text(const DurationKey& values);
template <typename T>
std::string schema_text(const ParsedKey<T>& values) {
  return compact_schema(values.schema);
}

template <typename T>
std::string fallback_text(const T& value, bool may_be_auto) {
  if constexpr (ValueIn<T>::is_optional) {
    return may_be_auto || std::is_enum_v<typename T::value_type> ? "`auto`" : "none";
  } else if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T>) {
    return code(choice_name(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return may_be_auto && value == 0 ? "`auto`" : number_text(static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, std::chrono::nanoseconds>) {
    return value.count() == 0 ? "0" : time_text(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return code(value);
  } else if constexpr (std::is_same_v<T, Gop>) {
    return std::visit([](const auto& gop) { return fallback_text(gop, false); }, value);
  } else {
    return "none";
  }
}

template <typename T>
std::optional<T> read_value(const ChoiceKey<T>&, const YamlNode& node, Report& report) {
  if constexpr (ValueIn<T>::is_optional) {
    return read_choice_or_auto<typename ValueIn<T>::Type>(node, report);
  } else {
    return read_choice<T>(node, report);
  }
}
template <typename T>
std::optional<T> read_value(const IntegerKey& values, const YamlNode& node, Report& report) {
  if (!values.may_be_auto) return read_int(node, values.min, values.max, report);
  const auto number = read_int_or_auto(node, values.min, values.max, 0, report);
  if (number == 0) return T();
  return number;
}
template <typename T>
std::optional<T> read_value(const NumberKey& values, const YamlNode& node, Report& report) {
  return read_number(node, {.min = values.min, .max = values.max, .whole = false}, report);
}
template <typename T>
std::optional<T> read_value(const DurationKey& values, const YamlNode& node, Report& report) {
  return read_time(node, values, report);
}
template <typename T, typename Value>
std::optional<T> read_value(const ParsedKey<Value>& values, const YamlNode& node, Report& report) {
  return values.read(node, report);
}

}  // namespace campipe
