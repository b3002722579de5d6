#include "app/supervisor/port/real_service_manager.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/log.h"

namespace campipe {

RealServiceManager::RealServiceManager() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  active_ = socket != nullptr && *socket != '\0';
  if (active_) set_address(socket);
  std::uint64_t within_us = 0;
  if (active_ && ::sd_watchdog_enabled(0, &within_us) > 0) watchdog_ = std::chrono::microseconds(within_us);
}

// A path, or a name of the abstract namespace, which begins with '@' and is sent with a zero in its place.
void RealServiceManager::set_address(std::string_view name) {
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

// sd_notify() would wait for room in the manager's socket.
bool RealServiceManager::send(const std::string& state) {
  const auto* address = static_cast<const sockaddr*>(static_cast<const void*>(&address_));
  constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  if (::sendto(socket_.get(), state.data(), state.size(), flags, address, address_size_) >= 0) return true;
  const int error = errno;
  if (error == EAGAIN || error == EINTR) return false;
  if (!std::exchange(told_failure_, true))
    spdlog::warn("systemd cannot be notified of the rig's state (NOTIFY_SOCKET): {}", std::strerror(error));
  return true;
}

}  // namespace campipe
