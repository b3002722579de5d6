// What the kinds of values of app/config/key.h are: how each is read, documented and put into a schema.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "app/config/names.h"
#include "app/config/reader.h"
#include "app/config/schema_ranges.h"
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

inline std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

template <typename T>
std::vector<std::string_view> choice_names(bool may_be_auto) {
  std::vector<std::string_view> names;
  if (may_be_auto) names.emplace_back("auto");
  for (const auto& choice : choices<T>) names.push_back(choice.name);
  return names;
}

template <typename T>
std::string type_text(const ChoiceKey<T>&) {
  return std::is_same_v<T, bool> ? "boolean" : "choice";
}
inline std::string type_text(const IntegerKey&) { return "integer"; }
inline std::string type_text(const NumberKey&) { return "number"; }
inline std::string type_text(const DurationKey&) { return "duration"; }
template <typename T>
std::string type_text(const ParsedKey<T>& values) {
  return std::string(values.type);
}

template <typename T>
std::string range_text(const ChoiceKey<T>&) {
  using Value = typename ValueIn<T>::Type;
  std::string text;
  for (const auto name : choice_names<Value>(ValueIn<T>::is_optional)) text += (text.empty() ? "" : ", ") + code(name);
  return text;
}
inline std::string range_text(const IntegerKey& values) {
  return (values.may_be_auto ? "`auto`, " : "") + std::to_string(values.min) + " to " + std::to_string(values.max);
}
inline std::string range_text(const NumberKey& values) {
  return number_text(values.min) + " to " + number_text(values.max);
}
inline std::string range_text(const DurationKey& values) {
  return (!values.zero.empty() ? "`0`, or " : "") + time_text(values.min) + " to " + time_text(values.max);
}
template <typename T>
std::string range_text(const ParsedKey<T>& values) {
  std::string text;
  for (const auto& name : nlohmann::json::parse(values.schema).value("enum", nlohmann::json::array()))
    text += (text.empty() ? "" : ", ") + code(name.template get<std::string>());
  return text;
}

template <typename T>
nlohmann::json schema_of(const ChoiceKey<T>&) {
  using Value = typename ValueIn<T>::Type;
  if constexpr (std::is_same_v<Value, bool>) return {{"type", "boolean"}};
  return {{"enum", choice_names<Value>(ValueIn<T>::is_optional)}};
}
inline nlohmann::json schema_of(const IntegerKey& values) {
  nlohmann::json schema{{"type", "integer"}, {"minimum", values.min}, {"maximum", values.max}};
  if (values.may_be_auto) schema = {{"anyOf", {schema, {{"const", "auto"}}}}};
  return schema;
}
inline nlohmann::json schema_of(const NumberKey& values) {
  return {{"type", "number"}, {"minimum", values.min}, {"maximum", values.max}};
}
inline nlohmann::json schema_of(const DurationKey& values) {
  nlohmann::json schema = duration_schema(values.min, values.max);
  if (!values.zero.empty())
    schema = {{"anyOf", {schema, {{"const", 0}}, {{"type", "string"}, {"pattern", "^0+(ms|s|m|h|d)?$"}}}}};
  return schema;
}
template <typename T>
nlohmann::json schema_of(const ParsedKey<T>& values) {
  return nlohmann::json::parse(values.schema);
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
