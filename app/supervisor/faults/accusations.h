// What becomes of processes that wrote into a ring what cannot be: the process that shares it with them has noted it in
// its page.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "app/supervisor/faults/crash_attribution.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"
#include "ipc/accusation.h"

namespace campipe {

class Accusations {
 public:
  Accusations(RigState& rig, Processes& processes, CrashAttribution& crashes)
      : rig_(rig), processes_(processes), crashes_(crashes) {}

  // To be called several times a second.
  void follow();
  // A process has died, and has no successor yet: nobody is ended for what the dead one is accused of.
  void on_death();

 private:
  void follow_packets(Camera& camera);
  void follow(Camera& camera, CameraEdge& edge);
  void follow(Camera& camera, Output& output, Accusation& accusation, ProcessId accuser);
  // `of_accuser`: that the accuser works for; of a cell's ring it is not that of the accused.
  void follow(Camera& camera, Output& output, ProcessId accuser, ProcessId accused, const Camera& of_accuser);
  void end(ManagedProcess& process, Camera& camera, Output& output, const std::string& why);

  RigState& rig_;
  Processes& processes_;
  CrashAttribution& crashes_;
  Clock::time_point next_look_{};
  std::map<std::pair<ProcessId, ProcessId>, Clock::time_point> accused_at_;  // last, by accuser and accused
};

}  // namespace campipe
