#include <stdexcept>
#include <string>

#include "stages/filters/filter.h"

namespace campipe {
namespace {

// In a function, so that it exists before the first file registers, whatever the order of initialisation.
std::map<std::string_view, FilterInfo>& filters_by_name() {
  static std::map<std::string_view, FilterInfo> filters;
  return filters;
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

}  // namespace campipe
