// Whether the machine has what the rig needs (`admission`, docs/capacity.md): before cameras come, as far as their
// configuration says what they send, and when a source has been opened.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/placement/capacity.h"
#include "app/supervisor/life/encode_costs.h"
#include "app/supervisor/rig/camera.h"
#include "app/supervisor/rig/rig_state.h"
#include "core/clock.h"

namespace campipe {

struct CameraConfig;
struct RigConfig;

// What a rig lacks that `before` it did not lack, or lacked less of.
std::vector<ResourceUse> new_shortages(const std::vector<ResourceUse>& before, const std::vector<ResourceUse>& after);
// Of the streams that its configuration announces, of which nothing has been opened; empty: nothing is short.
std::string start_shortage(const RigConfig& rig, const Machine& machine, const MachineCosts& costs);

class AdmissionControl {
 public:
  explicit AdmissionControl(RigState& rig) : rig_(rig) {}

  // These come, or come anew, beside the cameras that run; `only_these`: the others go. With `refuse` throws Error
  // where more is short then than now; with `warn` logs it.
  void require(std::span<const CameraConfig> coming, bool only_these);
  // It comes in place of the one of its name, and nothing is short by that which was not, as far as costs and streams
  // are known. Throws Error where it cannot be placed.
  [[nodiscard]] bool fits(const CameraConfig& coming) const;
  // The camera's source has been opened. Returns why it is not to run; empty: it may.
  std::string on_stream(const Camera& camera, const KnownStream& stream);
  // Logs what is short since streams have come, or since it was measured what encoding them takes. To be called several
  // times a second; looks once a second at most, as at a start they come by the hundred.
  void follow();
  // What the rig takes of the machine, as follow() has found it last, without what is a camera's own.
  [[nodiscard]] const std::vector<ResourceUse>& taken() const { return taken_; }
  // It is gone: another one of its name may send something else.
  void forget(const std::string& camera);

 private:
  [[nodiscard]] RigConfig running() const;
  [[nodiscard]] std::vector<ResourceUse> uses(const RigConfig& asked, const KnownStreams& streams) const;
  void warn(const std::vector<ResourceUse>& lacking);

  RigState& rig_;
  EncodeCosts encode_costs_{rig_};
  bool has_news_ = false;
  Clock::time_point next_look_ = {};
  Clock::time_point latest_look_ = {};
  std::vector<ResourceUse> taken_;
  std::vector<ResourceUse> warned_;  // of these, so that more of the same is not logged for every camera
};

}  // namespace campipe
