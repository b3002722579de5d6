// Reading values out of the tree. Every function here reports what it refuses, once, and then returns nothing.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/choice.h"
#include "app/config/key.h"
#include "app/config/report.h"
#include "app/config/yaml.h"

namespace campipe {

// Fills in paths and ${variables}, marks values that cannot be used whatever they mean (its reader reports it),
// and removes duplicate keys, which it reports. To be called once, on the root, before anything is read.
void prepare_tree(YamlNode& root, Report& report);

// "expected …, got …", or the problem that the value has in itself.
void refuse(const YamlNode& value, std::string_view expected, Report& report);
// Whether the map has an unknown key that is most likely meant to be `name`: that has been reported, and so the
// missing `name` need not be.
bool mistyped(const YamlNode& map, std::string_view name, std::span<const std::string_view> names);
void unknown_key(const YamlNode& value, std::span<const std::string_view> names, Report& report);

// Null unless the value is a scalar without a problem of its own.
const std::string* scalar_text(const YamlNode& node);
bool is_map(const YamlNode& node, Report& report);
bool is_list(const YamlNode& node, Report& report);

std::optional<std::string> read_text(const YamlNode& node, std::string_view expected, Report& report);
// Reads the name of a file. Reports a file that cannot be read now as a condition.
std::optional<std::string> read_file_name(const YamlNode& node, std::string_view expected, Report& report);

struct Range {
  double min = 0;
  double max = 0;
  bool whole = true;
  std::string_view unit = {};
  int multiple = 1;
  bool odd = false;
};
std::optional<double> read_number(const YamlNode& node, const Range& range, Report& report);
std::optional<int> read_int(const YamlNode& node, int min, int max, Report& report);
// Like read_int, but `auto` is `automatic`.
std::optional<int> read_int_or_auto(const YamlNode& node, int min, int max, int automatic, Report& report);

// Reports that `value` is none of `names`, with the nearest of them.
void refuse_choice(const YamlNode& value, std::span<const std::string_view> names, Report& report);

template <typename T>
std::optional<T> read_choice(const YamlNode& node, Report& report) {
  const std::string* text = scalar_text(node);
  if (const auto found = text != nullptr ? find_choice<T>(*text) : std::nullopt) return found;
  std::vector<std::string_view> names;
  for (const auto& choice : choices<T>) names.push_back(choice.name);
  refuse_choice(node, names, report);
  return std::nullopt;
}

// Like read_choice, but `auto` is a choice without a value. Nothing at all: reported.
template <typename T>
std::optional<std::optional<T>> read_choice_or_auto(const YamlNode& node, Report& report) {
  const std::string* text = scalar_text(node);
  if (text != nullptr && *text == "auto") return std::optional<T>();
  if (const auto found = text != nullptr ? find_choice<T>(*text) : std::nullopt) return found;
  std::vector<std::string_view> names{"auto"};
  for (const auto& choice : choices<T>) names.push_back(choice.name);
  refuse_choice(node, names, report);
  return std::nullopt;
}

std::optional<std::chrono::nanoseconds> read_time(const YamlNode& node, const DurationKey& range, Report& report);

}  // namespace campipe
