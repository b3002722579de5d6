#include "app/cluster/duties.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/cluster/json_take.h"
#include "core/replace_file.h"

namespace campipe {
namespace {

constexpr std::size_t largest_file = 4U << 20U;

std::string read_small(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(largest_file, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

bool is_recorded(const EtcdMirror& mirror, const ClusterKeys& keys, const std::string& camera,
                 const StoredAssignment& by) {
  const EtcdKeyValue* const said = mirror.find(keys.recorder(by.assignment.node, camera));
  if (said == nullptr || said->lease == 0) return false;
  nlohmann::json json = parse_shallow(said->value);
  std::string fence;
  return take_schema(json) && take(json, "fence", fence) && fence == text_of(by.fence);
}

}  // namespace

// A plan is written with the last of its assignments, or after it.
DutyKeeper::DutyKeeper(std::string node, NodeDuties duties) : node_(std::move(node)), duties_(std::move(duties)) {
  for (const auto& [camera, duty] : duties_) {
    guard_.accept(camera, duty.fence);
    newest_plan_ = std::max(newest_plan_, duty.fence);
  }
}

const NodeDuties& DutyKeeper::update(const StoredPlan& plan, const EtcdMirror& mirror, const ClusterKeys& keys) {
  const Fence of_plan{plan.epoch, plan.revision};
  plan_is_older_ = !plan.damage.empty() || of_plan < newest_plan_;
  const auto is_unreadable = [&](const std::string& key) {
    return plan.unreadable.contains(key) || plan.damaged.contains(key);
  };
  if (plan_is_older_ || is_unreadable(keys.plan())) return duties_;
  newest_plan_ = of_plan;
  refused_.clear();
  if (plan.generation == 0) return duties_;  // there is none yet, since the data were lost and somebody said so

  NodeDuties next;
  for (const auto& [camera, duty] : duties_) {
    const auto stored = plan.cameras.find(camera);
    const bool is_older = stored != plan.cameras.end() && stored->second.fence < duty.fence;
    if (is_older || is_unreadable(keys.generation(plan.generation) + camera)) next[camera] = duty;
  }
  for (const auto& [camera, stored] : plan.cameras) {
    // Also of those that are not its own: it must not take them back by an older assignment.
    if (!guard_.accept(camera, stored.fence)) {
      refused_.insert(camera);
      continue;
    }
    const std::string& node = stored.assignment.node;
    const auto before = duties_.find(camera);
    if (node == node_) {
      next[camera] = {stored.fence, stored.assignment.from};
    } else if (before != duties_.end() && !node.empty() && !is_recorded(mirror, keys, camera, stored)) {
      const bool next_knows = !stored.assignment.from.empty();
      next[camera] = {before->second.fence, before->second.from, node, stored.fence, next_knows};
    }
  }
  return duties_ = std::move(next);
}

void save_duties(const std::filesystem::path& file, const std::string& cluster, const std::string& node,
                 const NodeDuties& duties) {
  nlohmann::json json{{"schema", 1}, {"cluster", cluster}, {"node", node}, {"cameras", nlohmann::json::object()}};
  for (const auto& [camera, duty] : duties) {
    if (duty.is_leaving()) continue;
    json["cameras"][camera] = {{"epoch", duty.fence.epoch}, {"revision", duty.fence.revision}};
  }
  replace_file(file, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::optional<NodeDuties> saved_duties(const std::filesystem::path& file, const std::string& cluster,
                                       const std::string& node) {
  nlohmann::json json = parse_shallow(read_small(file));
  std::string of_cluster;
  std::string of_node;
  nlohmann::json cameras;
  const bool good = take_schema(json) && take(json, "cluster", of_cluster) && take(json, "node", of_node) &&
                    take(json, "cameras", cameras) && cameras.is_object();
  if (!good || of_cluster != cluster || of_node != node) return std::nullopt;
  NodeDuties duties;
  for (auto& [camera, value] : cameras.items()) {
    Fence fence;
    if (!value.is_object() || !take(value, "epoch", fence.epoch) || !take(value, "revision", fence.revision) ||
        fence.revision <= 0) {
      return std::nullopt;
    }
    duties[camera] = {fence};
  }
  return duties;
}

}  // namespace campipe
