// What the logic of a cluster asks of etcd. EtcdClient asks a real one; a simulation asks its model of leases and
// revisions (tests/sim/cluster). Each call waits for its answer, for two seconds at most.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "app/cluster/etcd_values.h"

namespace campipe {

class EtcdRequests {
 public:
  virtual ~EtcdRequests() = default;

  // Reads one key. The range is empty if the key does not exist.
  virtual EtcdResult<EtcdRange> read(const std::string& key) = 0;
  virtual EtcdResult<EtcdTxnResult> txn(const EtcdTxn& txn) = 0;
  virtual EtcdResult<EtcdLease> grant(std::chrono::seconds ttl) = 0;
  // When the answered request was sent, with the TTL that began then at the earliest. Nothing: the lease is dead.
  virtual EtcdResult<std::optional<EtcdLease>> keep_alive(std::int64_t lease) = 0;
  // Returns the remaining TTL, or nothing if the lease has expired.
  virtual EtcdResult<std::optional<std::chrono::seconds>> time_to_live(std::int64_t lease) = 0;
  // Its keys go at once. True: it was there.
  virtual EtcdResult<bool> revoke(std::int64_t lease) = 0;
  // For the next requests: until when they have to be over, if that is sooner than their own time.
  virtual void set_deadline(std::optional<Deadline> until) = 0;

 protected:
  EtcdRequests() = default;
  EtcdRequests(const EtcdRequests&) = default;
  EtcdRequests(EtcdRequests&&) = default;
  EtcdRequests& operator=(const EtcdRequests&) = default;
  EtcdRequests& operator=(EtcdRequests&&) = default;
};

}  // namespace campipe
