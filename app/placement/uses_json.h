#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "app/placement/capacity.h"

namespace campipe {

// A list; of each its `resource`, `where`, `needs`, `has`, `estimated`, and all of it in words: `text`.
nlohmann::json uses_json(const std::vector<ResourceUse>& uses);

}  // namespace campipe
