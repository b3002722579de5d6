#include "app/cluster/own_keys.h"

#include <utility>

namespace campipe {

OwnKeys::OwnKeys(EtcdServers servers) : servers_(std::move(servers)) {
  static_cast<void>(EtcdClient(servers_));  // so that what is wrong with them is known here
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

bool OwnKeys::is_ready(std::int64_t mirror_revision) const {
  const std::lock_guard lock(mutex_);
  return writes_.is_ready(mirror_revision, Clock::now());
}

void OwnKeys::write(Changes changes) {
  const std::lock_guard lock(mutex_);
  next_ = std::move(changes);
  writes_.begin();
  wakeup_.notify_all();
}

std::string OwnKeys::problem() const {
  const std::lock_guard lock(mutex_);
  return writes_.problem();
}

void OwnKeys::run(const std::stop_token& stop) {
  EtcdClient client(servers_, stop);
  while (!stop.stop_requested()) {
    Changes changes;
    {
      std::unique_lock lock(mutex_);
      if (!wakeup_.wait(lock, stop, [&] { return next_.has_value(); })) return;
      changes = *std::exchange(next_, std::nullopt);
    }
    OwnKeyWrites::Written written = write_own_keys(client, changes);
    const std::lock_guard lock(mutex_);
    writes_.end(std::move(written), Clock::now());
  }
}

}  // namespace campipe
