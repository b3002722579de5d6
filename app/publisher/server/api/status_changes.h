// The status as a stream of events, for pages (docs/api.md).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/publisher/server/access.h"
#include "app/publisher/server/api/shown_status.h"

namespace campipe {

// One stream, for one user. For one thread at a time.
class StatusChanges {
 public:
  // `shown` and `access` must outlive it.
  StatusChanges(ShownStatus& shown, Access& access, Identity identity)
      : shown_(shown), access_(access), identity_(std::move(identity)) {}

  // What comes next, as text/event-stream has it: the whole status, then what differs from what was sent before, and a
  // comment where nothing does. With the permissions that the user has now; nothing: there are none any more. Waits as
  // ShownStatus does, and throws likewise.
  std::optional<std::string> next();

 private:
  ShownStatus& shown_;
  Access& access_;
  const Identity identity_;
  std::shared_ptr<const nlohmann::json> sent_;  // null: nothing yet
};

// How many streams each browser has: it has few connections to a host, and each stream takes one for as long as its
// page is seen. Thread-safe.
class StreamPlaces {
 public:
  // One of `holder`'s, for as long as the result lives, also longer than this object. Null: it has all that it may
  // have.
  std::shared_ptr<void> take(const std::string& holder);

 private:
  struct Taken {
    std::mutex mutex;
    std::map<std::string, int> by_holder;
  };
  const std::shared_ptr<Taken> taken_ = std::make_shared<Taken>();
};

}  // namespace campipe
