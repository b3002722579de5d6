// The cluster that the rig is a node of, for who looks at it through this node: how it is, as the process `cluster`
// has said last, and what is asked of it, which that process does. Nothing here waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "app/control/cluster_state.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

namespace messages {
struct Answer;
struct ChangeRig;
struct ClusterSeen;
struct DrainNode;
struct MoveToNode;
}  // namespace messages

class ClusterControl {
 public:
  // To who asked; `request` as in messages::DrainNode.
  using Answerer = std::function<void(pid_t asker, std::uint64_t request, const messages::Answer& answer)>;

  ClusterControl(RigState& rig, Processes& processes, Answerer answer)
      : rig_(rig), processes_(processes), answer_(std::move(answer)) {}

  // As that process has said last.
  [[nodiscard]] const ClusterState& seen() const { return seen_; }
  // For the status; null: the rig is no node.
  [[nodiscard]] nlohmann::json status() const;

  // The answer follows, at the latest after eight seconds.
  void ask(messages::DrainNode asked, pid_t asker);
  void ask(messages::MoveToNode asked, pid_t asker);
  void ask(messages::ChangeRig asked, pid_t asker);
  // To be called several times a second.
  void follow();

  // Of the process `cluster`. The last one throws BadMessage where nothing was asked.
  void on(messages::ClusterSeen& seen);
  void on(messages::Answer& answer);

 private:
  struct Asked {
    pid_t asker = 0;
    std::uint64_t request = 0;  // the asker's number
    Clock::time_point until;
  };
  template <typename Request>
  void pass_on(Request asked, pid_t asker);
  [[nodiscard]] bool process_runs() const;

  RigState& rig_;
  Processes& processes_;
  Answerer answer_;
  ClusterState seen_;
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, Asked> asked_;  // by the number that the process has; the first one is the oldest
};

}  // namespace campipe
