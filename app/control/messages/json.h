// The JSON of messages, for the files that make it: app/control/messages/json_*.cpp and app/probe/probe_json.cpp. Such
// a file has `template struct JsonOfAll<messages::ToSource>;` for a list, and with that read_message() and
// write_message() of all that is in it (app/control/message_dispatch.h). Others call them, and compile none of this.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/control/json_fields.h"
#include "app/control/message_dispatch.h"

namespace campipe {

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

template <typename M>
nlohmann::json write_message(const M& message) {
  return write_json(message);
}

template <typename M>
struct JsonFunctions {
  M (*read)(Message&) = &read_message<M>;
  nlohmann::json (*write)(const M&) = &write_message<M>;
};

// An explicit instantiation has the functions made, since it defines an object that refers to them.
template <typename List>
struct JsonOfAll;
template <typename... M>
struct JsonOfAll<MessageList<M...>> {
  struct Functions : JsonFunctions<M>... {};
  static const Functions functions;
};
template <typename... M>
const typename JsonOfAll<MessageList<M...>>::Functions JsonOfAll<MessageList<M...>>::functions{};

}  // namespace campipe
