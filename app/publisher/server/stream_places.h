// How many answers without end each browser has: it has six connections to a host, and each such answer takes one for
// as long as its page is seen. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "app/publisher/server/http/server.h"

namespace campipe {

class StreamPlaces {
 public:
  explicit StreamPlaces(int most) : most_(most) {}

  // One of those of the browser that asks, for as long as the result lives, also longer than this object. Null: it has
  // all that it may have. A session is of one browser; without one it is told by user and address.
  std::shared_ptr<void> take(const HttpRequest& request);

 private:
  struct Taken {
    std::mutex mutex;
    std::map<std::string, int> by_browser;
  };
  const int most_;
  const std::shared_ptr<Taken> taken_ = std::make_shared<Taken>();
};

}  // namespace campipe
