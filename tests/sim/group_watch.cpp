#include "tests/sim/group_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "app/config/names.h"
#include "ipc/group_page.h"

namespace campipe::sim {
namespace {

constexpr std::int64_t rounding = 2;           // ns
constexpr auto longest_for_dead = seconds(5);  // that is removed from the group, or has a successor
constexpr auto in_calm = seconds(10);
constexpr std::uint64_t newest_sets = 250;                           // that some member has not come to yet
constexpr std::uint64_t most_made_up_for = GroupPage::window - 100;  // the others go on while a successor begins

std::uint64_t at_times(const nlohmann::json& frames, const char* cause) {
  return frames.at("dropped").value(cause, std::uint64_t{0});
}

}  // namespace

GroupWatch::GroupWatch(World& world, const nlohmann::json& config) : world_(world) {
  const nlohmann::json groups = config.value("sync_groups", nlohmann::json::object());
  for (const auto& [name, keys] : groups.items()) keys.at("cameras").get_to(members_[name]);
}

void GroupWatch::on_packet(const GroupConfig& group, const std::string& member, unsigned life, const FrameTimes& times,
                           bool pushed) {
  Stream& stream = streams_[group.name][member];
  if (stream.life != life) stream = Stream();
  stream.life = life;
  world_.reached(fmt::format("a set is encoded by a group that {}s", choice_name(group.on_missing)));
  if (!pushed) {
    stream.lost.insert(times.set);
    return;
  }
  if (stream.sets.empty()) stream.first_pts = times.pts;
  if (!stream.sets.empty() && times.set <= stream.sets.rbegin()->first)
    world_.fail(fmt::format("{}: set {} is encoded behind set {}", member, times.set, stream.sets.rbegin()->first));
  stream.rate = group.rate;
  stream.sets.emplace(times.set, world_.now());
  const std::uint64_t first = stream.sets.begin()->first;
  const double apart = static_cast<double>(times.set - first) * 1e9 / group.rate;
  if (std::abs(times.pts - stream.first_pts - std::llround(apart)) > rounding)
    world_.fail(fmt::format("{}: set {} is at {} ns, and set {} was at {} ns", member, times.set, times.pts, first,
                            stream.first_pts));
}

void GroupWatch::on_decision(const std::string& member, nanoseconds waited) {
  if (waited > seconds(1)) world_.reached("a set is waited for for long");
  if (worker_deaths_only_ && waited > longest_for_dead)
    world_.fail(fmt::format("{} has waited for the others of a set for {:.3f} s, and only workers have died", member,
                            std::chrono::duration<double>(waited).count()));
}

void GroupWatch::on_fault(const Fault& fault) {
  worker_deaths_only_ = worker_deaths_only_ && is_death(fault.kind) && fault.part == Part::worker;
}

void GroupWatch::on_status(const nlohmann::json& status) {
  if (seen_ && world_.now() - seen_->at < in_calm) return;
  seen_ = {world_.now(), nlohmann::json::object()};
  for (const auto& [name, camera] : status.at("cameras").items()) seen_->frames[name] = camera.at("frames");
}

bool GroupWatch::was_member(const std::string& camera) const {
  return std::ranges::any_of(members_, [&](const auto& group) { return group.second.contains(camera); });
}

std::set<std::string> GroupWatch::others_with(const std::string& camera) const {
  std::set<std::string> others;
  for (const auto& [group, members] : members_) {
    if (members.contains(camera)) others.insert(members.begin(), members.end());
  }
  others.erase(camera);
  return others;
}

void GroupWatch::require_in_step(const nlohmann::json& status,
                                 const std::map<std::string, CameraConfig>& wanted) const {
  const auto is_in = [&](const std::string& camera, const std::string& group) {
    const auto found = wanted.find(camera);
    return found != wanted.end() && found->second.enabled && found->second.group && found->second.group->name == group;
  };
  for (const auto& [group, members] : streams_) {
    for (const auto& [one, stream] : members) {
      for (const auto& [other, its] : members) {
        if (one != other && is_in(one, group) && is_in(other, group)) compare(group, one, other);
      }
    }
  }
  if (!seen_ || status.is_null()) return;
  for (const auto& [name, camera] : status.at("cameras").items()) {
    const bool runs = camera.at("state") == "running" && seen_->frames.contains(name);
    const auto config = wanted.find(name);
    if (!runs || config == wanted.end() || !config->second.group) continue;
    for (const char* cause : {"late", "set_incomplete", "out_of_step"}) {
      const auto more = at_times(camera.at("frames"), cause) - at_times(seen_->frames.at(name), cause);
      if (more > 0)
        world_.fail(fmt::format("{}: {} frames are still lost by {}, long after the last fault", name, more, cause));
    }
  }
}

// What the other one has encoded while this one did, as far as a successor makes up for it.
void GroupWatch::compare(const std::string& group, const std::string& one, const std::string& other) const {
  const Stream& own = streams_.at(group).at(one);
  const Stream& its = streams_.at(group).at(other);
  if (own.sets.empty() || its.sets.empty()) return;
  const std::uint64_t last = own.sets.rbegin()->first;
  const std::uint64_t newest = last - std::min(last, newest_sets);
  for (auto at = its.sets.lower_bound(own.sets.begin()->first); at != its.sets.end() && at->first <= newest; ++at) {
    const std::uint64_t set = at->first;
    if (own.sets.contains(set) || own.lost.contains(set)) continue;
    const auto after = own.sets.lower_bound(set);
    const std::chrono::duration<double> away = after->second - std::prev(after)->second;
    if (away.count() * own.rate > static_cast<double>(most_made_up_for)) continue;
    return world_.fail(fmt::format("set {} of {} is encoded by {}, and not by {}", set, group, other, one));
  }
  world_.reached("members of a group have encoded the same sets");
}

}  // namespace campipe::sim
