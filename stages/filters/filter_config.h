// A filter as the configuration names it (stages/filters/filter.h).
#pragma once

#include <map>
#include <string>

namespace campipe {

using FilterParameters = std::map<std::string, double, std::less<>>;  // complete: fallbacks are filled in

struct FilterConfig {
  std::string name;
  FilterParameters parameters;
  friend bool operator==(const FilterConfig&, const FilterConfig&) = default;
};

}  // namespace campipe
