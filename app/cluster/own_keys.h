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

#include "app/cluster/etcd_client.h"
#include "app/cluster/own_key_changes.h"

namespace campipe {

class OwnKeys {
 public:
  using Changes = OwnKeyChanges;

  // Throws Error as EtcdClient does.
  explicit OwnKeys(EtcdServers servers);
  OwnKeys(const OwnKeys&) = delete;
  OwnKeys& operator=(const OwnKeys&) = delete;

  // As OwnKeyWrites has it.
  [[nodiscard]] bool is_ready(std::int64_t mirror_revision) const;
  // Only when it is ready.
  void write(Changes changes);
  // Why the last changes could not be written; empty: they were.
  [[nodiscard]] std::string problem() const;

 private:
  void run(const std::stop_token& stop);

  EtcdServers servers_;
  mutable std::mutex mutex_;
  std::condition_variable_any wakeup_;
  std::optional<Changes> next_;
  OwnKeyWrites writes_;

  std::jthread thread_;  // last: it uses the others
};

}  // namespace campipe
