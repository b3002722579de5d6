// The status as the pages show it: a part that hardly changes while nothing happens, so that sending what has changed
// costs little.
#pragma once

#include <nlohmann/json.hpp>

namespace campipe {

// Of a status that its reader may see. Left out are numbers that change with every frame and that no page shows, and
// what is null; what was measured is rounded. docs/api.md lists it.
nlohmann::json settled_status(nlohmann::json status);

}  // namespace campipe
