#include "app/commands/move.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/printable.h"

namespace campipe {
namespace {

constexpr auto move_patience = std::chrono::seconds(20);  // the rig answers within ten

}  // namespace

int run_move(const ApiAddress& address, const std::string& camera, unsigned worker, std::optional<unsigned> from) {
  ApiClient client(address);
  nlohmann::json body{{"worker", worker}};
  if (from) body["from"] = *from;
  const ApiAnswer answer =
      client.ask("POST", "/api/v1/cameras/" + in_path(camera) + "/move", move_patience, body.dump());
  if (answer.status != 200) throw Error(explain(answer, address));
  const std::string part = from ? fmt::format("what worker {} had of it ", *from) : "";
  std::cout << printable(fmt::format("{}: {}is on worker {}", camera, part, worker)) << '\n';
  return 0;
}

}  // namespace campipe
