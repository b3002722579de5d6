// The status as a stream of events, for pages (docs/api.md).
#pragma once

#include <memory>
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

}  // namespace campipe
