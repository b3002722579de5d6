// Cameras that come and go. A change touches only its camera: the others' processes, rings, encoders and files stay.
//
// A camera that is to go is stopped like one whose source has ended, so that what was decoded still goes all the way.
// When its processes are done with it they forget it, and its ids are free. A camera that is changed goes, and comes
// anew in its place.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/supervisor/life/admission.h"
#include "app/supervisor/life/answers.h"
#include "app/supervisor/life/camera_lifecycle.h"
#include "app/supervisor/life/camera_setup.h"
#include "app/supervisor/life/worker_choice.h"
#include "app/supervisor/rig/accounting.h"

namespace campipe {

namespace messages {
struct Answer;
struct SetRecording;
}  // namespace messages
struct CameraConfig;
struct RigConfig;

class CameraRoster {
 public:
  CameraRoster(RigState& rig, Processes& processes, CameraLifecycle& lifecycle, CameraSetup& setup)
      : rig_(rig),
        processes_(processes),
        lifecycle_(lifecycle),
        setup_(setup),
        workers_(rig, processes),
        admission_(rig) {}

  // Before the processes are started: the rig's own cameras, in the configuration's order.
  void add_all(const RigPlan& plan);
  // Throws Error, before anything is changed, where these cameras do not fit. `only_these`: all others go.
  void require_room(std::span<const CameraConfig> coming, bool only_these = false);
  // Throws Error.
  void add(const CameraConfig& asked);
  // `successor` comes in its place when nothing of it is left; none: nothing does.
  void retire(Camera& camera, const std::optional<CameraConfig>& successor);
  // It is to be so: in place where no process has to know of it, as of its priority; else it goes, and comes anew.
  void change(Camera& camera, const CameraConfig& config);
  // It goes, and comes anew where plan() puts it now, since a GPU is gone or here again, with all that it has counted;
  // a file goes on where it is. For what cannot go on as it is: see Relocations. `stands_in`: the place to prefer, "1"
  // or "cpu"; empty: none.
  void displace(Camera& camera, const std::string& stands_in);
  // Who is to decode it there. `quarantined`: apart from others, in any case.
  ManagedProcess& master_for(const CameraConfig& config, const CameraPlan& where, bool quarantined);
  // Of a master that has died: cameras that brought it down have another one from now on.
  void isolate_cameras_of(const ManagedProcess& master);
  // Masters for cameras in quarantine that have none are ended. To be called several times a second.
  void end_unneeded_quarantines();
  // How it would be run there.
  [[nodiscard]] CameraConfig as_run(const CameraConfig& asked, const std::optional<SentStream>& sends,
                                    const std::string& stands_in) const;
  [[nodiscard]] bool has_room_for(const CameraConfig& coming) const { return admission_.fits(coming); }
  // The cameras become those of `rig`; one that is the same is not touched. Returns the names of the others. Throws
  // Error.
  CameraDifference apply(const RigConfig& rig);
  // What its source sends: where that is something else than it was begun for, it comes anew.
  void on_sent_stream(Camera& camera, const SentStream& sends);
  // Its source has been opened: where the machine has not what it needs, it may be stopped.
  void on_opened_stream(Camera& camera, const KnownStream& stream);
  void follow_admission() { admission_.follow(); }
  [[nodiscard]] const std::vector<ResourceUse>& taken() const { return admission_.taken(); }
  // Takes away those that nothing is left of. To be called several times a second.
  void settle_retiring();
  // Of all its outputs that record.
  messages::Answer set_recording(const messages::SetRecording& asked);

 private:
  struct Comes;
  Camera& make(const CameraIds& ids, const Comes& comes, const CameraPlan& where);
  void note_missed_gpu(Camera& camera) const;
  [[nodiscard]] bool has_cameras(const ManagedProcess& master) const;
  void add(const Comes& comes);
  void settle_retiring(Camera& camera);
  static Comes comes_of(const Camera& camera, const CameraConfig& successor);
  void keep_failed(const Comes& comes, const std::string& why);
  TotalsByName remove(Camera& camera, std::string_view change);

  RigState& rig_;
  Processes& processes_;
  CameraLifecycle& lifecycle_;
  CameraSetup& setup_;
  WorkerChoice workers_;
  AdmissionControl admission_;
};

}  // namespace campipe
