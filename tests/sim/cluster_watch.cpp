#include "tests/sim/cluster_watch.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace campipe::sim {
namespace {

// The lines with which a node ends a camera.
constexpr const char* taken = "is not this node's any more";
constexpr const char* leaves = "is another node's by now";
constexpr const char* uncertain = "stopped, since etcd has not said for too long that it is this node's";

}  // namespace

ClusterWatch::ClusterWatch(World& world, const ClusterModel& cluster, const Checks& checks, const RigChoice& choice)
    : world_(world), cluster_(cluster), checks_(checks) {
  for (const auto& [name, keys] : choice.file().at("cameras").items()) {
    if (keys.value("on_partition", "keep") == "stop") stops_.insert(name);
  }
}

void ClusterWatch::on_taken(std::string_view type, const nlohmann::json& body) {
  if (type == messages::ClusterLease::type) {
    const auto until = body.at("until").get<std::int64_t>();
    if (until < to_ns(world_.now() + ClusterModel::ttl)) lease_until_ = until;  // else it is a lie
  }
  if (type == messages::NodeNameTaken::type) duties_.clear();
  if (type != messages::ClusterDuties::type || !body.at("cameras").is_array()) return;
  std::map<std::string, Duty> duties;
  for (const nlohmann::json& duty : body.at("cameras")) {
    const auto [added, is_new] = duties.emplace(duty.at("camera"), Duty{duty.at("fence"), duty.at("leaving")});
    const auto before = duties_.find(added->first);
    if (added->second.leaves) world_.reached("a camera leaves the node");
    if (before == duties_.end() || before->second.fence == added->second.fence) continue;
    world_.reached("a fence grows");
  }
  duties_ = std::move(duties);
}

void ClusterWatch::on_written(const std::string& camera) {
  written_.insert({camera, checks_.life_of(camera)});
  if (const auto duty = duties_.find(camera); duty != duties_.end())
    written_under_.insert({camera, duty->second.fence});
}

// Under a fence of now, and not before something of the camera is in a file. Where its fence grows, its file goes on
// until the next key frame, so that nothing is lost.
void ClusterWatch::on_sent(std::string_view type, const nlohmann::json& body) {
  if (type != messages::RecordedCameras::type) return;
  std::map<std::string, std::string> recorded;
  for (const nlohmann::json& one : body.at("cameras")) {
    const std::string camera = one.at("camera");
    const std::string fence = one.at("fence");
    recorded[camera] = fence;
    const auto before = recorded_.find(camera);
    if (before != recorded_.end() && before->second == fence) continue;
    if (!duties_.contains(camera) || duties_.at(camera).fence != fence)
      world_.fail(fmt::format("{} is said to be recorded under {}, which is not its fence", camera, fence));
    const bool is_written = written_.contains({camera, checks_.life_of(camera)});
    if (!is_written && !written_under_.contains({camera, fence}))
      world_.fail(fmt::format("{} is said to be recorded, and nothing of it is in a file", camera));
  }
  recorded_ = std::move(recorded);
}

void ClusterWatch::on_named(const messages::ClusterDuties& named) const {
  std::set<std::string> names;
  for (const auto& duty : named.cameras) names.insert(duty.camera);
  for (const auto& [name, duty] : duties_) {
    const ClusterModel::Camera& camera = cluster_.cameras().at(name);
    if (!camera.is_here && !camera.is_recorded && !names.contains(name))
      world_.fail(fmt::format("{} is ended, and the other node does not record it yet", name));
  }
}

void ClusterWatch::on_leave(std::size_t processes) const {
  world_.reached("a node leaves its cluster");
  if (processes > 1) world_.fail("the node leaves its cluster while processes of it run");
}

// Null: the node may run it.
const char* ClusterWatch::why_not(const std::string& camera) const {
  const auto duty = duties_.find(camera);
  if (duty == duties_.end()) return "it is not this node's";
  if (!stops_.contains(camera)) return nullptr;
  if (duty->second.leaves) return "it is to stop before another node begins";
  return to_ns(world_.now()) < lease_until_ ? nullptr : "the lease is not certain any more";
}

void ClusterWatch::on_status(const nlohmann::json& status) const {
  for (const auto& [name, camera] : status.at("cameras").items()) {
    const char* const reason = ended_.contains(name) ? nullptr : why_not(name);
    if (reason != nullptr) world_.fail(fmt::format("{} runs here, and {}", name, reason));
  }
}

void ClusterWatch::on_log(const std::string& line) {
  const auto colon = line.find(": ");
  if (colon == std::string::npos) return;
  const std::string name = line.substr(0, colon);
  const std::string_view rest = std::string_view(line).substr(colon + 2);
  if (rest.starts_with("removed; ") || rest.starts_with("changed; ")) ended_.erase(name);
  if (rest != taken && rest != leaves && rest != uncertain) return;
  world_.reached(std::string(rest));
  const auto duty = duties_.find(name);
  const bool is_true = rest == taken    ? duty == duties_.end()
                       : rest == leaves ? duty != duties_.end() && duty->second.leaves
                                        : to_ns(world_.now()) >= lease_until_;
  if (!is_true) world_.fail("a camera is ended for another reason: " + line);
  // One that was ended, and was to come back, has nothing to go on with.
  const bool ran = ended_.insert(name).second;
  if (ran && why_not(name) == nullptr) world_.fail(fmt::format("{} is ended, and is still this node's", name));
}

void ClusterWatch::check() const {
  for (const auto& [name, camera] : cluster_.cameras()) {
    if (!camera.is_here) continue;
    const auto file = files_.find(name);
    if (file == files_.end() || file->second != text_of(camera.fence))
      world_.fail(fmt::format("{} is not recorded under its newest fence, {}", name, text_of(camera.fence)));
    if (!camera.is_recorded) world_.fail(fmt::format("{} is recorded, and the cluster does not know", name));
  }
}

}  // namespace campipe::sim
