// Messages on their way in one direction of a control channel: in order, and as many as a socket holds.
#pragma once

#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "ipc/channel.h"
#include "tests/sim/world.h"

namespace campipe::sim {

// As it travels: with duplicates of the descriptors.
Message message_of(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds);

class Wire {
 public:
  static constexpr std::size_t room = 6;  // messages; fewer than a socket holds, so that some do not fit

  [[nodiscard]] bool is_full() const { return messages_.size() >= room; }
  // None arrives before one that was sent earlier. Returns when it arrives.
  Clock::time_point send(Message message, Clock::time_point arrives);
  [[nodiscard]] bool is_readable(Clock::time_point now) const;
  std::optional<Message> receive(Clock::time_point now);
  // Its sender is gone: what it has sent is there.
  void all_arrive() { all_arrived_ = true; }

 private:
  struct Sent {
    Message message;
    Clock::time_point arrives;
  };
  std::deque<Sent> messages_;
  bool all_arrived_ = false;
};

}  // namespace campipe::sim
