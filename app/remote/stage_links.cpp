#include "app/remote/stage_links.h"

#include <utility>

#include "app/control/child.h"
#include "ipc/edge_blocks.h"

namespace campipe {
namespace {

// That frames wait for a connection that was lost: those of files, of which none is to be lost as long as it can be
// helped, until a process on the other node has come again.
std::chrono::milliseconds reconnection_of(DropPolicy policy) {
  return std::chrono::seconds(policy == DropPolicy::block ? 5 : 0);
}

}  // namespace

std::unique_ptr<SendingThread> send_stage(messages::SendLink link, const std::optional<LinkKeys>& keys,
                                          LinkBlock& block, DropPolicy policy, unsigned queue,
                                          std::function<void(std::uint64_t source_number)> on_taken,
                                          std::function<void(std::uint64_t source_number)> on_unsent) {
  SendingEnd::Rules rules;
  rules.policy = policy;
  rules.queue = queue;
  rules.reconnection = reconnection_of(policy);
  rules.on_taken = std::move(on_taken);
  rules.on_unsent = std::move(on_unsent);
  LinkCounts& counts = counts_of(block, link.again);
  link.taken = counts.taken;
  return std::make_unique<SendingThread>(link, keys, counts, std::move(rules));
}

void require_beats(SendingThread* sending, ReceivingThread* receiving) {
  if ((sending != nullptr && sending->hangs()) || (receiving != nullptr && receiving->hangs()))
    fail_process("a thread of the link to another node hangs");
}

}  // namespace campipe
