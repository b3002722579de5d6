#include "app/probe/link_check.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <exception>

#include "app/control/message_dispatch.h"
#include "app/control/started_process.h"

namespace campipe {
namespace {

constexpr auto longest_link_check = std::chrono::seconds(30);
constexpr int longest_wait = 1000;  // ms

using FromLinkCheck = MessageList<messages::LinksFound>;

messages::LinksFound without_ucx(std::string why) { return {"", std::move(why), {}}; }

}  // namespace

LinkCheck::LinkCheck(const StartProcess& start) : process_(start({check_links_role}, {})) {
  process_->allow(longest_link_check);
}

LinkCheck::~LinkCheck() {
  if (!exit_ && !process_->reap()) process_->leave_behind();
}

std::optional<messages::LinksFound> LinkCheck::look() {
  if (!exit_) exit_ = process_->reap();
  read_messages();
  if (found_) return found_;
  if (exit_) return without_ucx(fmt::format("a process that loaded UCX failed ({})", describe(*exit_)));
  if (!process_->is_late()) return std::nullopt;
  return without_ucx(fmt::format("a process that loaded UCX was not done within {} s", longest_link_check.count()));
}

void LinkCheck::read_messages() {
  try {
    while (auto message = process_->receive())
      dispatch(FromLinkCheck(), *message, [this](const messages::LinksFound& found) { found_ = found; });
  } catch (const std::exception& error) {
    found_ = without_ucx(fmt::format("a process that loaded UCX sent {}", error.what()));
  }
}

messages::LinksFound check_links() {
  LinkCheck check(starts_processes(STDERR_FILENO));
  for (;;) {
    if (auto found = check.look()) return *std::move(found);
    Waits waits;
    check.add_waits(waits);
    ::poll(waits.data(), waits.size(), longest_wait);
  }
}

}  // namespace campipe
