// Reads and writes the configuration where that can hold up or bring down nothing else: in a process of its own, one
// for each time (`campipe load-config FILE`). The configuration's disk may not answer, and an encoder is opened to
// learn whether it takes its options, in a library that may crash or hang.
//
// The process reports each such step before it begins. One that takes too long over a step is killed, and
// one that dies has failed: either is an error at the place that the step was about. A process that a disk holds even
// then is left behind (see gone()).
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "app/config/changes.h"
#include "app/config/loaded_json.h"
#include "app/config/step.h"
#include "app/control/child_process.h"
#include "app/control/rig_signals.h"
#include "core/clock.h"
#include "core/indirect.h"

namespace campipe {

class ForkServer;
struct LoadedConfig;
namespace messages {
struct Loaded;
struct LoadsNext;
}  // namespace messages

struct LoadJob {
  std::filesystem::path file;
  CameraChanges changes = {};
  bool keep = false;  // keep_changes(); else load_config_with()
};

inline constexpr auto longest_load_step = std::chrono::seconds(8);  // without what it waits for a CPU

class LoadProcess {
 public:
  // Throws Error where the process cannot be started.
  LoadProcess(const LoadJob& job, const StartProcess& start);
  ~LoadProcess();  // kills it, and does not wait for its end
  LoadProcess(const LoadProcess&) = delete;
  LoadProcess& operator=(const LoadProcess&) = delete;

  // What came of it: of `keep` only errors. Nothing while it is at it: look again when one of these descriptors is
  // readable, and a few times a second. Never waits.
  std::optional<LoadedConfig> look();
  void add_waits(Waits& waits) const { process_->add_waits(waits); }
  // The process has ended.
  [[nodiscard]] bool gone();
  // It keeps changes: as long as it is not gone, no other one may.
  [[nodiscard]] bool writes() const { return writes_; }

 private:
  void read_messages();
  void on(const messages::LoadsNext& next);
  void on(messages::Loaded& done);
  void give_up(const std::string& how);

  bool writes_;
  std::unique_ptr<ChildProcess> process_;
  LoadStep step_{{0, 0, "", "starting the process that reads it"}, "try again"};
  std::optional<Indirect<LoadedConfig>> loaded_;
  Clock::time_point loaded_at_{};
  std::optional<ExitInfo> exit_;
  std::string how_;  // it failed; empty: it was not given up
};

// load_config() in such a process, which is forked from `forks` where that is ready, and logs to standard error. Waits
// for it, but no longer than until one of `signals`, where they are given, asks to end: then the configuration is
// empty. Throws Error.
LoadedConfig load_config_apart(const std::filesystem::path& file, RigSignals* signals, ForkServer* forks = nullptr);

inline constexpr const char* load_role = "load-config";
// The whole life of the process: its exit status.
int run_load_process(const std::filesystem::path& file);

}  // namespace campipe
