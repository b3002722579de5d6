// The supervisor: starts source, masters, workers, publisher and, of a node of a cluster, what joins that, routes rings
// between them, watches and restarts them, and accounts for every frame. It handles no media and no GPU, so it rarely
// crashes. One thread: a loop that lets each part do what is due. Whatever goes wrong in one part, the others are
// served: cameras and their files depend on it.
#pragma once

#include <optional>
#include <string>

#include "app/control/step_guard.h"
#include "app/supervisor/cluster/cluster_control.h"
#include "app/supervisor/cluster/cluster_rig.h"
#include "app/supervisor/cluster/mosaic_links.h"
#include "app/supervisor/cluster/remote_stages.h"
#include "app/supervisor/faults/accusations.h"
#include "app/supervisor/faults/crash_attribution.h"
#include "app/supervisor/faults/lost_gpus.h"
#include "app/supervisor/life/camera_lifecycle.h"
#include "app/supervisor/life/camera_roster.h"
#include "app/supervisor/life/camera_setup.h"
#include "app/supervisor/life/config_changes.h"
#include "app/supervisor/life/mosaic_cells.h"
#include "app/supervisor/life/ring_router.h"
#include "app/supervisor/message_router.h"
#include "app/supervisor/moving/balancer.h"
#include "app/supervisor/moving/load_shedder.h"
#include "app/supervisor/moving/moves.h"
#include "app/supervisor/port/port.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"
#include "app/supervisor/show/log_relay.h"
#include "app/supervisor/show/run_accounts.h"
#include "app/supervisor/show/service.h"
#include "app/supervisor/show/status_json.h"
#include "app/supervisor/show/status_view.h"

namespace campipe {

struct RigConfig;

// Of the parts each has references only to those before it (25 fields, as it owns them all).
class Supervisor {
 public:
  // `port` must outlive it.
  Supervisor(const RigConfig& rig, const Machine& machine, const RunOptions& options, Port& port);
  ~Supervisor();

  // Runs the rig until every source has ended, the duration is over or a signal came. Returns the exit status.
  int run();

 private:
  void add_processes(const RigPlan& plan);
  [[nodiscard]] bool needed(const ManagedProcess& process) const;
  bool on_death(ManagedProcess& process, const ExitInfo& info);

  void turn();
  void wait_for_events();
  void obey_signals();
  void pass_on_notes();
  void tick();
  void show_ready();
  void send_status();

  // The end of a run
  void watch_ending();
  void drain(const std::string& why);
  void tell_it_ends();
  void begin_leaving();
  void end_leaving();
  void leave_cluster();
  void kill_all();
  void refuse(const std::string& why);
  [[nodiscard]] bool everything_is_over() const;
  [[nodiscard]] bool mosaics_are_over() const;
  void settle_the_rest();
  [[nodiscard]] bool had_just_begun(const Camera& camera, const Output& output) const;
  [[nodiscard]] bool ended_as_asked(const Camera& camera, const Output& output) const;
  [[nodiscard]] int exit_status() const;

  Port& port_;
  StatusView view_{port_.terminal()};
  LogRelay log_{view_, port_.log()};
  StepGuard guard_;
  RigState rig_;
  Processes processes_;
  CameraLifecycle lifecycle_{rig_, processes_};
  CrashAttribution crashes_{rig_, processes_, lifecycle_};
  Accusations accusations_{rig_, processes_, crashes_};
  RingRouter rings_{rig_, processes_, lifecycle_};
  CameraSetup setup_{rig_, processes_, rings_};
  MosaicCells cells_{rig_, processes_, setup_};
  CameraRoster roster_{rig_, processes_, lifecycle_, setup_};
  ServiceNotifier service_{port_.service()};
  ConfigChanges changes_;
  Moves moves_{rig_, processes_, setup_, cells_,
               [this](pid_t asker, std::uint64_t request, const messages::Answer& answer) {
                 changes_.answer(asker, request, [&] { return answer; });
               }};
  Balancer balancer_{rig_, processes_, moves_, port_};
  LoadShedder shedder_{rig_, processes_, balancer_};
  Relocations relocations_{rig_, processes_, lifecycle_, setup_, roster_, moves_};
  LostGpus lost_gpus_{rig_, processes_, lifecycle_, roster_, moves_, relocations_, shedder_, port_};
  ClusterRig cluster_{rig_, processes_, roster_, port_, [this](const std::string& why) { refuse(why); }};
  ClusterControl cluster_control_{rig_, processes_,
                                  [this](pid_t asker, std::uint64_t request, const messages::Answer& answer) {
                                    changes_.answer(asker, request, [&] { return answer; });
                                  }};
  LinkExchange exchange_{rig_, processes_, cluster_control_, port_};
  MosaicLinks links_{rig_, processes_, setup_, rings_, cluster_, cluster_control_, exchange_};
  RemoteStages remote_stages_{rig_, processes_, exchange_};
  GuestStages guest_stages_{rig_, processes_, rings_, cluster_, cluster_control_, exchange_};
  MessageRouter messages_{rig_,   processes_, lifecycle_,       rings_,    roster_,      changes_,
                          moves_, cluster_,   cluster_control_, exchange_, guest_stages_};
  RunAccounts accounts_{rig_, processes_, port_};
  StatusJson status_;

  struct Ending {
    std::string why;  // "ended", "stopped", "duration"; empty: it does not end yet
    std::optional<Clock::time_point> drain_began;
    std::optional<Clock::time_point> over_since;  // everything_is_over()
    std::optional<Clock::time_point> leave_began;
    bool gave_up = false;      // the time to drain was over before everything had been handed over
    bool logged_late = false;  // that processes do not leave
    bool left_cluster = false;
    bool refused = false;  // it must not run
  };
  Ending ending_;
  Clock::time_point last_tick_{};
};

}  // namespace campipe
