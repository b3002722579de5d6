// Reading values out of the tree. Every function here reports what it refuses, once, and then returns nothing;
// a key's reader only has to go on without the value.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "app/config/names.h"
#include "app/config/report.h"
#include "app/config/yaml.h"

namespace campipe {

// Fills in paths and ${variables}, marks values that cannot be used whatever they mean (whoever reads one reports it),
// and removes duplicate keys, which it reports. To be called once, on the root, before anything is read.
void prepare_tree(YamlNode& root, Report& report);

// A key of the file: as often as it may be given, and whether that was of use. No node: not given.
template <typename T>
struct Setting {
  using Value = T;
  const YamlNode* node = nullptr;
  std::optional<T> value;
  int inherited = 0;  // from how many maps further out: 0, it was given here
};

// One key that a map may have. A table of these is what the loader obeys and what the documentation is held to.
template <typename Target>
struct Key {
  std::string_view name;
  bool (*read)(const YamlNode& value, Target& target, Report& report);  // false: reported
};

template <typename Target>
std::vector<std::string_view> key_names(std::span<const Key<Target>> keys) {
  std::vector<std::string_view> names;
  for (const auto& key : keys) names.push_back(key.name);
  return names;
}

// "expected …, got …", or the problem that the value has in itself.
void refuse(const YamlNode& value, std::string_view expected, Report& report);
// Whether the map has an unknown key that is most likely meant to be `name`: that has been told, and so the
// missing `name` need not be.
bool mistyped(const YamlNode& map, std::string_view name, std::span<const std::string_view> names);
void unknown_key(const YamlNode& value, std::span<const std::string_view> names, Report& report);

// Null unless the value is a scalar without a problem of its own.
const std::string* scalar_text(const YamlNode& node);
bool is_map(const YamlNode& node, Report& report);
bool is_list(const YamlNode& node, Report& report);

// Reads a map by its table. False when anything in it was reported.
template <typename Target>
bool read_map(const YamlNode& node, std::span<const Key<Target>> keys, Target& target, Report& report) {
  if (!is_map(node, report)) return false;
  bool good = true;
  for (const YamlNode& child : node.children) {
    const auto* key = keys.data();
    while (key != keys.data() + keys.size() && key->name != child.key) ++key;
    if (key != keys.data() + keys.size()) {
      good = key->read(child, target, report) && good;
    } else {
      unknown_key(child, key_names(keys), report);
      good = false;
    }
  }
  return good;
}

std::optional<std::string> read_text(const YamlNode& node, std::string_view expected, Report& report);

struct Range {
  double min = 0;
  double max = 0;
  bool whole = true;
  std::string_view unit = {};
  int multiple = 1;
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

std::optional<std::chrono::nanoseconds> read_time(const YamlNode& node, std::chrono::nanoseconds min,
                                                  std::chrono::nanoseconds max, Report& report);

template <typename T>
bool set(Setting<T>& setting, const YamlNode& node, std::optional<T> value) {
  setting = {&node, std::move(value)};
  return setting.value.has_value();
}

// Readers for tables: what the key holds goes into the setting that `member` points to.
template <auto member, typename Target>
bool choice_key(const YamlNode& node, Target& target, Report& report) {
  using T = typename std::remove_reference_t<decltype(target.*member)>::Value;
  return set(target.*member, node, read_choice<T>(node, report));
}

template <auto member, int min, int max, typename Target>
bool int_key(const YamlNode& node, Target& target, Report& report) {
  return set(target.*member, node, read_int(node, min, max, report));
}

struct TimeRange {
  std::chrono::nanoseconds min;
  std::chrono::nanoseconds max;
};
template <auto member, const TimeRange& range, typename Target>
bool time_key(const YamlNode& node, Target& target, Report& report) {
  return set(target.*member, node, read_time(node, range.min, range.max, report));
}

// A reader of a part, for the table of the whole.
template <auto read, typename Whole>
bool part_key(const YamlNode& node, Whole& whole, Report& report) {
  return read(node, whole, report);
}

}  // namespace campipe
