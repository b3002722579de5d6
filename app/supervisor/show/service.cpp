#include "app/supervisor/show/service.h"

#include <utility>

namespace campipe {
namespace {

constexpr std::size_t most_unsent = 16;

}  // namespace

ServiceNotifier::ServiceNotifier(ServiceManager& manager) : manager_(manager) {}

void ServiceNotifier::ready(const std::string& status) {
  if (!unsent_.empty() || (ready_ && status == status_)) return;
  send((ready_ ? "" : "READY=1\n") + ("STATUS=" + status));
  ready_ = true;
  status_ = status;
}

void ServiceNotifier::watchdog() {
  flush();
  const auto now = Clock::now();
  const auto within = manager_.watchdog();
  if (!within || now < next_watchdog_ || !unsent_.empty()) return;
  next_watchdog_ = now + *within / 2;
  send("WATCHDOG=1");
}

void ServiceNotifier::reloading() {
  ready_ = false;
  // The time is for Type=notify-reload of newer versions, which distinguish an old READY=1 from a new one by it.
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now_ns() / 1000) + "\nSTATUS=reloading the configuration");
}

void ServiceNotifier::stopping() { send("STOPPING=1\nSTATUS=draining: files are being closed"); }

void ServiceNotifier::send(std::string state) {
  if (!manager_.active()) return;
  unsent_.push_back(std::move(state));
  if (unsent_.size() > most_unsent) unsent_.pop_front();
  flush();
}

void ServiceNotifier::flush() {
  while (!unsent_.empty() && manager_.send(unsent_.front())) unsent_.pop_front();
}

}  // namespace campipe
