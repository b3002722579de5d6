// The control channel between the supervisor and one other process: messages and file descriptors over a
// SOCK_SEQPACKET pair that was made before the process was started. Each message is one packet: a header with
// version and lengths, and a JSON body; a large body travels as a sealed memfd. Nothing here has a name that others
// could open.
//
// Used by one thread at each end; an Outbox sends for several threads, without waiting. A message of another version or
// of a wrong length is an Error: the other end is then to be treated as broken. So is one whose body is nested more
// deeply than anything that is ever sent: what works on such a value calls itself for each level.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/unique_handle.h"

namespace campipe {

struct Message {
  std::string type;
  nlohmann::json body;
  std::vector<UniqueFd> fds;  // received ones belong to the message
  std::size_t size = 0;       // of the body of one that was received, in bytes
  // This process had no room for the message's descriptors: there are none, and a body that travelled as one is null.
  bool incomplete = false;
};

// No fault of its receiver.
struct MessageTooLarge : Error {
  using Error::Error;
};

// A message as it is sent.
struct OutgoingMessage {
  // Throws MessageTooLarge, or Error where the system is out of memory or descriptors. `descriptors` stay the caller's.
  OutgoingMessage(const std::string& type, const nlohmann::json& body, const std::vector<int>& descriptors);
  // Duplicates the caller's descriptors, so that the message can wait. Throws Error.
  void own_descriptors();

  std::string bytes;
  std::vector<int> fds;
  std::vector<UniqueFd> owned;
};

class Channel {
 public:
  static constexpr std::size_t max_inline_body = 128 * 1024;  // a larger one travels as a memfd
  static constexpr std::size_t max_body = 16UL * 1024 * 1024;
  static constexpr std::size_t max_fds = 8;
  static constexpr int max_depth = 64;  // of a body; users' requests, which are its parts, have at most 32 levels

  enum class Sent : std::uint8_t {
    yes,
    no_room,       // the receiver is slow: the socket becomes writable when there is room
    no_resources,  // of the kernel's, for now
    closed         // the other end is gone
  };

  Channel() = default;
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  // Sends; `fds` stay the caller's. Waits at most a second for a slow receiver, then throws Error.
  // False: the other end is gone.
  bool send(const std::string& type, const nlohmann::json& body, const std::vector<int>& fds = {});
  // Does not wait.
  Sent try_send(const OutgoingMessage& message);
  // The next message if one is there already; does not wait. `large`: the only type whose body may travel as a memfd;
  // empty: all may.
  std::optional<Message> receive(std::string_view large = {});
  // True once receive() has found the other end closed.
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  UniqueFd socket_;
  bool closed_ = false;
};

std::pair<UniqueFd, UniqueFd> make_channel_pair();

}  // namespace campipe
