// What a person asks of etcd, by a command: at once, since how long that takes is nothing that nodes see.
#pragma once

#include <optional>
#include <string>

#include "app/cluster/etcd_requests.h"
#include "tests/sim/cluster/model_etcd.h"

namespace campipe::sim {

class OperatorRequests final : public EtcdRequests {
 public:
  explicit OperatorRequests(ModelEtcd& etcd) : etcd_(etcd) {}

  EtcdResult<EtcdRange> read(const std::string& key) override { return etcd_.read(key); }
  EtcdResult<EtcdTxnResult> txn(const EtcdTxn& txn) override { return etcd_.txn(txn); }
  EtcdResult<EtcdLease> grant(std::chrono::seconds) override { return none(); }
  EtcdResult<std::optional<EtcdLease>> keep_alive(std::int64_t) override { return none(); }
  EtcdResult<std::optional<std::chrono::seconds>> time_to_live(std::int64_t lease) override {
    return etcd_.time_to_live(lease);
  }
  EtcdResult<bool> revoke(std::int64_t lease) override { return etcd_.revoke(lease); }
  void set_deadline(std::optional<Deadline>) override {}

 private:
  static EtcdError none() { return {EtcdFailure::refused, "a person has no lease"}; }
  ModelEtcd& etcd_;
};

}  // namespace campipe::sim
