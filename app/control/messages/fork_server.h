// Between the supervisor and its fork server (app/control/fork_server.h), and what one sends to what the other has
// forked: messages (app/control/messages/parts.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "app/control/messages/parts.h"

namespace campipe::messages {

// The descriptors: what the new process logs to, and its end of its control channel.
struct Fork : Empty {
  static constexpr std::string_view type = "fork";
  static constexpr DescriptorCount descriptors{2, 2};
};
using ToForkServer = MessageList<Fork>;

// It has loaded what there is to load.
struct ForkServerReady : Empty {
  static constexpr std::string_view type = "ready";
};
struct Forked {
  static constexpr std::string_view type = "forked";
  int pid = -1;  // none: the system has no room for another process
  static void fields(auto& m, auto&& f) { f("pid", m.pid); }
};
using FromForkServer = MessageList<ForkServerReady, Forked>;

// To what has been forked, over its own channel: what others are started with. The fork server does not see it, since
// all that it forks later would have it in their memory, passwords too.
struct Begin {
  static constexpr std::string_view type = "begin";
  // Names of files and passwords need not be UTF-8, as texts of a message are.
  using Bytes = std::vector<std::uint8_t>;
  std::vector<Bytes> arguments;   // {"worker", "0"}
  std::vector<Bytes> variables;   // "NAME=value", of its environment
  std::optional<unsigned> umask;  // nothing: as the fork server has it
  static void fields(auto& m, auto&& f) {
    f("arguments", m.arguments), f("variables", m.variables), f("umask", m.umask);
  }
};

}  // namespace campipe::messages
