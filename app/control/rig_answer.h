#pragma once

#include <nlohmann/json.hpp>

namespace campipe {

// An answer of the supervisor, in HTTP's terms. Not 2xx: `body` is {"error": "…"} or {"errors": ["rig.yaml:14:7: …"]}.
struct RigAnswer {
  int status = 200;
  nlohmann::json body;
};

}  // namespace campipe
