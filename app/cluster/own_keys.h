// Keys in etcd by which a node says what it does: under its lease, so that they go with it, but for those that are to
// last. On a thread of its own, since a write may take seconds where etcd is in trouble. What is written is known when
// the mirror shows it, and not before. All functions but the constructor from one thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/cluster/etcd_client.h"

namespace campipe {

class OwnKeys {
 public:
  struct Changes {
    std::int64_t lease = 0;
    std::vector<std::pair<std::string, std::string>> claims{};   // made where there is no such key: another one's stays
    std::vector<std::pair<std::string, std::string>> puts{};     // written: of names that no other node uses
    std::vector<std::pair<std::string, std::string>> lasting{};  // written without the lease: the node leaves them
    std::vector<EtcdKeyValue> releases{};                        // erased, where they are still those

    [[nodiscard]] bool empty() const { return claims.empty() && puts.empty() && lasting.empty() && releases.empty(); }
  };

  // Throws Error as EtcdClient does.
  explicit OwnKeys(EtcdServers servers);
  OwnKeys(const OwnKeys&) = delete;
  OwnKeys& operator=(const OwnKeys&) = delete;

  // The next changes can be written: the mirror, of that revision, shows those before, or has had time enough for it.
  [[nodiscard]] bool is_ready(std::int64_t mirror_revision) const;
  // Only when it is ready.
  void write(Changes changes);
  // Why the last changes could not be written; empty: they were.
  [[nodiscard]] std::string problem() const;

 private:
  void run(const std::stop_token& stop);
  std::string write_all(EtcdClient& client, const Changes& changes);

  EtcdServers servers_;
  mutable std::mutex mutex_;
  std::condition_variable_any wakeup_;
  std::optional<Changes> next_;
  bool is_busy_ = false;
  bool failed_ = false;
  std::int64_t written_ = 0;   // revision of the newest one
  Clock::time_point again_{};  // at the latest
  std::string problem_;

  std::jthread thread_;  // last: it uses the others
};

}  // namespace campipe
