// `filters`: a camera's chain, checked against the registry of filters.
#include "app/config/reader.h"
#include "app/config/units.h"
#include "app/config/values.h"
#include "stages/filters/filter.h"

namespace campipe {
namespace {

template <typename Infos>
std::vector<std::string_view> names_of(const Infos& infos) {
  std::vector<std::string_view> names;
  for (const auto& info : infos) names.push_back(info.name);
  return names;
}

const ParameterInfo* find_parameter(const FilterInfo& filter, std::string_view name) {
  for (const ParameterInfo& parameter : filter.parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

const YamlNode* find_child(const YamlNode& map, std::string_view key) {
  for (const YamlNode& child : map.children) {
    if (child.key == key) return &child;
  }
  return nullptr;
}

bool unknown_parameters(const FilterInfo& filter, const YamlNode& given, Report& report) {
  bool found = false;
  for (const YamlNode& child : given.children) {
    if (find_parameter(filter, child.key) != nullptr) continue;
    found = true;
    if (filter.parameters.empty()) {
      report.at_key(child, "unknown key, this filter has no parameters");
    } else {
      unknown_key(child, names_of(filter.parameters), report);
    }
  }
  return found;
}

// The value of one parameter; `given` holds the filter's parameters, if it was written with any.
std::optional<double> read_parameter(const FilterInfo& filter, const ParameterInfo& info, const YamlNode& given,
                                     Report& report) {
  if (const YamlNode* node = find_child(given, info.name)) {
    return read_number(*node, {info.min, info.max, info.whole, info.unit, info.multiple, info.odd}, report);
  }
  if (!info.fallback && !mistyped(given, info.name, names_of(filter.parameters))) {
    report.at_key(given, "missing parameter '" + std::string(info.name) + "'");
  }
  return info.fallback;
}

std::optional<FilterConfig> read_parameters(const FilterInfo& filter, const YamlNode& given, Report& report) {
  FilterConfig config{std::string(filter.name), {}};
  const bool unknown = unknown_parameters(filter, given, report);
  for (const ParameterInfo& info : filter.parameters) {
    const auto value = read_parameter(filter, info, given, report);
    if (value) config.parameters.emplace(info.name, *value);
  }
  if (unknown || config.parameters.size() != filter.parameters.size()) return std::nullopt;
  return config;
}

std::optional<FilterConfig> unknown_filter(std::string_view name, Mark mark, const YamlNode& node, bool may_suggest,
                                           Report& report) {
  const auto names = names_of(filter_registry());
  const std::string hint = may_suggest ? suggestion(name, names) : "";
  const std::string what = may_suggest ? in_quotes(name) : shown(node);
  report.add(mark, node.path, "unknown filter " + what + (hint.empty() ? ", expected " + alternatives(names) : hint));
  return std::nullopt;
}

// `- blur` or `- blur: {sigma: 1.5}`
std::optional<FilterConfig> read_filter(const YamlNode& node, Report& report) {
  if (const std::string* name = scalar_text(node); name != nullptr && !name->empty()) {
    const FilterInfo* filter = find_filter(*name);
    if (filter == nullptr) return unknown_filter(*name, node.mark, node, node.variables.empty(), report);
    return read_parameters(*filter, node, report);
  }
  if (!node.problem.empty() || node.kind != YamlNode::Kind::map || node.children.size() != 1) {
    refuse(node, "one filter: `name` or `name: {parameter: value}`", report);
    return std::nullopt;
  }
  const YamlNode& given = node.children.front();
  const FilterInfo* filter = find_filter(given.key);
  if (filter == nullptr) return unknown_filter(given.key, given.key_mark, given, true, report);
  const bool nothing = given.kind == YamlNode::Kind::null && given.problem.empty();  // `- blur:`
  if (!nothing && !is_map(given, report)) return std::nullopt;
  return read_parameters(*filter, given, report);
}

}  // namespace

std::optional<std::vector<FilterConfig>> read_filters(const YamlNode& node, Report& report) {
  if (!is_list(node, report)) return std::nullopt;
  std::vector<FilterConfig> filters;
  for (const YamlNode& child : node.children) {
    if (auto filter = read_filter(child, report)) filters.push_back(std::move(*filter));
  }
  if (filters.size() != node.children.size()) return std::nullopt;
  return filters;
}

}  // namespace campipe
