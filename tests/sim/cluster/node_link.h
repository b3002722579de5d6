// What lies between a node and etcd: requests and answers that take time, get lost one way or both, or come late; and a
// watch that lags or serves nothing while it seems to.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cluster/etcd_requests.h"
#include "tests/sim/cluster/model_etcd.h"
#include "tests/sim/cluster/world.h"

namespace campipe::sim {

// Of a machine; faults change it.
struct NodeLink {
  bool out = true;              // requests arrive
  bool in = true;               // answers arrive
  Time in_lost_at{};            // connections of before then still carry what is sent, for a while
  Span slow{0};                 // more of each way
  bool late = false;            // requests may arrive after their time is over
  bool watch_is_stale = false;  // a member that is stopped serves it
  bool is_compacted = false;    // what the watch misses now is gone
  [[nodiscard]] bool is_whole() const { return out && in && !late && !watch_is_stale && slow == Span{0}; }
};

// Requests of one fiber.
class LinkRequests final : public EtcdRequests {
 public:
  LinkRequests(Process& process, ModelEtcd& etcd, std::shared_ptr<NodeLink> link)
      : process_(process), etcd_(etcd), link_(std::move(link)) {}
  void set_fiber(Fiber& fiber) { fiber_ = &fiber; }

  EtcdResult<EtcdRange> read(const std::string& key) override;
  EtcdResult<EtcdTxnResult> txn(const EtcdTxn& txn) override;
  EtcdResult<EtcdLease> grant(std::chrono::seconds ttl) override;
  EtcdResult<std::optional<EtcdLease>> keep_alive(std::int64_t lease) override;
  EtcdResult<std::optional<std::chrono::seconds>> time_to_live(std::int64_t lease) override;
  EtcdResult<bool> revoke(std::int64_t lease) override;
  void set_deadline(std::optional<Deadline> until) override { until_ = until; }

 private:
  template <typename Act>
  auto ask(EtcdFailure without_answer, Act act) -> decltype(act());
  Span one_way();

  Process& process_;
  ModelEtcd& etcd_;
  std::shared_ptr<NodeLink> link_;
  Fiber* fiber_ = nullptr;
  std::optional<Deadline> until_;
};

// What a node's watch has got and nobody has taken yet.
class LinkWatch {
 public:
  // `on_news`: there is something to take.
  LinkWatch(Process& process, ModelEtcd& etcd, std::shared_ptr<NodeLink> link, std::function<void()> on_news);
  // Something may have changed in etcd, or of the link.
  void look();
  std::vector<EtcdNews> take() { return std::exchange(news_, {}); }
  [[nodiscard]] bool serves() const { return !is_broken_; }

 private:
  void get(ModelEtcd::Position before, const EtcdNews& news);

  Process& process_;
  ModelEtcd& etcd_;
  std::shared_ptr<NodeLink> link_;
  std::function<void()> on_news_;
  ModelEtcd::Position position_;
  std::vector<EtcdNews> news_;
  bool is_asked_ = false;
  bool is_broken_ = true;
  Time connects_at_{};
};

}  // namespace campipe::sim
