// Which camera a hang or a death of a process is put down to, and what that camera then has to go without: the third
// time within a minute it is quarantined, so that it costs the others nothing more.
#pragma once

#include <cstdint>
#include <string>

#include "app/supervisor/life/camera_lifecycle.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

struct ThreadBlock;

class CrashAttribution {
 public:
  CrashAttribution(RigState& rig, Processes& processes, CameraLifecycle& lifecycle)
      : rig_(rig), processes_(processes), lifecycle_(lifecycle) {}

  // Kills the processes that hang. To be called several times a second.
  void find_hung();
  // This process did not run for a while: others may not have either.
  void ignore_heartbeats_until(Clock::time_point then) { ignore_heartbeats_until_ = then; }
  // Of a process that has died: did a thread of a camera fault? True: none did, for the third time within a minute.
  bool on_death(ManagedProcess& process, const ExitInfo& info);
  // `what` happened to the process in that camera's, or output's, thread. `unnoticed`: for how long it had been so.
  void record(const ManagedProcess& process, Camera& camera, Output& output, const std::string& what,
              Clock::duration unnoticed = {});

 private:
  // `threads_too`: or a thread of a camera in it.
  [[nodiscard]] bool hung(ManagedProcess& process, bool threads_too);
  bool has_hung_thread(const ManagedProcess& process);
  void record_who_waits_too(const ManagedProcess& process, const ThreadBlock& first);
  bool give_up_viewers(Camera& camera);
  bool give_up_decoding(Camera& camera);
  // Calls `look(camera, thread)` for each thread that the process has for a camera, until it returns true.
  template <typename Look>
  bool any_thread(const ManagedProcess& process, const Look& look);

  RigState& rig_;
  Processes& processes_;
  CameraLifecycle& lifecycle_;
  Clock::time_point ignore_heartbeats_until_{};
  Clock::time_point next_threads_{};  // when cameras' threads are looked at
};

}  // namespace campipe
