#include "app/placement/uses_json.h"

namespace campipe {

nlohmann::json uses_json(const std::vector<ResourceUse>& uses) {
  nlohmann::json list = nlohmann::json::array();
  for (const ResourceUse& use : uses) {
    list.push_back({{"resource", name_of(use.resource)},
                    {"where", use.where},
                    {"needs", use.needs},
                    {"has", use.has},
                    {"estimated", use.estimated},
                    {"text", describe(use)}});
  }
  return list;
}

}  // namespace campipe
