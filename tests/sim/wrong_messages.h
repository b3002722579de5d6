// What no right process sends, and as what the supervisor refuses it. Each ends its sender, and nobody else.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/sim/fault.h"

namespace campipe::sim {

class Child;

struct WrongMessage {
  std::string title;
  Part sender = Part::source;
  std::string reason;  // as the supervisor logs it
};

const std::vector<WrongMessage>& wrong_messages();
// The fault `lies` with this detail sends one of them; with a smaller one it is a Role's own lie.
inline constexpr std::uint64_t first_wrong_message = 1000;
void send_wrong_message(Child& child, std::uint64_t detail);

}  // namespace campipe::sim
