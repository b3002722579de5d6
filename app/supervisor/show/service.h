// What the rig reports to systemd, where it runs as a service of Type=notify (configs/campipe.service): that it is
// ready, how it does, and that it is alive. Elsewhere nothing is sent. Used by the supervisor's thread; no call waits:
// what the manager does not take is kept, and sent with a later call of watchdog().
#pragma once

#include <deque>
#include <string>

#include "app/supervisor/port/service_manager.h"
#include "core/clock.h"

namespace campipe {

class ServiceNotifier {
 public:
  // `manager` must outlive it.
  explicit ServiceNotifier(ServiceManager& manager);

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
  void send(std::string state);
  void flush();

  ServiceManager& manager_;
  std::deque<std::string> unsent_;  // messages, the oldest first; ready() and watchdog() add none to it
  bool ready_ = false;
  std::string status_;
  Clock::time_point next_watchdog_{};
};

}  // namespace campipe
