#include "tests/sim/cluster/large_cluster.h"

#include <fmt/format.h>

#include <utility>

#include "app/cluster/election.h"

namespace campipe::sim {
namespace {

using namespace std::chrono_literals;

constexpr Span look_for_changes = 100ms;
constexpr Span longest_node_start = 3s;

NodeOffer offer_of(std::size_t node, int start) {
  NodeOffer offer{fmt::format("n{}", node), fmt::format("n{}/{}", node, start), "10.0.0.1:8443", "1"};
  offer.capacity = {{"cores", 32}, {"memory", 64e9}};
  return offer;
}

}  // namespace

LargeNode::LargeNode(World& world, ModelEtcd& etcd, const ClusterKeys& keys, std::chrono::seconds ttl, NodeOffer offer)
    : SimLease(world, requests_, fiber_, std::move(offer)),
      world_(world),
      process_(world),
      requests_(process_, etcd, link_),
      keeper_(keys, ttl, current_offer().node, current_offer().instance, *this),
      fiber_(process_, [this] { keeper_.run(); }) {
  requests_.set_fiber(fiber_);
}

Clock::duration LargeNode::join_wait(int) { return world_.random().between(100ms, 2s); }

LargeCluster::LargeCluster(std::uint64_t seed, int nodes, int cameras)
    : world_(seed),
      etcd_(world_),
      planner_(world_),
      requests_(planner_, etcd_, std::make_shared<NodeLink>()),
      fiber_(planner_, [this] { keep_planning(); }) {
  requests_.set_fiber(fiber_);
  for (int i = 0; i < cameras; ++i)
    cameras_.push_back({fmt::format("camera-{}", i), i % 100, {{{"cores", 1}, {"memory", 5e8}}}});
  etcd_.on_change([this] { has_changed_ = true; });
  nodes_.resize(static_cast<std::size_t>(nodes));
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    world_.at(world_.now() + world_.random().between(Span{0}, longest_node_start), [this, i] { start(i); });
}

LargeCluster::~LargeCluster() { planner_.kill(); }

void LargeCluster::start(std::size_t node) {
  nodes_.at(node) =
      std::make_unique<LargeNode>(world_, etcd_, keys_, ttl, offer_of(node, static_cast<int>(world_.seconds())));
}

void LargeCluster::cut(std::size_t node, bool is_cut) {
  nodes_.at(node)->link().in = nodes_.at(node)->link().out = !is_cut;
}

void LargeCluster::stop(std::size_t node, bool is_stopped) {
  Process& process = nodes_.at(node)->process();
  if (is_stopped) return process.stop();
  process.go_on();
}

void LargeCluster::offer(std::size_t node, const Amounts& capacity) {
  NodeOffer offer = nodes_.at(node)->offered();
  offer.capacity = capacity;
  nodes_.at(node)->set_offer(std::move(offer));
}

void LargeCluster::spoil_offer(std::size_t node) {
  const std::string key = keys_.node(fmt::format("n{}", node));
  etcd_.put(key, "garbage", etcd_.keys().find(key)->lease);
}

// Whichever node is elected: as that one, by what etcd has.
void LargeCluster::keep_planning() {
  while (true) {
    fiber_.wait_until(world_.now() + look_for_changes);
    const auto elected = elected_planner(etcd_.keys(), keys_);
    if (!elected) continue;
    std::optional<PlanSnapshot> next;
    if (std::exchange(has_changed_, false)) next = {elected->candidacy, etcd_.keys(), cameras_};
    if (!maker_.take(std::move(next), false, world_.now())) continue;
    const PlanMade made = maker_.carry_out(requests_, [this] { return world_.now(); });
    for (const auto& move : made.moves) moves_ += move.from.empty() ? 0 : 1;
  }
}

std::map<std::string, std::string> LargeCluster::places() const {
  std::map<std::string, std::string> places;
  for (const auto& [camera, stored] : plan().cameras) places[camera] = stored.assignment.node;
  return places;
}

std::set<std::string> LargeCluster::without_node() const {
  std::set<std::string> cameras;
  for (const auto& [camera, node] : places()) {
    if (node.empty()) cameras.insert(camera);
  }
  return cameras;
}

std::set<std::string> LargeCluster::on_nodes_that_are_away() const {
  std::set<std::string> cameras;
  for (const auto& [camera, node] : places()) {
    if (etcd_.keys().find(keys_.node(node)) == nullptr) cameras.insert(camera);
  }
  return cameras;
}

}  // namespace campipe::sim
