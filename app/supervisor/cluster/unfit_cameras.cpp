#include "app/supervisor/cluster/unfit_cameras.h"

namespace campipe {

void UnfitCameras::look(const std::string& camera, Seen seen, Clock::time_point now) {
  const auto found = cameras_.find(camera);
  const bool is_known = found != cameras_.end();
  if (seen == Seen::runs || seen == Seen::not_here) {
    const bool is_over = is_known && (seen == Seen::runs || !found->second.until || now >= *found->second.until);
    if (is_over) cameras_.erase(found);
    return;
  }
  Unfit& unfit = is_known ? found->second : cameras_[camera];
  if (seen == Seen::paused && !unfit.paused_since) unfit.paused_since = now;
  const bool is_unfit = seen == Seen::cannot_run || now - *unfit.paused_since >= patience;
  if (is_unfit) unfit.until = now + try_again;
}

std::vector<std::string> UnfitCameras::names() const {
  std::vector<std::string> names;
  for (const auto& [name, unfit] : cameras_) {
    if (unfit.until && names.size() < most_named) names.push_back(name);
  }
  return names;
}

}  // namespace campipe
