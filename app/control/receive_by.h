// Waiting for a message of a control channel, where there is nothing else to do meanwhile.
#pragma once

#include <optional>

#include "core/clock.h"
#include "ipc/channel.h"

namespace campipe {

// Returns when the channel can be read, its other end is closed, a signal came, or the deadline is over.
void wait_readable(const Channel& channel, Deadline deadline);
// The next message. Nothing: the other end is closed, or none came by the deadline.
std::optional<Message> receive_by(Channel& channel, Deadline deadline);

}  // namespace campipe
