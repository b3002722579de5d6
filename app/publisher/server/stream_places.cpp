#include "app/publisher/server/stream_places.h"

namespace campipe {

std::shared_ptr<void> StreamPlaces::take(const HttpRequest& request) {
  const Identity& identity = request.identity;
  const std::string browser = identity.session.empty() ? request.address + identity.user : identity.session;
  const std::lock_guard lock(taken_->mutex);
  int& count = taken_->by_browser[browser];
  if (count >= most_) return nullptr;
  ++count;
  const auto give_back = [taken = taken_, browser](void*) {
    const std::lock_guard again(taken->mutex);
    if (--taken->by_browser[browser] == 0) taken->by_browser.erase(browser);
  };
  return {taken_.get(), give_back};
}

}  // namespace campipe
