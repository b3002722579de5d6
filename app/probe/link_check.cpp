#include "app/probe/link_check.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <exception>

#include "app/control/message_dispatch.h"

namespace campipe {
namespace {

constexpr auto longest_link_check = std::chrono::seconds(30);
constexpr int longest_wait = 1000;  // ms

using FromLinkCheck = MessageList<messages::LinksFound>;

messages::LinksFound without_ucx(std::string why) { return {"", std::move(why), {}}; }

}  // namespace

LinkCheck::LinkCheck(int log_fd) : process_({check_links_role}, log_fd) { process_.allow(longest_link_check); }

LinkCheck::~LinkCheck() {
  if (!exit_ && !process_.reap()) process_.leave_behind();
}

std::optional<messages::LinksFound> LinkCheck::look() {
  if (!exit_) exit_ = process_.reap();
  read_messages();
  if (found_) return found_;
  if (exit_) return without_ucx(fmt::format("a process that loaded UCX failed ({})", describe(*exit_)));
  if (!process_.is_late()) return std::nullopt;
  return without_ucx(fmt::format("a process that loaded UCX was not done within {} s", longest_link_check.count()));
}

void LinkCheck::wait() const {
  const int channel = process_.channel().closed() ? -1 : process_.channel().fd();
  std::array<pollfd, 2> waits{{{process_.pidfd(), POLLIN, 0}, {channel, POLLIN, 0}}};
  ::poll(waits.data(), waits.size(), longest_wait);
}

void LinkCheck::read_messages() {
  try {
    while (auto message = process_.channel().receive())
      dispatch(FromLinkCheck(), *message, [this](const messages::LinksFound& found) { found_ = found; });
  } catch (const std::exception& error) {
    found_ = without_ucx(fmt::format("a process that loaded UCX sent {}", error.what()));
  }
}

messages::LinksFound check_links() {
  LinkCheck check(STDERR_FILENO);
  for (;;) {
    if (auto found = check.look()) return *std::move(found);
    check.wait();
  }
}

}  // namespace campipe
