// Which cameras of a node of a cluster may push, and which it asks for (messages HoldPushes and ClusterLease). No I/O
// and no time of its own: ClusterPushes has the rig page, a simulation its model of it (tests/sim/cluster).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "app/control/messages/cluster.h"

namespace campipe {

class PushHolds {
 public:
  void on(const messages::ClusterLease& lease) {
    lease_ = lease;
    may_ = {lease.may_push.begin(), lease.may_push.end()};
  }
  // Until when the camera may push; 0: it may not. One that was given back and is wanted again has to be asked for
  // again: a lease that was sent before does not count.
  [[nodiscard]] std::int64_t until(const std::string& camera) const {
    const auto runs = runs_.find(camera);
    const auto held = held_.find(camera);
    const bool is_asked_for = held != held_.end() && held->second <= lease_.held;
    const bool may_push = is_asked_for && runs != runs_.end() && runs->second && may_.contains(camera);
    return may_push ? lease_.until : 0;
  }

  // A turn: begin(), then for each camera with pushes look() and, where it is this node's or a push of it is still
  // open, hold(), then end(). A camera is held from before it may push until no push of it is open: whether one is
  // counts only after look(), when the permit's end has been stored.
  void begin() {
    runs_.clear();
    next_.clear();
  }
  void look(const std::string& camera, bool is_own) { runs_[camera] = is_own; }
  void hold(const std::string& camera) {
    const auto before = held_.find(camera);
    next_[camera] = before == held_.end() ? number_ + 1 : before->second;
  }
  // What to ask for; nothing: as before.
  std::optional<messages::HoldPushes> end() {
    if (next_ == std::exchange(held_, next_)) return std::nullopt;
    ++number_;
    return held();
  }
  [[nodiscard]] messages::HoldPushes held() const {
    messages::HoldPushes message{number_, {}};
    for (const auto& [camera, since] : held_) message.cameras.push_back(camera);
    return message;
  }

 private:
  messages::ClusterLease lease_;
  std::set<std::string> may_;                  // cameras, of `lease_`
  std::map<std::string, bool> runs_;           // cameras with pushes that are here: they are this node's
  std::map<std::string, std::uint64_t> held_;  // as they were sent last, with the message since which they are held
  std::map<std::string, std::uint64_t> next_;
  std::uint64_t number_ = 0;  // of that
};

}  // namespace campipe
