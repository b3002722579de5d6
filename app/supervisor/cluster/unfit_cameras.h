// The cameras that a node of a cluster cannot run or record, so that other nodes get them: a disk is full or not there,
// a GPU is missing. Pure arithmetic of times; one thread.
//
// A node does not see when a camera that has left could be recorded here again. So the camera may come back after
// `try_again`, and no sooner: all nodes of a cluster may record on the same full disk.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"

namespace campipe {

class UnfitCameras {
 public:
  static constexpr auto patience = std::chrono::seconds(5);  // with a disk on which room is being made
  static constexpr auto try_again = std::chrono::minutes(10);
  static constexpr std::size_t most_named = 100;  // an offer is bounded

  // How a camera of the rig is on this node. `runs`: and all is recorded that should be. `paused`: a recording is.
  enum class Seen : std::uint8_t { not_here, runs, paused, cannot_run };
  // To be called for each camera of the rig, several times a second.
  void look(const std::string& camera, Seen seen, Clock::time_point now);
  // Those that are not in the rig any more are forgotten.
  template <typename IsInRig>
  void keep(const IsInRig& is_in_rig) {
    std::erase_if(cameras_, [&](const auto& camera) { return !is_in_rig(camera.first); });
  }

  // By name.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  struct Unfit {
    std::optional<Clock::time_point> paused_since{};
    std::optional<Clock::time_point> until{};  // nothing: it is paused, and may go on at once
  };
  std::map<std::string, Unfit> cameras_;
};

}  // namespace campipe
