#include "core/merge_patch.h"

namespace campipe {

nlohmann::json merge_patch_between(const nlohmann::json& from, const nlohmann::json& to) {
  nlohmann::json patch = nlohmann::json::object();
  for (const auto& [key, value] : to.items()) {
    const auto before = from.find(key);
    if (before != from.end() && *before == value) continue;
    const bool goes_deeper = before != from.end() && before->is_object() && value.is_object();
    patch[key] = goes_deeper ? merge_patch_between(*before, value) : value;
  }
  for (const auto& [key, value] : from.items()) {
    if (!to.contains(key)) patch[key] = nullptr;
  }
  return patch;
}

}  // namespace campipe
