// The control channel between the supervisor and one other process: small messages and file descriptors over a
// SOCK_SEQPACKET pair that was made before the process was started. Each message is one packet: a header with
// version and length, and a JSON body. Nothing here has a name that others could open.
//
// Used by one thread at each end. A message of another version, a wrong length, or one that cannot be sent within
// its deadline is an Error: the other end is then to be treated as broken.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/unique_handle.h"

namespace campipe {

struct Message {
  std::string type;
  nlohmann::json body;
  std::vector<UniqueFd> fds;  // received ones belong to the message
};

class Channel {
 public:
  static constexpr std::size_t max_body = 128 * 1024;
  static constexpr std::size_t max_fds = 8;

  Channel() = default;
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  // Sends; `fds` stay the caller's. Waits at most a second for a slow receiver, then throws Error.
  // False: the other end is gone.
  bool send(const std::string& type, const nlohmann::json& body, const std::vector<int>& fds = {});
  // The next message if one is there already; does not wait.
  std::optional<Message> receive();
  // True once receive() has found the other end closed.
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  UniqueFd socket_;
  bool closed_ = false;
};

std::pair<UniqueFd, UniqueFd> make_channel_pair();

}  // namespace campipe
