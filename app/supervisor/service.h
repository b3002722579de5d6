// What the rig reports to systemd, where it runs as a service of Type=notify (configs/campipe.service): that it is
// ready, how it does, and that it is alive. Elsewhere (NOTIFY_SOCKET is not set) nothing is sent. Used by the
// supervisor's thread; no call waits: what the manager's socket does not take is kept, and sent with a later call of
// watchdog().
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/unique_handle.h"

namespace campipe {

class ServiceNotifier {
 public:
  ServiceNotifier();  // reads what systemd has put into the environment

  // Somebody listens.
  [[nodiscard]] bool active() const { return active_; }
  // The rig runs. The first call ends systemd's waiting for the start, and one after reloading() that of the reload;
  // others only change the line that `systemctl status` shows: `status`, one line.
  void ready(const std::string& status);
  // At every tick as long as all is well; sends what WatchdogSec= asks for, twice in that time. Without it for
  // WatchdogSec= the service is killed and started again.
  void watchdog();
  // A reload begins; ready() ends it, also where it was refused.
  void reloading();
  // The rig drains and ends.
  void stopping();

 private:
  void set_address(std::string_view name);
  void send(std::string state);
  void flush();

  bool active_ = false;
  sockaddr_un address_{};
  socklen_t address_size_ = 0;
  UniqueFd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};  // early: later there may be no descriptor left
  std::deque<std::string> unsent_;  // messages, the oldest first; ready() and watchdog() add none to it
  bool ready_ = false;
  std::string status_;
  std::optional<Clock::duration> watchdog_interval_;  // half of WatchdogSec=
  Clock::time_point next_watchdog_{};
  bool told_failure_ = false;
};

}  // namespace campipe
