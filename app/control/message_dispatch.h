// From messages as the channel has them (ipc/channel.h) to structs (app/control/messages.h), and back.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "app/control/messages.h"
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
// fault.
template <typename M>
M read_message(Message& message) {
  constexpr messages::DescriptorCount expected = descriptors_of<M>();
  const std::size_t count = message.fds.size();
  if (!message.incomplete && (count < expected.least || count > expected.most)) {
    throw BadMessage(fmt::format("'{}' with {} descriptors", message.type, count));
  }
  M read;
  try {
    read_json(message.body, read);
  } catch (const BadJson& error) {
    throw BadMessage(fmt::format("'{}': {}", message.type, error.what()));
  }
  return read;
}

// Waits at most a second for a slow receiver, then throws Error. `fds` stay the caller's. False: the other end is gone.
template <typename M>
bool send(Channel& channel, const M& message, const std::vector<int>& fds = {}) {
  return channel.send(std::string(M::type), write_json(message), fds);
}

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
  if (!known) throw BadMessage(fmt::format("'{}', which is not for this process", message.type));
}

}  // namespace campipe
