#include "app/cluster/cluster_process.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "app/cluster/agent.h"
#include "app/cluster/cluster_servers.h"
#include "app/cluster/cluster_status.h"
#include "app/cluster/cluster_writer.h"
#include "app/cluster/node_reports.h"
#include "app/cluster/rig_change.h"
#include "app/cluster/rig_keeper.h"
#include "app/control/child.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/cluster.h"
#include "app/control/messages/requests.h"
#include "core/log.h"
#include "core/printable.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;
using Stage = MembershipState::Stage;

constexpr auto store_first_again = 5s;
constexpr auto show_interval = 200ms;

std::string describe(const ClusterPlanner::Move& move) {
  return move.camera + (move.to.empty() ? ": has no node" : ": goes to " + move.to) +
         (move.from.empty() ? "" : " from " + move.from) + (move.reason.empty() ? "" : ": " + move.reason);
}

class ClusterProcess {
 public:
  int run() {
    return child_.run(
        {[this](Message& message) { handle(message); }, [] { end_at_once(); }, [this] { return tick(); }});
  }

 private:
  void handle(Message& message) {
    dispatch(messages::ToCluster(), message, [this](auto& read) { on(read); });
  }

  void on(messages::JoinCluster& join);
  void on(const messages::OfferNode& offer);
  void on(messages::PlanCameras& plan);
  void on(const messages::HoldPushes& hold);
  void on(const messages::RecordedCameras& recorded);
  void on(const messages::DrainNode& asked);
  void on(const messages::MoveToNode& asked);
  void on(messages::ChangeRig& asked);
  void on(const messages::LeaveCluster&);

  // The supervisor is gone, and its other processes are closing their files. The lease is left to end by itself: until
  // then they have.
  [[noreturn]] static void end_at_once() { _exit(EXIT_SUCCESS); }

  bool tick();
  void take_state(const messages::OfferNode& offer);
  void report_membership(const ClusterAgent::View& view);
  void report_problem(const std::string& problem);
  void report_kept(const std::map<std::string, std::string>& kept);
  void follow_rig(const ClusterAgent::View& view);
  void follow_duties(const ClusterAgent::View& view);
  void show(const ClusterAgent::View& view);
  void change(std::uint64_t request, const nlohmann::json& done,
              const std::function<ClusterChange(const EtcdMirror& mirror)>& make);

  Child child_;
  messages::JoinCluster joined_as_;
  NodeOffer offer_;
  std::unique_ptr<RigKeeper> keeper_;
  std::unique_ptr<ClusterWriter> writer_;
  std::unique_ptr<ClusterAgent> agent_;
  NodeReports reports_{Clock::now()};

  // As it was sent last.
  std::map<std::string, std::string> kept_;
  std::string problem_;
  std::string planner_;
  std::int64_t rig_ = 0;
  Clock::time_point store_first_at_{};
  ClusterState seen_;
  std::int64_t seen_revision_ = -1;  // what seen_ was made of
  Clock::time_point show_at_{};

  std::atomic<bool> has_left_{false};
  std::jthread leaving_;
};

void ClusterProcess::on(messages::JoinCluster& join) {
  joined_as_ = std::move(join);
  const ClusterConfig& config = joined_as_.config;
  offer_.node = node_name(config);
  offer_.instance = joined_as_.instance;
  offer_.address = config.address;
  offer_.version = CAMPIPE_VERSION;
  offer_.labels = config.labels;
  take_state(joined_as_.offer);
  const EtcdServers servers = servers_of(config);
  keeper_ = std::make_unique<RigKeeper>(
      RigKeeper::Options{servers, config.name, offer_.node, joined_as_.folder}, [this](std::int64_t revision) {
        child_.send(messages::ClusterRigWritten{RigKeeper::rig_file(joined_as_.folder).string(), revision});
      });
  ClusterAgent::Options options{servers, config.name, offer_};
  if (config.on_etcd_missing == OnEtcdMissing::run)
    options.last_duties = saved_duties(RigKeeper::duties_file(joined_as_.folder), config.name, offer_.node);
  for (const auto& [camera, fence] : joined_as_.duties) {
    if (const auto known = read_fence(fence)) options.duties[camera] = {*known};
  }
  reports_.set_has_last_duties(options.last_duties.has_value());
  agent_ = std::make_unique<ClusterAgent>(std::move(options));
  writer_ = std::make_unique<ClusterWriter>(servers, [this](const messages::Answer& answer) { child_.send(answer); });
  seen_.cluster = config.name;
  seen_.node = offer_.node;
  spdlog::info("node {} of cluster {}", offer_.node, config.name);
}

