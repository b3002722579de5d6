// The status as the pages show it: a part that hardly changes while nothing happens, so that sending what has changed
// costs little.
#pragma once

#include <nlohmann/json.hpp>

namespace campipe {

// Leaves out numbers that change with every frame and that no page shows, and nulls; rounds measured values.
// docs/api.md lists both. `status`: as its reader may see it.
nlohmann::json settled_status(nlohmann::json status);

}  // namespace campipe
