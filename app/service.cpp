#include "app/service.h"

#include <systemd/sd-daemon.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/log.h"

namespace campipe {

ServiceNotifier::ServiceNotifier() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  active_ = socket != nullptr && *socket != '\0';
  std::uint64_t within_us = 0;
  if (active_ && ::sd_watchdog_enabled(0, &within_us) > 0) {
    watchdog_interval_ = std::chrono::microseconds(within_us / 2);
  }
}

void ServiceNotifier::ready(const std::string& status) {
  if (ready_ && status == status_) return;
  send((ready_ ? "" : "READY=1\n") + ("STATUS=" + status));
  ready_ = true;
  status_ = status;
}

void ServiceNotifier::watchdog() {
  const auto now = Clock::now();
  if (!watchdog_interval_ || now < next_watchdog_) return;
  next_watchdog_ = now + *watchdog_interval_;
  send("WATCHDOG=1");
}

void ServiceNotifier::reloading() {
  ready_ = false;
  // The time is for Type=notify-reload of newer versions, which tell an old READY=1 from a new one by it.
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now_ns() / 1000) + "\nSTATUS=reloading the configuration");
}

void ServiceNotifier::stopping() { send("STOPPING=1\nSTATUS=draining: files are being closed"); }

void ServiceNotifier::send(const std::string& state) {
  if (!active_) return;
  const int result = ::sd_notify(0, state.c_str());
  if (result < 0 && !told_failure_) {
    told_failure_ = true;
    spdlog::warn("systemd cannot be told how the rig does (NOTIFY_SOCKET): {}", std::strerror(-result));
  }
}

}  // namespace campipe
