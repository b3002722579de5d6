#include "app/publisher/server/stream_places.h"

namespace campipe {

std::shared_ptr<void> StreamPlaces::take(const HttpRequest& request) {
  const Identity& identity = request.identity;
  const bool has_session = !identity.session.empty();
  const std::string browser = has_session ? identity.session : request.address + '\0' + identity.user;
  const std::lock_guard lock(taken_->mutex);
  int& count = taken_->by_browser[browser];
  if (count >= (has_session ? most_ : most_without_session_)) return nullptr;
  ++count;
  const auto give_back = [taken = taken_, browser](void*) {
    const std::lock_guard again(taken->mutex);
    if (--taken->by_browser[browser] == 0) taken->by_browser.erase(browser);
  };
  return {taken_.get(), give_back};
}

}  // namespace campipe
