// The answer to a request (app/control/messages/requests.h): a message (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

namespace campipe::messages {

// To a request, in HTTP's terms. Not 2xx: `body` is {"error": "…"} or {"errors": ["rig.yaml:14:7: …"]}.
struct Answer {
  static constexpr std::string_view type = "answer";
  int status = 200;
  nlohmann::json body;
  std::uint64_t request = 0;
  static void fields(auto& m, auto&& f) { f("status", m.status), f("body", m.body), f("request", m.request); }
};

}  // namespace campipe::messages
