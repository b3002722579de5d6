#include "app/publisher/server/http/viewers.h"

#include "core/clock.h"
#include "core/utc_text.h"

namespace campipe {

std::shared_ptr<HttpViewer> HttpViewers::add(const std::string& stream, const std::string& address,
                                             const std::string& user, const std::string& form) {
  auto viewer = std::make_shared<HttpViewer>();
  viewer->stream = stream;
  viewer->address = address;
  viewer->user = user;
  viewer->form = form;
  viewer->since_utc = utc_text(utc_now_ns());
  const std::lock_guard lock(mutex_);
  if (viewers_.size() >= sweep_at_) {
    viewers_.remove_if([](const auto& one) { return one.expired(); });
    sweep_at_ = 2 * viewers_.size() + 64;
  }
  viewers_.push_back(viewer);
  return viewer;
}

nlohmann::json HttpViewers::list() const {
  nlohmann::json all = nlohmann::json::array();
  const std::lock_guard lock(mutex_);
  for (const auto& one : viewers_) {
    const auto viewer = one.lock();
    if (!viewer) continue;
    all.push_back({{"camera", viewer->stream},
                   {"address", viewer->address},
                   {"user", viewer->user},
                   {"form", viewer->form},
                   {"since_utc", viewer->since_utc},
                   {"sent", viewer->sent.load()},
                   {"dropped", viewer->dropped.load()},
                   {"bytes", viewer->bytes.load()}});
  }
  return all;
}

}  // namespace campipe
