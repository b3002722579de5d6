// The room `faults` owns what follows from faults: to which camera a crash, a hang or a damaged ring is put down,
// quarantine, and GPUs that are gone, missing or back. That a process died, and is started again, is the business of
// `processes`. Only the loop may call it.
//
// What becomes of a rig when a GPU is gone, and when it is back: its cameras go on where there is a place for them, by
// their priority, and go back (Relocations). The others are not touched. GpuHealth decides when (docs/decisions/0016).
// A GPU that was not there when the rig wanted it is gone as well, and GpuArrivals looks for it.
#pragma once

#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/placement/missing_gpus.h"
#include "app/probe/device_check.h"
#include "app/supervisor/faults/gpu_arrivals.h"
#include "app/supervisor/faults/gpu_health.h"
#include "app/supervisor/life/camera_lifecycle.h"
#include "app/supervisor/life/camera_roster.h"
#include "app/supervisor/moving/load_shedder.h"
#include "app/supervisor/moving/moves.h"
#include "app/supervisor/moving/relocations.h"
#include "app/supervisor/port/port.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

class LostGpus {
 public:
  LostGpus(RigState& rig, Processes& processes, CameraLifecycle& lifecycle, CameraRoster& roster, Moves& moves,
           Relocations& relocations, LoadShedder& shedder, Port& port);

  // After everything else has been done about it.
  void on_death(const ManagedProcess& process, const ExitInfo& info);
  // To be called with each tick.
  void follow();
  void add_waits(Waits& waits) const;
  // Those that are suspected or not here, as docs/api.md describes them.
  [[nodiscard]] nlohmann::json status() const;
  // It may be gone.
  [[nodiscard]] bool is_doubtful(const Device& device) const { return health_.is_suspected(device); }
  // Nothing runs there: no process is to be started for it.
  [[nodiscard]] bool is_gone(const Device& device) const { return health_.is_gone(device); }

 private:
  void look_at_checks();
  void follow_awaited();
  void miss_awaited(Clock::time_point now);
  void arrive(const GpuArrival& arrival);
  void do_step(const GpuHealth::Step& step);
  void check(const Device& device);
  void leave(const Device& device, const std::string& reason);
  void come_back(const Device& device, const std::string& reason);
  void send_guests_on(const Device& device);
  void displace(const std::vector<CameraId>& cameras);
  struct Place {
    std::string name;  // "1", "cpu"; empty: where plan() says
    bool fits = true;
  };
  [[nodiscard]] Place place_for(const Camera& camera) const;
  void make_room_on(const std::string& place);
  void end_nodes_of_gone();
  void end_nodes_of(ManagedProcess& worker);
  void end_masters_of_gone();
  [[nodiscard]] bool ends_on_gone(const ManagedProcess& master) const;
  void end_decoding_in(const ManagedProcess& master);
  [[nodiscard]] bool runs_on(const Camera& camera, const Device& device) const;
  [[nodiscard]] unsigned cameras_on(const Device& device) const;
  [[nodiscard]] Gpu* find(const Device& device);

  RigState& rig_;
  Processes& processes_;
  CameraLifecycle& lifecycle_;
  CameraRoster& roster_;
  Moves& moves_;
  Relocations& relocations_;
  LoadShedder& shedder_;
  Port& port_;
  GpuHealth health_;
  std::list<DeviceCheck> checks_;
  GpuArrivals arrivals_;
  Clock::time_point master_died_{};
  std::map<ProcessId, Clock::time_point> left_at_;  // since then a master does not let go of a GPU that is gone
};

}  // namespace campipe
