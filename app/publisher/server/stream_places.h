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
  // `most`: of a browser, which is known by its session. Without one, those of a user at an address may be several,
  // behind a proxy or in a house: they have `most_without_session` together.
  StreamPlaces(int most, int most_without_session) : most_(most), most_without_session_(most_without_session) {}

  // One place, for as long as the result lives, also longer than this object. Null: all are taken.
  std::shared_ptr<void> take(const HttpRequest& request);

 private:
  struct Taken {
    std::mutex mutex;
    std::map<std::string, int> by_browser;
  };
  const int most_;
  const int most_without_session_;
  const std::shared_ptr<Taken> taken_ = std::make_shared<Taken>();
};

}  // namespace campipe
