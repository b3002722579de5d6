#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>

#include "core/error.h"
#include "stages/filters/filter.h"

namespace campipe {
namespace {

// In a function, so that it exists before the first file registers, whatever the order of initialisation.
std::map<std::string_view, FilterInfo>& filters_by_name() {
  static std::map<std::string_view, FilterInfo> filters;
  return filters;
}

std::string range_text(const ParameterInfo& info) {
  std::ostringstream text;
  if (info.multiple > 1) {
    text << "a multiple of " << info.multiple;
  } else if (info.odd) {
    text << "an odd number";
  } else {
    text << (info.whole ? "an integer" : "a number");
  }
  text << " from " << info.min << " to " << info.max;
  return text.str();
}

bool in_range(const ParameterInfo& info, double value) {
  return value >= info.min && value <= info.max && (!info.whole || value == std::floor(value)) &&  // NaN: no
         (info.multiple == 1 || std::fmod(value, info.multiple) == 0) && (!info.odd || std::fmod(value, 2) == 1);
}

}  // namespace

FilterRegistration::FilterRegistration(const FilterInfo& info) {
  if (!filters_by_name().emplace(info.name, info).second)
    throw std::logic_error("two filters are called '" + std::string(info.name) + "'");
}

std::vector<FilterInfo> filter_registry() {
  std::vector<FilterInfo> filters;
  for (const auto& [name, info] : filters_by_name()) filters.push_back(info);
  return filters;
}

const FilterInfo* find_filter(std::string_view name) {
  const auto found = filters_by_name().find(name);
  return found == filters_by_name().end() ? nullptr : &found->second;
}

const FilterInfo& known_filter(std::string_view name) {
  const FilterInfo* info = find_filter(name);
  if (info == nullptr) throw Error("unknown filter '" + std::string(name) + "'");
  return *info;
}

FilterParameters complete_parameters(const FilterInfo& filter, const FilterParameters& given) {
  const std::string name(filter.name);
  FilterParameters complete;
  for (const ParameterInfo& info : filter.parameters) {
    const auto found = given.find(info.name);
    const std::string key = name + "." + std::string(info.name);
    if (found == given.end() && !info.fallback) throw Error(key + ": missing; it must be " + range_text(info));
    const double value = found == given.end() ? *info.fallback : found->second;
    if (!in_range(info, value)) throw Error(key + ": must be " + range_text(info));
    complete.emplace(info.name, value);
  }
  for (const auto& [key, value] : given)
    if (!complete.contains(key)) throw Error(name + "." + key + ": unknown parameter");
  return complete;
}

}  // namespace campipe
