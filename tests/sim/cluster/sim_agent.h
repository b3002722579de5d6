// The process `campipe cluster` of a simulated node: the code that the real one runs (LeaseKeeper, PlanMaker,
// write_own_keys, NodeLogic, NodeReports), with fibers where that has threads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/cluster/lease_keeper.h"
#include "app/cluster/node_logic.h"
#include "app/cluster/node_reports.h"
#include "tests/sim/cluster/node_link.h"
#include "tests/sim/cluster/sim_lease.h"

namespace campipe::sim {

class SimAgent final : private NodeParts, private SimLease {
 public:
  struct Options {
    ClusterKeys keys;
    NodeOffer offer;  // with its node and instance
    std::chrono::seconds ttl{5};
    NodeDuties duties{};
    std::optional<NodeDuties> last_duties{};
  };
  // What it says to its supervisor, and what checks look at; each as soon as it happens.
  struct Out {
    std::function<void(const messages::ClusterLease&)> lease;
    std::function<void(const messages::NodeNameTaken&)> name_taken;
    std::function<void(const messages::ClusterDuties&)> duties;
    std::function<void(const NodeDuties&)> save_duties;
    std::function<void(const PlanSnapshot&, const PlanMade&)> planned;
    std::function<void()> has_left;
  };
  SimAgent(World& world, ModelEtcd& etcd, const std::shared_ptr<NodeLink>& link, Options options, Out out);
  ~SimAgent() override;

  Process& process() { return process_; }
  [[nodiscard]] const NodeView& view() const { return logic_.view(); }
  LinkWatch& watch() { return watch_; }
  [[nodiscard]] bool is_leaving() const { return is_ending_; }

  // As messages of the supervisor.
  void on_offer(NodeOffer offer);
  void on_cameras(std::vector<ClusterCamera> cameras);
  void on_recorded(std::map<std::string, std::string> fences, bool has_files);
  void on_hold(const messages::HoldPushes& hold);
  void on_leave();

 private:
  // Of NodeParts.
  MembershipState membership() override { return last_state(); }
  std::vector<EtcdNews> news() override { return watch_.take(); }
  [[nodiscard]] std::string news_problem() const override { return watch_.serves() ? "" : "no member serves"; }
  void plan(PlanSnapshot snapshot) override;
  void rest() override;
  PlanMade planned() override;
  [[nodiscard]] bool may_write(std::int64_t revision) const override { return writes_.is_ready(revision, now()); }
  void write(OwnKeyChanges changes) override;
  [[nodiscard]] std::string write_problem() const override { return writes_.problem(); }
  // Of LeasePort.
  [[nodiscard]] bool is_ending() const override { return is_ending_; }
  Clock::duration join_wait(int tried) override;
  void set_state(const MembershipState& state) override;

  void keep_lease();
  void keep_planning();
  void keep_writing();
  void look_soon();
  void look();

  World& world_;
  Process process_;
  Options options_;
  Out out_;
  LinkWatch watch_;
  LinkRequests lease_requests_;
  LinkRequests plan_requests_;
  LinkRequests key_requests_;
  LeaseKeeper keeper_;
  PlanMaker maker_;
  NodeLogic logic_;
  NodeReports reports_;
  bool is_ending_ = false;
  bool looks_soon_ = false;

  std::optional<PlanSnapshot> next_plan_;
  bool rests_ = false;
  PlanMade made_;
  std::optional<OwnKeyChanges> next_write_;
  OwnKeyWrites writes_;

  Fiber lease_fiber_;
  Fiber plan_fiber_;
  Fiber key_fiber_;
};

}  // namespace campipe::sim
