#include "app/commands/move.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/printable.h"

namespace campipe {
namespace {

constexpr auto patience = std::chrono::seconds(20);  // the rig answers within ten

// For a path: what is not of these letters, by its number.
std::string escaped(const std::string& name) {
  std::string path;
  for (const char letter : name) {
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' || letter == '.';
    path += is_plain ? std::string(1, letter) : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  }
  return path;
}

}  // namespace

int run_move(const ApiAddress& address, const std::string& camera, unsigned worker) {
  ApiClient client(address);
  const nlohmann::json body{{"worker", worker}};
  const ApiAnswer answer = client.ask("POST", "/api/v1/cameras/" + escaped(camera) + "/move", patience, body.dump());
  if (answer.status != 200) throw Error(explain(answer, address));
  std::cout << printable(fmt::format("{}: is on worker {}", camera, worker)) << '\n';
  return 0;
}

}  // namespace campipe
