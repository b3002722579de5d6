// The room `cluster` owns what a rig does as a node of a cluster: which cameras are its own and until when, whose
// files and pushes are permitted, links to other nodes, and stages that nodes do for each other. Where the rig is no
// node it does nothing. Only the loop may call it.
//
// The cameras of a rig that is a node of a cluster (docs/cluster.md): those that the plan gives to this node, as the
// cluster's rig describes them, and no others. The rig's process `cluster` says which; this part makes the running
// cameras be these, with what reloads use, and tells that process what the node has and what cameras take.
//
// It does not wait for that process: where it is gone, cameras go on as they are, but for those that must not run on
// two nodes (`on_partition: stop`), which end with the time that the lease was certain for.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/config/remote_place.h"
#include "app/control/load_process.h"
#include "app/control/messages/cluster.h"
#include "app/probe/link_check.h"
#include "app/supervisor/cluster/cluster_pushes.h"
#include "app/supervisor/cluster/start_pacer.h"
#include "app/supervisor/cluster/unfit_cameras.h"
#include "app/supervisor/life/camera_roster.h"
#include "app/supervisor/port/port.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"
#include "core/indirect.h"

namespace campipe {

struct CameraConfig;
struct LoadedConfig;

class ClusterRig {
 public:
  // `on_refused`: this rig must not run, since another one has the node's name.
  ClusterRig(RigState& rig, Processes& processes, CameraRoster& roster, Port& port,
             std::function<void(const std::string& reason)> on_refused);

  [[nodiscard]] bool is_on() const;
  // What a new process of the cluster has to know.
  void send_setup(ManagedProcess& process);
  // A new publisher: cameras of the cluster that do not run here, of which there may be recordings.
  void send_recorded();

  // Each throws BadMessage for what that process cannot mean.
  void on(const messages::ClusterRigWritten& written);
  void on(const messages::ClusterDuties& duties);
  void on(const messages::ClusterLease& lease);
  void on(const messages::NodeNameTaken& taken);

  // How far apart the clocks of nodes may be: the tightest tolerance of the rig's synchronised groups.
  [[nodiscard]] std::chrono::nanoseconds clock_tolerance() const;

  // Of the cluster's rig; valid until the next follow().
  [[nodiscard]] std::vector<const CameraConfig*> mosaics_across_nodes() const;
  // Parts of its cameras that are done on this node, where that is not the camera's own. Valid likewise.
  struct GuestPart {
    const CameraConfig* camera = nullptr;
    const RemotePart* part = nullptr;
  };
  [[nodiscard]] std::vector<GuestPart> guest_parts() const;

  // To be called several times a second.
  void follow();

 private:
  struct Known {
    Indirect<CameraConfig> config;       // as it would run here
    std::string problem = {};            // why it cannot
    std::vector<RemotePart> parts = {};  // that are done here if it runs on another node
  };
  struct Failed {
    std::string reason;
    Clock::time_point again;
  };
  void follow_load();
  void take(LoadedConfig loaded);
  [[nodiscard]] std::string describe(const std::vector<ConfigError>& errors) const;
  [[nodiscard]] std::size_t awaited() const;
  void send_needs();
  void follow_capacity();
  void follow_unfit();
  void follow_links();
  void follow_cameras();
  void follow_recordings();
  [[nodiscard]] messages::RecordedCameras recorded() const;
  [[nodiscard]] std::map<std::string, const CameraConfig*> wanted(Clock::time_point now) const;
  [[nodiscard]] const char* why_not(const std::string& camera) const;
  void take_fence(const std::string& camera, const std::string& fence);
  void start_waiting(std::vector<std::string> waiting, Clock::time_point now);
  void try_to(const std::string& camera, const std::function<void()>& act);
  [[nodiscard]] messages::OfferNode offer() const;

  RigState& rig_;
  Processes& processes_;
  CameraRoster& roster_;
  StartProcess start_;  // what loads a rig, and looks for links
  std::function<void(const std::string&)> on_refused_;
  std::string instance_;
  std::optional<std::int64_t> newest_;  // revision that is to be read
  std::int64_t loading_ = 0;
  std::optional<std::int64_t> loaded_;
  std::unique_ptr<LoadProcess> load_;
  std::map<std::string, Known> cameras_;  // of the rig
  std::optional<messages::PlanCameras> needs_;
  messages::OfferNode offered_;
  std::unique_ptr<LinkCheck> link_check_;
  std::optional<messages::LinksFound> links_found_;  // by it; none: it has not ended yet
  Clock::time_point next_offer_ = {};
  bool is_unusable_ = false;           // the newest rig, here
  std::optional<std::int64_t> taken_;  // the revision that cameras_ are of
  std::string conditions_;             // what of it is missing on this node
  std::size_t awaits_ = 0;             // so many GPUs of it are
  std::string problem_;                // why
  Clock::time_point load_again_ = {};
  // Cameras, and whether they leave; none: nothing is known yet.
  std::optional<std::map<std::string, bool>> duties_;
  bool has_files_ = false;                       // of recordings, as was sent last
  std::map<std::string, std::string> recorded_;  // cameras, with their fences, as they were sent last
  std::int64_t lease_until_ = 0;
  bool was_member_ = false;
  std::map<std::string, Failed> failed_;
  UnfitCameras unfit_;
  StartPacer pacer_;
  ClusterPushes pushes_;
};

}  // namespace campipe
