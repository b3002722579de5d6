#include "tests/sim/cluster_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace campipe::sim {
namespace {

constexpr auto plan_interval = milliseconds(500);
constexpr auto longest_send = milliseconds(200);  // to a push target, of a process that runs

}  // namespace

ClusterModel::ClusterModel(World& world, const RigChoice& choice)
    : world_(world),
      is_on_(choice.file().contains("cluster")),
      chance_(is_on_ ? world.chance.split() : Chance(0)) {  // other rigs' seeds stay as they are
  if (!is_on_) return;
  for (const auto& [name, keys] : choice.file().at("cameras").items()) cameras_[name];
  replan();
}

void ClusterModel::replan() {
  world_.in(plan_interval, [this] { replan(); });
  if (!plans_) return;
  for (auto& [name, camera] : cameras_) {
    const bool is_here = is_for_this_node(name, camera);
    if (is_here != camera.is_here) assign(name, camera, is_here);
  }
}

bool ClusterModel::is_for_this_node(const std::string& name, const Camera& camera) const {
  return lease_ != 0 && world_.now() >= camera.away_until && !unfit_.contains(name);
}

void ClusterModel::set_unfit(const std::vector<std::string>& cameras) {
  unfit_ = {cameras.begin(), cameras.end()};
  if (!unfit_.empty()) world_.reached("the node cannot record a camera");
}

void ClusterModel::assign(const std::string& name, Camera& camera, bool is_here) {
  camera.is_here = is_here;
  camera.is_recorded = false;
  camera.fence = {1, ++revision_};
  world_.trace(fmt::format("the plan gives {} to {}, {}", name, is_here ? "this node" : "the other node",
                           text_of(camera.fence)));
  world_.reached(is_here ? "the plan gives a camera to the node" : "the plan takes a camera from the node");
  if (is_here) return;
  camera.other_wants_push = true;
  have_others_push(camera);
  const bool is_quick = chance_.one_in(2);
  const nanoseconds takes =
      is_quick ? chance_.between(milliseconds(50), milliseconds(500)) : chance_.between(milliseconds(500), seconds(6));
  world_.in(takes, [&camera, fence = camera.fence] {
    if (camera.fence == fence) camera.is_recorded = true;
  });
}

void ClusterModel::have_others_push(Camera& camera) {
  if (!camera.other_wants_push || camera.pushed_by != Pushes::nobody) return;
  camera.pushed_by = Pushes::other_node;
  camera.other_pushes_since = world_.now();
}

void ClusterModel::cut_off(nanoseconds lasts) { cut_off_until_ = std::max(cut_off_until_, world_.now() + lasts); }

// Nobody can before the lease has ended.
void ClusterModel::take_name(nanoseconds lasts) {
  cut_off(ttl);
  name_taken_until_ = std::max(name_taken_until_, world_.now() + ttl + lasts);
}

// At once, and not with the next plan: it may be this node's again within the same moment.
void ClusterModel::give_away(std::uint64_t number, nanoseconds lasts) {
  auto& [name, camera] = *std::next(cameras_.begin(), static_cast<std::ptrdiff_t>(number % cameras_.size()));
  camera.away_until = std::max(camera.away_until, world_.now() + lasts);
  if (camera.is_here) assign(name, camera, false);
  world_.at(camera.away_until, [this, &name = name, &camera = camera] {
    if (plans_ && !camera.is_here && is_for_this_node(name, camera)) assign(name, camera, true);
  });
}

std::int64_t ClusterModel::join(const std::string& instance) {
  if (!instance_.empty() && instance != instance_) world_.fail("the node has another instance than before");
  instance_ = instance;
  if (lease_ != 0) world_.reached("a lease is taken over");
  if (lease_ == 0) lease_ = ++revision_;
  keep_alive(lease_);
  return lease_;
}

bool ClusterModel::keep_alive(std::int64_t lease) {
  if (lease != lease_) return false;
  lease_ends_ = world_.now() + ttl;
  world_.in(ttl, [this] {
    if (lease_ == 0 || world_.now() < lease_ends_) return;
    world_.reached("a lease ends");
    world_.trace("the node's lease ends");
    end_lease();
  });
  return true;
}

void ClusterModel::leave() { end_lease(); }

void ClusterModel::end_lease() {
  lease_ = 0;
  for (auto& [name, camera] : cameras_) {
    if (camera.pushed_by == Pushes::this_node) camera.pushed_by = Pushes::nobody;
    have_others_push(camera);
  }
}

// The node that had it ends it then, and its pushes.
void ClusterModel::say_recorded(const std::string& name) {
  Camera& camera = cameras_.at(name);
  if (!camera.is_here || camera.is_recorded) return;
  camera.is_recorded = true;
  world_.reached("the node has said that it records a camera");
  world_.in(chance_.between(milliseconds(10), milliseconds(500)), [&camera, fence = camera.fence] {
    if (camera.fence != fence) return;
    camera.other_wants_push = false;
    if (camera.pushed_by == Pushes::other_node) camera.pushed_by = Pushes::nobody;
  });
}

void ClusterModel::claim_push(const std::string& name) {
  Camera& camera = cameras_.at(name);
  if (lease_ != 0 && camera.pushed_by == Pushes::nobody) camera.pushed_by = Pushes::this_node;
}

void ClusterModel::release_push(const std::string& name) {
  Camera& camera = cameras_.at(name);
  if (camera.pushed_by != Pushes::this_node) return;
  world_.reached("a node gives a push back");
  camera.pushed_by = Pushes::nobody;
  have_others_push(camera);
}

// What a process sends that was stopped meanwhile was in its socket before.
void ClusterModel::on_pushed(const std::string& name, Clock::time_point began) const {
  const Camera& camera = cameras_.at(name);
  const Clock::time_point sent = std::min(world_.now(), began + longest_send);
  if (camera.pushed_by == Pushes::other_node && camera.other_pushes_since < sent)
    world_.fail(fmt::format("{} is pushed by two nodes", name));
}

}  // namespace campipe::sim
