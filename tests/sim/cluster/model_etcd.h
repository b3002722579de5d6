// A model of what etcd promises, and of no more: keys with revisions, transactions that are carried out whole or not at
// all, leases, and the order of changes that watches have. It has no network: NodeLink has that. It can lose its
// leader, be full, go back to a backup, and lose its data.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/cluster/etcd_mirror.h"
#include "app/cluster/etcd_values.h"
#include "tests/sim/cluster/world.h"

namespace campipe::sim {

class ModelEtcd {
 public:
  explicit ModelEtcd(World& world);

  EtcdResult<EtcdRange> read(const std::string& key) const;
  EtcdResult<EtcdTxnResult> txn(const EtcdTxn& txn);
  EtcdResult<std::int64_t> grant(std::chrono::seconds ttl);
  // Its time, which begins anew; nothing: it is dead.
  EtcdResult<std::optional<std::chrono::seconds>> keep_alive(std::int64_t lease);
  EtcdResult<std::optional<std::chrono::seconds>> time_to_live(std::int64_t lease) const;
  EtcdResult<bool> revoke(std::int64_t lease);
  // By a person, or by a node that lies.
  void put(const std::string& key, const std::string& value, std::int64_t lease = 0);
  void erase(const std::string& key);

  // Without one, nothing is answered, and no lease ends; a new one gives each lease its whole time again.
  void set_leader(bool is_there);
  [[nodiscard]] bool has_leader() const { return has_leader_; }
  void set_full(bool is_full) { is_full_ = is_full; }
  [[nodiscard]] bool is_full() const { return is_full_; }
  void save_backup();
  void restore_backup();
  void lose_data();

  // All keys as they are, as a mirror that lags nothing would have them.
  [[nodiscard]] const EtcdMirror& keys() const { return keys_; }
  [[nodiscard]] std::int64_t revision() const { return keys_.revision(); }
  [[nodiscard]] bool lease_lives(std::int64_t lease) const { return leases_.contains(lease); }
  [[nodiscard]] Time lease_ends(std::int64_t lease) const { return leases_.at(lease).ends; }

  // What a watch has got. It is behind another history after a backup, and after a compaction that it missed.
  struct Position {
    std::int64_t revision = 0;
    int history = 0;
  };
  // What a watch gets next; nothing: there is nothing new.
  std::optional<EtcdNews> next(Position& position, bool is_compacted) const;
  [[nodiscard]] int history() const { return history_number_; }
  // Called after each change.
  void on_change(std::function<void()> act) { on_change_ = std::move(act); }
  // Called before each transaction that is carried out.
  void on_txn(std::function<void(const EtcdTxn&)> act) { on_txn_ = std::move(act); }

 private:
  struct Lease {
    std::chrono::seconds ttl{0};
    Time ends;
  };
  struct Backup {
    EtcdMirror keys;
    std::map<std::int64_t, Lease> leases;
  };
  [[nodiscard]] bool holds(const EtcdCompare& compare) const;
  void change(std::vector<EtcdEvent> events);
  void end_leases();
  void end_lease(std::int64_t lease);
  void replace(EtcdMirror keys, std::map<std::int64_t, Lease> leases);

  World& world_;
  bool has_leader_ = true;
  bool is_full_ = false;
  EtcdMirror keys_;
  std::map<std::int64_t, Lease> leases_;
  std::int64_t next_lease_ = 1000;
  int history_number_ = 0;
  std::vector<EtcdEvent> history_;  // since that began
  std::optional<Backup> backup_;
  std::function<void()> on_change_;
  std::function<void(const EtcdTxn&)> on_txn_;
};

}  // namespace campipe::sim
