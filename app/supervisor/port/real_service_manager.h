// systemd, where NOTIFY_SOCKET names its socket (sd_notify(3)).
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string_view>

#include "app/supervisor/port/service_manager.h"
#include "core/unique_handle.h"

namespace campipe {

class RealServiceManager final : public ServiceManager {
 public:
  RealServiceManager();  // reads what systemd has put into the environment

  [[nodiscard]] bool active() const override { return active_; }
  [[nodiscard]] std::optional<Clock::duration> watchdog() const override { return watchdog_; }
  bool send(const std::string& state) override;

 private:
  void set_address(std::string_view name);

  bool active_ = false;
  std::optional<Clock::duration> watchdog_;
  sockaddr_un address_{};
  socklen_t address_size_ = 0;
  UniqueFd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};  // early: later there may be no descriptor left
  bool told_failure_ = false;
};

}  // namespace campipe
