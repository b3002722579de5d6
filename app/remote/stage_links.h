// What both ends of the links of a stage or tile on another node have in common: those at the camera's node, and those
// at the other one.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/control/messages/links.h"
#include "app/link/link_thread.h"

namespace campipe {

// The end that sends frames of such a link. It goes on with what one before it has counted. `on_taken`, `on_unsent`: as
// SendingEnd::Rules's.
std::unique_ptr<SendingThread> send_stage(
    messages::SendLink link, const std::optional<LinkKeys>& keys, LinkBlock& block, DropPolicy policy, unsigned queue,
    std::function<void(std::uint64_t source_number)> on_taken = [](std::uint64_t) {},
    std::function<void(std::uint64_t source_number)> on_unsent = [](std::uint64_t) {});

// To be called ten times a second: ends the process where one of them hangs. Either may be null.
void require_beats(SendingThread* sending, ReceivingThread* receiving);

}  // namespace campipe
