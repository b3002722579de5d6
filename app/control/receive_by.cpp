#include "app/control/receive_by.h"

#include <poll.h>

#include <algorithm>

namespace campipe {

void wait_readable(const Channel& channel, Deadline deadline) {
  pollfd readable{channel.fd(), POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  ::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
}

std::optional<Message> receive_by(Channel& channel, Deadline deadline) {
  while (true) {
    if (auto message = channel.receive()) return message;
    if (channel.closed() || Clock::now() >= deadline) return std::nullopt;
    wait_readable(channel, deadline);
  }
}

}  // namespace campipe
