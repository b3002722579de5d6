// What the process of a cluster says to its supervisor: until when the node is certain of its lease, that its name is
// taken, and what it has to run; each when it has changed. No thread, no channel: pure but for what was said last.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/cluster/node_logic.h"
#include "app/control/messages/cluster.h"

namespace campipe {

class NodeReports {
 public:
  // With `on_etcd_missing: run`: so long etcd is waited for at the start.
  static constexpr std::chrono::seconds etcd_is_missing{10};

  explicit NodeReports(Clock::time_point began) : began_(began) {}
  // The node's last duties are known, and are to be run where etcd is missing.
  void set_has_last_duties(bool has) { has_last_duties_ = has; }
  // The newest HoldPushes: by then want_effects() has what it names.
  void set_held(std::uint64_t number) { held_ = number; }

  // To be called with each new view, in this order. Nothing: as before.
  std::optional<messages::ClusterLease> lease(const NodeView& view);
  std::optional<messages::NodeNameTaken> name_taken(const NodeView& view);
  struct Duties {
    messages::ClusterDuties message;
    bool are_the_last = false;  // that were saved: etcd is missing
  };
  std::optional<Duties> duties(const NodeView& view, Clock::time_point now);

 private:
  Clock::time_point began_;
  bool has_last_duties_ = false;
  std::uint64_t held_ = 0;
  // As it was said last.
  bool was_member_ = false;
  Clock::time_point lease_until_{};
  std::uint64_t answered_ = 0;
  std::set<std::string> may_push_;
  bool name_is_taken_ = false;
  std::optional<std::vector<messages::ClusterDuties::Duty>> duties_;
};

}  // namespace campipe
