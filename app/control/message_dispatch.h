// From messages as the channel has them (ipc/channel.h) to structs (app/control/messages/parts.h), and back.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "app/control/messages/parts.h"
#include "core/error.h"
#include "ipc/channel.h"

namespace campipe {

// A message that its sender has no business to send, or that does not match its struct.
struct BadMessage : Error {
  using Error::Error;
};

template <typename M>
constexpr messages::DescriptorCount descriptors_of() {
  if constexpr (requires { M::descriptors; }) return M::descriptors;
  return {};
}

// Throws BadMessage. What was left out for want of descriptors in this process (message.incomplete) is not the sender's
// fault. One source has it for all messages of a list (app/control/messages/json.h).
template <typename M>
M read_message(Message& message);
// The JSON of a message, compiled in the same source.
template <typename M>
nlohmann::json write_message(const M& message);

// Waits at most a second for a slow receiver, then throws Error. `fds` stay the caller's. False: the other end is gone.
template <typename M>
bool send(Channel& channel, const M& message, const std::vector<int>& fds = {}) {
  return channel.send(std::string(M::type), write_message(message), fds);
}

// Throws BadMessage.
[[noreturn]] void refuse_unknown(const Message& message);

// Reads `message` as the one of the list that has its type, and calls `receive` with it, and with the descriptors where
// it has any. Throws BadMessage.
template <typename... M, typename Receive>
void dispatch(MessageList<M...>, Message& message, const Receive& receive) {
  const auto take = [&]<typename One>(std::type_identity<One>) {
    if (message.type != One::type) return false;
    auto read = read_message<One>(message);
    if constexpr (descriptors_of<One>().most > 0) {
      receive(read, message.fds);
    } else {
      receive(read);
    }
    return true;
  };
  const bool known = (take(std::type_identity<M>()) || ...);
  if (!known) refuse_unknown(message);
}

}  // namespace campipe
