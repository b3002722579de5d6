// The process that reads the configuration, or writes its overlay, as app/load: it announces each step, sends what came
// of it, and ends.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/sim/change.h"
#include "tests/sim/helper_process.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class Owner;

class LoadChild final : public HelperProcess {
 public:
  LoadChild(World& world, Owner& owner, std::string file, pid_t pid, LoadTrouble trouble, Chance chance);
  ~LoadChild() override;

  bool send(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) override;
  std::optional<Message> receive(std::string_view large) override;
  void kill() override;
  std::optional<ExitInfo> reap() override;

 private:
  struct Run;

  void note_taken();

  std::shared_ptr<Run> run_;  // what is to come keeps it, too
  std::string file_;
  bool heard_ = false;   // the supervisor has what it has read,
  bool reaped_ = false;  // and its end
};

}  // namespace campipe::sim
