#include "app/config/reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "app/config/units.h"

namespace campipe {

void refuse(const YamlNode& value, std::string_view expected, Report& report) {
  if (!value.problem.empty()) {
    report.at(value, value.problem);
  } else {
    report.at(value, "expected " + std::string(expected) + ", got " + shown(value));
  }
}

void unknown_key(const YamlNode& value, std::span<const std::string_view> names, Report& report) {
  const std::string hint = suggestion(value.key, names);
  report.at_key(value, "unknown key" + (hint.empty() ? ", expected " + alternatives(names) : hint));
}

bool mistyped(const YamlNode& map, std::string_view name, std::span<const std::string_view> names) {
  return std::any_of(map.children.begin(), map.children.end(), [&](const YamlNode& child) {
    return std::find(names.begin(), names.end(), child.key) == names.end() && nearest_name(child.key, names) == name;
  });
}

const std::string* scalar_text(const YamlNode& node) {
  return node.kind == YamlNode::Kind::scalar && node.problem.empty() ? &node.text : nullptr;
}

bool is_map(const YamlNode& node, Report& report) {
  const bool good = node.kind == YamlNode::Kind::map && node.problem.empty();
  if (!good) refuse(node, "a map", report);
  return good;
}

bool is_list(const YamlNode& node, Report& report) {
  const bool good = node.kind == YamlNode::Kind::list && node.problem.empty();
  if (!good) refuse(node, "a list", report);
  return good;
}

std::optional<std::string> read_text(const YamlNode& node, std::string_view expected, Report& report) {
  if (const std::string* text = scalar_text(node); text != nullptr && !text->empty()) return *text;
  refuse(node, expected, report);
  return std::nullopt;
}

std::optional<std::string> read_file_name(const YamlNode& node, std::string_view expected, Report& report) {
  auto path = read_text(node, expected, report);
  if (!path) return path;
  const auto error = report.ask_disk([file = *path] { return ::access(file.c_str(), R_OK) == 0 ? 0 : errno; });
  if (!error) report.not_now(node, "the file " + shown(node) + " " + Report::does_not_answer);
  if (error.value_or(0) != 0)
    report.not_now(node, "the file " + shown(node) + " cannot be read: " + std::strerror(*error));
  return path;
}

namespace {

std::optional<double> number_in(const YamlNode& node, const Range& range) {
  const std::string* text = scalar_text(node);
  const std::optional<double> number = text != nullptr ? parse_number(*text) : std::nullopt;
  if (!number || *number < range.min || *number > range.max) return std::nullopt;
  if (range.whole && *number != static_cast<double>(static_cast<std::int64_t>(*number))) return std::nullopt;
  if (range.multiple > 1 && std::fmod(*number, range.multiple) != 0) return std::nullopt;
  if (range.odd && std::fmod(*number, 2) != 1) return std::nullopt;
  return number;
}

std::string describe(const Range& range) {
  const std::string kind = range.multiple > 1 ? "a multiple of " + number_text(range.multiple)
                           : range.odd        ? "an odd number"
                           : range.whole      ? "an integer"
                                              : "a number";
  const std::string text = kind + " from " + number_text(range.min) + " to " + number_text(range.max);
  return range.unit.empty() ? text : text + " (" + std::string(range.unit) + ")";
}

std::optional<int> to_int(std::optional<double> number) {
  if (!number) return std::nullopt;
  return static_cast<int>(*number);
}

}  // namespace

std::optional<double> read_number(const YamlNode& node, const Range& range, Report& report) {
  const std::optional<double> number = number_in(node, range);
  if (!number) refuse(node, describe(range), report);
  return number;
}

std::optional<int> read_int(const YamlNode& node, int min, int max, Report& report) {
  return to_int(read_number(node, {static_cast<double>(min), static_cast<double>(max)}, report));
}

std::optional<int> read_int_or_auto(const YamlNode& node, int min, int max, int automatic, Report& report) {
  const Range range{static_cast<double>(min), static_cast<double>(max)};
  if (const auto number = number_in(node, range)) return to_int(number);
  if (const std::string* text = scalar_text(node); text != nullptr && *text == "auto") return automatic;
  refuse(node, "auto or " + describe(range), report);
  return std::nullopt;
}

std::optional<std::chrono::nanoseconds> read_time(const YamlNode& node, const DurationKey& range, Report& report) {
  const std::string* text = scalar_text(node);
  if (text != nullptr && *text == "0" && !range.zero.empty()) return std::chrono::nanoseconds(0);
  const auto time = text != nullptr ? parse_time(*text) : std::nullopt;
  if (time && *time >= range.min && *time <= range.max) return time;
  if (time && time->count() == 0 && !range.zero.empty()) return time;
  const std::string zero = range.zero.empty() ? "" : "0 (" + std::string(range.zero) + ") or ";
  refuse(node, zero + "a time from " + time_text(range.min) + " to " + time_text(range.max) + " (units ms, s, m, h, d)",
         report);
  return std::nullopt;
}

void refuse_choice(const YamlNode& value, std::span<const std::string_view> names, Report& report) {
  const std::string* text = scalar_text(value);
  // The nearest name would give away what a variable holds.
  if (text == nullptr || !value.variables.empty()) return refuse(value, alternatives(names), report);
  report.at(value, "expected " + alternatives(names) + ", got " + shown(value) + suggestion(*text, names));
}

}  // namespace campipe