void ClusterProcess::take_state(const messages::OfferNode& offer) {
  offer_.capacity = offer.capacity;
  offer_.devices = offer.devices;
  offer_.draining = offer.unusable;
  offer_.unfit = {offer.unfit.begin(), offer.unfit.end()};
}

void ClusterProcess::on(const messages::OfferNode& offer) {
  if (!agent_) return;
  take_state(offer);
  agent_->set_offer(offer_);
}

void ClusterProcess::on(messages::PlanCameras& plan) {
  if (!agent_) return;
  std::vector<ClusterCamera> cameras;
  for (messages::PlanCameras::Needs& needs : plan.cameras) {
    cameras.push_back({.name = std::move(needs.name),
                       .priority = needs.priority,
                       .ways = std::move(needs.ways),
                       .unit = std::move(needs.unit)});
  }
  agent_->set_cameras(std::move(cameras));
}

void ClusterProcess::on(const messages::HoldPushes& hold) {
  if (!agent_) return;
  reports_.set_held(hold.number);
  agent_->want_effects({hold.cameras.begin(), hold.cameras.end()});
}

void ClusterProcess::on(const messages::RecordedCameras& recorded) {
  if (!agent_) return;
  std::map<std::string, std::string> fences;
  for (const auto& [camera, fence] : recorded.cameras) fences[camera] = fence;
  agent_->set_recorded(std::move(fences));
  if (recorded.has_files) agent_->hold_recordings();
}

void ClusterProcess::change(std::uint64_t request, const nlohmann::json& done,
                            const std::function<ClusterChange(const EtcdMirror& mirror)>& make) {
  if (!agent_) return child_.send(messages::Answer{409, {{"error", "this node leaves the cluster"}}, request});
  const EtcdMirror& mirror = agent_->mirror();
  if (mirror.revision() == 0)
    return writer_->refuse(request, 503, "the cluster could not be read yet: " + agent_->view().problem);
  writer_->put(request, make(mirror), done);
}

void ClusterProcess::on(const messages::DrainNode& asked) {
  change(asked.request, {{"node", asked.node}, {"draining", !asked.end}},
         [&](const EtcdMirror& mirror) { return drain_change(mirror, joined_as_.config.name, asked.node, asked.end); });
}

void ClusterProcess::on(const messages::MoveToNode& asked) {
  const nlohmann::json node = asked.node ? nlohmann::json(*asked.node) : nlohmann::json();
  change(asked.request, {{"camera", asked.camera}, {"node", node}}, [&](const EtcdMirror& mirror) {
    return move_change(mirror, joined_as_.config.name, asked.camera, asked.node.value_or(""));
  });
}

void ClusterProcess::on(messages::ChangeRig& asked) {
  if (!agent_) return child_.send(messages::Answer{409, {{"error", "this node leaves the cluster"}}, asked.request});
  const std::uint64_t request = asked.request;
  const auto write = [keys = ClusterKeys(joined_as_.config.name), stored = agent_->view().rig,
                      file = RigKeeper::rig_file(joined_as_.folder), asked = std::move(asked)](EtcdClient& client) {
    return change_rig(client, keys, stored, file, asked);
  };
  writer_->put(request, write);
}

// It may wait for etcd, and this thread has to beat meanwhile.
void ClusterProcess::on(const messages::LeaveCluster&) {
  if (leaving_.joinable()) return;
  leaving_ = std::jthread([this, agent = std::move(agent_)]() mutable {
    agent.reset();
    has_left_ = true;
    child_.wake();
  });
}

