#include "app/supervisor/service.h"

#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/log.h"

namespace campipe {
namespace {

constexpr std::size_t most_unsent = 16;

}  // namespace

// A path, or a name of the abstract namespace, which begins with '@' and is sent with a zero in its place.
ServiceNotifier::ServiceNotifier() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  active_ = socket != nullptr && *socket != '\0';
  if (active_) set_address(socket);
  std::uint64_t within_us = 0;
  if (active_ && ::sd_watchdog_enabled(0, &within_us) > 0) {
    watchdog_interval_ = std::chrono::microseconds(within_us / 2);
  }
}

void ServiceNotifier::set_address(std::string_view name) {
  if ((name[0] != '/' && name[0] != '@') || name.size() >= sizeof address_.sun_path) {
    spdlog::warn("NOTIFY_SOCKET is neither a path nor an abstract name, so systemd is not notified: {}", name);
    active_ = false;
    return;
  }
  address_.sun_family = AF_UNIX;
  std::ranges::copy(name, std::begin(address_.sun_path));
  if (name[0] == '@') address_.sun_path[0] = '\0';
  address_size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (name[0] == '@' ? 0 : 1));
}

void ServiceNotifier::ready(const std::string& status) {
  if (!unsent_.empty() || (ready_ && status == status_)) return;
  send((ready_ ? "" : "READY=1\n") + ("STATUS=" + status));
  ready_ = true;
  status_ = status;
}

void ServiceNotifier::watchdog() {
  flush();
  const auto now = Clock::now();
  if (!watchdog_interval_ || now < next_watchdog_ || !unsent_.empty()) return;
  next_watchdog_ = now + *watchdog_interval_;
  send("WATCHDOG=1");
}

void ServiceNotifier::reloading() {
  ready_ = false;
  // The time is for Type=notify-reload of newer versions, which distinguish an old READY=1 from a new one by it.
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now_ns() / 1000) + "\nSTATUS=reloading the configuration");
}

void ServiceNotifier::stopping() { send("STOPPING=1\nSTATUS=draining: files are being closed"); }

void ServiceNotifier::send(std::string state) {
  if (!active_) return;
  unsent_.push_back(std::move(state));
  if (unsent_.size() > most_unsent) unsent_.pop_front();
  flush();
}

// For all that is kept. sd_notify() would wait for room in the manager's socket.
void ServiceNotifier::flush() {
  for (; !unsent_.empty(); unsent_.pop_front()) {
    const std::string& state = unsent_.front();
    const auto* address = static_cast<const sockaddr*>(static_cast<const void*>(&address_));
    constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    if (::sendto(socket_.get(), state.data(), state.size(), flags, address, address_size_) >= 0) continue;
    const int error = errno;
    if (error == EAGAIN || error == EINTR) return;
    if (!std::exchange(told_failure_, true))
      spdlog::warn("systemd cannot be notified of the rig's state (NOTIFY_SOCKET): {}", std::strerror(error));
  }
}

}  // namespace campipe
