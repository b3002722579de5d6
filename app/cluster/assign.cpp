#include "app/cluster/assign.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <queue>

#include "app/cluster/camera_units.h"

namespace campipe {
namespace {

constexpr double full_load = 0.85;     // cameras leave a node above this load, to whichever has much less
constexpr double busy = 0.5;           // and above this one to their home
constexpr double pays = 0.25;          // the other node's load must be lower by this much, with the camera
constexpr int most_moves_at_once = 8;  // to a node
constexpr double rounding = 1e-9;

using Vector = std::vector<double>;  // amounts, by the resource's number

struct Node;

struct Camera {
  const ClusterCamera* of = nullptr;
  std::vector<Vector> ways;
  Node* node = nullptr;
  std::size_t way = 0;  // on its node
  bool waits = false;   // on a node that is away
  std::string home;
  std::string reason;
};

struct Node {
  const ClusterNode* of = nullptr;
  Vector capacity;
  Vector used;
  std::vector<Camera*> cameras;
  int moved_here = 0;
};

// FNV-1a: the same on all machines. Spreads cameras over nodes that are equally good.
std::uint64_t mix(const std::string& camera, const std::string& node) {
  std::uint64_t hash = 14695981039346656037U;
  for (const std::string* text : {&camera, &node}) {
    for (const char c : *text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    hash = (hash ^ 0xFFU) * 1099511628211U;
  }
  return hash;
}

bool is_more_important(const Camera* a, const Camera* b) {
  if (a->of->priority != b->of->priority) return a->of->priority > b->of->priority;
  return a->of->name < b->of->name;
}

struct LessImportant {
  bool operator()(const Camera* a, const Camera* b) const { return is_more_important(b, a); }
};

class Assigner {
 public:
  explicit Assigner(const ClusterView& view) : view_(view) {
    number_resources();
    for (const ClusterNode& node : view.nodes) {
      nodes_.emplace(node.name, Node{&node, numbered(node.capacity), Vector(resources_.size(), 0), {}});
    }
    for (const ClusterCamera& camera : view.cameras) {
      Camera& added = cameras_[camera.name];
      added.of = &camera;
      for (const Amounts& way : camera.ways) added.ways.push_back(numbered(way));
      if (added.ways.empty()) added.ways.emplace_back(resources_.size(), 0);
    }
    for (auto& [name, camera] : cameras_) by_importance_.push_back(&camera);
    std::ranges::sort(by_importance_, is_more_important);
  }

  std::map<std::string, CameraPlace> assign() {
    for (Camera* camera : by_importance_) keep(*camera);
    while (!homeless_.empty()) {
      Camera* camera = homeless_.top();
      homeless_.pop();
      place(*camera);
    }
    for (Camera* camera : by_importance_) improve(*camera);
    std::map<std::string, CameraPlace> places;
    for (auto& [name, camera] : cameras_) places.emplace(name, place_of(camera));
    return places;
  }

 private:
  void number_resources() {
    const auto note = [&](const Amounts& amounts) {
      for (const auto& [resource, amount] : amounts) resources_.emplace(resource, 0);
    };
    for (const ClusterNode& node : view_.nodes) note(node.capacity);
    for (const ClusterCamera& camera : view_.cameras) std::ranges::for_each(camera.ways, note);
    std::size_t number = 0;
    for (auto& [resource, at] : resources_) at = number++;
  }
  Vector numbered(const Amounts& amounts) const {
    Vector numbers(resources_.size(), 0);
    for (const auto& [resource, amount] : amounts) numbers[resources_.at(resource)] = amount;
    return numbers;
  }

  static bool has_what_it_requires(const Camera& camera, const ClusterNode& node) {
    const auto has_label = [&](const auto& label) {
      const auto found = node.labels.find(label.first);
      return found != node.labels.end() && found->second == label.second;
    };
    return std::ranges::all_of(camera.of->labels, has_label) &&
           std::ranges::includes(node.features, camera.of->features);
  }
  static bool is_unfit(const Camera& camera, const ClusterNode& node) { return node.unfit.contains(camera.of->name); }
  static bool may_take(const Camera& camera, const ClusterNode& node) {
    return !node.draining && !is_unfit(camera, node) && has_what_it_requires(camera, node);
  }

  // The way in which the camera can run on the node, if it had all of it.
  static std::optional<std::size_t> way_on(const Camera& camera, const Node& node) {
    for (std::size_t way = 0; way < camera.ways.size(); ++way) {
      bool all = true;
      for (std::size_t r = 0; r < node.capacity.size(); ++r) all = all && camera.ways[way][r] <= node.capacity[r];
      if (all) return way;
    }
    return std::nullopt;
  }

  static double load(const Node& node) {
    double most = 0;
    for (std::size_t r = 0; r < node.used.size(); ++r) {
      if (node.capacity[r] > 0) most = std::max(most, node.used[r] / node.capacity[r]);
    }
    return most;
  }
  // The node's load with the camera; nothing: it has no room.
  static std::optional<double> load_with(const Node& node, const Vector& need) {
    double most = 0;
    for (std::size_t r = 0; r < need.size(); ++r) {
      const double sum = node.used[r] + need[r];
      if (need[r] > 0 && sum > node.capacity[r] * (1 + rounding)) return std::nullopt;
      if (node.capacity[r] > 0) most = std::max(most, sum / node.capacity[r]);
    }
    return most;
  }
  static std::optional<double> load_with(const Node& node, const Camera& camera) {
    const auto way = way_on(camera, node);
    return way ? load_with(node, camera.ways[*way]) : std::nullopt;
  }

  static void put(Camera& camera, Node& node) {
    camera.node = &node;
    camera.way = way_on(camera, node).value_or(0);
    for (std::size_t r = 0; r < node.used.size(); ++r) node.used[r] += camera.ways[camera.way][r];
    node.cameras.push_back(&camera);
    const std::string& name = node.of->name;
    if (name == camera.home || name == camera.of->wanted_node) camera.home.clear();
  }
  static void remove(Camera& camera) {
    Node& node = *camera.node;
    for (std::size_t r = 0; r < node.used.size(); ++r) node.used[r] -= camera.ways[camera.way][r];
    std::erase(node.cameras, &camera);
    camera.node = nullptr;
  }

  Node* find(const std::string& name) {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : &found->second;
  }

  void keep(Camera& camera) {
    const auto current = view_.current.find(camera.of->name);
    if (current == view_.current.end() || current->second.node.empty()) {
      homeless_.push(&camera);
      return;
    }
    const std::string& name = current->second.node;
    camera.home = current->second.home;
    Node* node = find(name);
    if (node == nullptr) {
      camera.waits = view_.waited_for.contains(name);
      if (camera.waits) return;
      if (camera.home.empty()) camera.home = name;
      homeless_.push(&camera);
      return;
    }
    if (!has_what_it_requires(camera, *node->of)) {
      camera.reason = name + " does not have what it requires any more";
      homeless_.push(&camera);
    } else if (!load_with(*node, camera)) {
      camera.reason = name + " has no room for it any more";
      homeless_.push(&camera);
    } else {
      put(camera, *node);
      // It keeps its place as long as there is no other.
      if (node->of->draining || is_unfit(camera, *node->of)) homeless_.push(&camera);
    }
  }

  struct Choice {
    Node* node = nullptr;
    double load = 0;
  };
  // The best node with room, other than where it is.
  Choice best_node(const Camera& camera, bool settled_only) {
    Choice best;
    for (auto& [name, node] : nodes_) {
      if (&node == camera.node || !may_take(camera, *node.of)) continue;
      if (settled_only && (!node.of->settled || node.moved_here >= most_moves_at_once)) continue;
      const auto with = load_with(node, camera);
      if (!with) continue;
      if (best.node == nullptr || is_better(camera, {&node, *with}, best)) best = {&node, *with};
    }
    return best;
  }
  static bool is_better(const Camera& camera, const Choice& a, const Choice& b) {
    const auto rank = [&](const Node& node) {
      return node.of->name == camera.of->wanted_node ? 2 : node.of->name == camera.home ? 1 : 0;
    };
    if (rank(*a.node) != rank(*b.node)) return rank(*a.node) > rank(*b.node);
    // What one camera cannot be recorded on, the next one probably cannot either.
    if (a.node->of->unfit.empty() != b.node->of->unfit.empty()) return a.node->of->unfit.empty();
    if (a.load < b.load - rounding || b.load < a.load - rounding) return a.load < b.load;
    return mix(camera.of->name, a.node->of->name) < mix(camera.of->name, b.node->of->name);
  }

  void place(Camera& camera) {
    Choice best = best_node(camera, false);
    if (camera.node != nullptr) {  // of a node that gives it up
      const ClusterNode& node = *camera.node->of;
      const std::string why = node.draining ? "is drained" : "cannot run or record it now";
      if (best.node == nullptr) {
        camera.reason = fmt::format("it stays on {}, which {}: no other node can take it", node.name, why);
        return;
      }
      camera.reason = node.name + " " + why;
      remove(camera);
    }
    if (best.node == nullptr) best.node = make_room(camera);
    if (best.node == nullptr) {
      camera.reason = why_nowhere(camera);
      return;
    }
    put(camera, *best.node);
  }

  // Those of a node that would have to give way, the least important first; empty: that does not help.
  std::vector<Camera*> in_the_way(const Camera& camera, Node& node) {
    const auto way = way_on(camera, node);
    if (!way) return {};
    std::vector<Camera*> less;
    for (Camera* other : node.cameras) {
      if (other->of->priority < camera.of->priority) less.push_back(other);
    }
    std::ranges::sort(less, [](const Camera* a, const Camera* b) { return is_more_important(b, a); });
    Node rest = {node.of, node.capacity, node.used, {}};
    std::vector<Camera*> leave;
    for (Camera* other : less) {
      if (load_with(rest, camera.ways[*way])) break;
      for (std::size_t r = 0; r < rest.used.size(); ++r) rest.used[r] -= other->ways[other->way][r];
      leave.push_back(other);
    }
    if (!load_with(rest, camera.ways[*way])) return {};
    // Not those that went before it was seen that others are needed, too.
    for (auto at = leave.begin(); at != leave.end();) {
      Node with = rest;
      for (std::size_t r = 0; r < with.used.size(); ++r) with.used[r] += (*at)->ways[(*at)->way][r];
      if (load_with(with, camera.ways[*way])) {
        rest = std::move(with);
        at = leave.erase(at);
      } else {
        ++at;
      }
    }
    return leave;
  }

  Node* make_room(const Camera& camera) {
    Node* chosen = nullptr;
    std::vector<Camera*> leave;
    for (auto& [name, node] : nodes_) {
      if (!may_take(camera, *node.of)) continue;
      std::vector<Camera*> those = in_the_way(camera, node);
      if (those.empty()) continue;
      const auto cost = [](const std::vector<Camera*>& of) { return std::pair(of.back()->of->priority, of.size()); };
      if (chosen != nullptr && cost(those) >= cost(leave)) continue;
      chosen = &node;
      leave = std::move(those);
    }
    for (Camera* other : leave) {
      remove(*other);
      if (other->home.empty()) other->home = chosen->of->name;
      other->reason = "it gave way to " + camera.of->name + " on " + chosen->of->name;
      homeless_.push(other);
    }
    return chosen;
  }

  void improve(Camera& camera) {
    if (camera.node == nullptr) return;
    Node& host = *camera.node;
    const auto go = [&](Node& to) {
      remove(camera);
      put(camera, to);
      ++to.moved_here;
    };
    Node* wanted = find(camera.of->wanted_node);
    if (wanted == &host) return;
    if (wanted != nullptr && may_take(camera, *wanted->of)) {
      if (load_with(*wanted, camera)) {
        go(*wanted);
      } else {
        camera.reason = wanted->of->name + ", where it is wanted, has no room for it";
      }
      return;
    }
    // Only cameras that were there before: what has just got a place has the best one.
    const auto current = view_.current.find(camera.of->name);
    if (current == view_.current.end() || current->second.node != host.of->name || load(host) < busy) return;
    const auto is_worth_it = [&](const Node& to, double with) { return &to != &host && load(host) - with >= pays; };
    Node* home = camera.home.empty() ? nullptr : find(camera.home);
    if (home != nullptr && home->of->settled && home->moved_here < most_moves_at_once && may_take(camera, *home->of)) {
      const auto with = load_with(*home, camera);
      if (with && is_worth_it(*home, *with)) return go(*home);
    }
    if (load(host) < full_load) return;
    const Choice best = best_node(camera, true);
    if (best.node != nullptr && is_worth_it(*best.node, best.load)) go(*best.node);
  }

  std::string why_nowhere(const Camera& camera) {
    if (nodes_.empty()) return "no node is there";
    bool permitted = false;
    bool fit = false;
    std::map<std::string, int> short_of;
    for (auto& [name, node] : nodes_) {
      if (node.of->draining || !has_what_it_requires(camera, *node.of)) continue;
      permitted = true;
      if (is_unfit(camera, *node.of)) continue;
      fit = true;
      const Vector& need = camera.ways[way_on(camera, node).value_or(camera.ways.size() - 1)];
      for (const auto& [resource, r] : resources_) {
        if (need[r] > 0 && node.used[r] + need[r] > node.capacity[r]) ++short_of[resource];
      }
    }
    if (!permitted) return "no node has the labels and features that it requires";
    if (!fit) return "no node can run and record it now";
    std::string what;
    for (const auto& [resource, times] : short_of) what += (what.empty() ? "" : ", ") + resource;
    return fmt::format("no node has room for it: too little {}", what);
  }

  CameraPlace place_of(const Camera& camera) const {
    if (camera.waits) return {view_.current.at(camera.of->name).node, camera.home};
    return {camera.node != nullptr ? camera.node->of->name : "", camera.home, camera.reason};
  }

  const ClusterView& view_;
  std::map<std::string, std::size_t> resources_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, Camera> cameras_;
  std::vector<Camera*> by_importance_;
  std::priority_queue<Camera*, std::vector<Camera*>, LessImportant> homeless_;
};

}  // namespace

std::map<std::string, CameraPlace> assign_cameras(const ClusterView& view) {
  const ClusterView merged = merge_units(view);
  return expand_units(view, Assigner(merged).assign());
}

}  // namespace campipe