bool ClusterProcess::tick() {
  if (has_left_) return true;
  if (!agent_) return false;
  const ClusterAgent::View& view = agent_->update(Clock::now());
  report_membership(view);
  report_problem(view.problem.empty() ? view.rig.problem : view.problem);
  follow_rig(view);
  follow_duties(view);
  report_kept(view.kept);
  show(view);
  for (const ClusterPlanner::Move& move : agent_->take_moves()) {
    spdlog::info("cluster: {}", printable(describe(move)));
  }
  if (view.planner != planner_) {
    planner_ = view.planner;
    spdlog::info("cluster: {} plans", planner_.empty() ? "nobody" : printable(planner_));
  }
  return false;
}

void ClusterProcess::report_membership(const ClusterAgent::View& view) {
  if (const auto lease = reports_.lease(view)) child_.send(*lease);
  if (const auto taken = reports_.name_taken(view)) child_.send(*taken);
}

void ClusterProcess::report_problem(const std::string& problem) {
  if (problem == problem_) return;
  if (!problem.empty()) spdlog::warn("cluster: {}", problem);
  if (problem.empty()) spdlog::info("cluster: etcd answers, and this node takes part");
  problem_ = problem;
}

void ClusterProcess::report_kept(const std::map<std::string, std::string>& kept) {
  for (const auto& [camera, node] : kept) {
    if (kept_.contains(camera)) continue;
    spdlog::warn("cluster: {}: goes to {}, which has not begun to record it for {} s: it goes on here until then",
                 printable(camera), printable(node), NodeHandOver::patience.count());
  }
  kept_ = kept;
}

void ClusterProcess::follow_rig(const ClusterAgent::View& view) {
  const bool is_there = view.rig.revision != 0;
  if (is_there && view.rig.problem.empty() && view.rig.revision != rig_) {
    rig_ = view.rig.revision;
    keeper_->keep(view.rig);
  }
  const bool is_first = view.plan_is_known && !is_there && view.membership.stage == Stage::member;
  if (!is_first || Clock::now() < store_first_at_) return;
  store_first_at_ = Clock::now() + store_first_again;
  keeper_->store_first(view.rig, joined_as_.rig);
}

// As it is, where that is another state than before: a plan of a thousand cameras comes in many pieces.
void ClusterProcess::show(const ClusterAgent::View& view) {
  const auto now = Clock::now();
  if (now < show_at_) return;
  const EtcdMirror& mirror = agent_->mirror();
  const ClusterState::Etcd etcd{.up = view.membership.stage == Stage::member && now < view.membership.effects_end,
                                .problem = view.problem.empty() ? std::nullopt : std::optional(view.problem)};
  if (mirror.revision() == seen_revision_ && etcd == seen_.etcd) return;
  ClusterState state = cluster_state(mirror, ClusterKeys(seen_.cluster), view.plan, view.rig, seen_.node, view.refused);
  state.cluster = seen_.cluster;
  state.etcd = etcd;
  const bool is_first = seen_revision_ < 0;
  seen_revision_ = mirror.revision();
  if (!is_first && state == seen_) return;
  seen_ = std::move(state);
  show_at_ = now + show_interval;
  child_.send(messages::ClusterSeen{seen_});
}

void ClusterProcess::follow_duties(const ClusterAgent::View& view) {
  const auto duties = reports_.duties(view, Clock::now());
  if (!duties) return;
  if (duties->are_the_last) {
    spdlog::warn("cluster: etcd cannot be reached: this node runs what it was assigned last");
    child_.send(messages::ClusterRigWritten{RigKeeper::rig_file(joined_as_.folder).string(), 0});
  }
  child_.send(duties->message);
  if (!duties->are_the_last) keeper_->keep(view.duties);
}

}  // namespace

int run_cluster() { return ClusterProcess().run(); }

}  // namespace campipe
