#include "tests/sim/wire.h"

#include <algorithm>
#include <utility>

#include "ipc/shared_memory.h"

namespace campipe::sim {

Message message_of(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) {
  Message message;
  message.type = type;
  message.body = body;
  message.size = 64 + 16 * body.size();
  for (const int fd : fds) message.fds.push_back(duplicate(fd));
  return message;
}

Clock::time_point Wire::send(Message message, Clock::time_point arrives) {
  if (!messages_.empty()) arrives = std::max(arrives, messages_.back().arrives);
  messages_.push_back({std::move(message), arrives});
  return arrives;
}

bool Wire::is_readable(Clock::time_point now) const {
  return !messages_.empty() && (all_arrived_ || messages_.front().arrives <= now);
}

std::optional<Message> Wire::receive(Clock::time_point now) {
  if (!is_readable(now)) return std::nullopt;
  Message message = std::move(messages_.front().message);
  messages_.pop_front();
  return message;
}

}  // namespace campipe::sim
