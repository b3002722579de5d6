// systemd, where it has started the rig as a service of Type=notify.
#pragma once

#include <optional>
#include <string>

#include "core/clock.h"

namespace campipe {

class ServiceManager {
 public:
  ServiceManager() = default;
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;
  virtual ~ServiceManager() = default;

  // It listens.
  [[nodiscard]] virtual bool active() const = 0;
  // WatchdogSec=: it kills a service from which it has not heard for so long; nothing: it does not.
  [[nodiscard]] virtual std::optional<Clock::duration> watchdog() const = 0;
  // False: it cannot take the message now, and should be sent it again later. What can never be sent is given up.
  virtual bool send(const std::string& state) = 0;
};

}  // namespace campipe
