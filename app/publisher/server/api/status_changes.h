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

  // Returns the next event as text/event-stream: first the whole status, then a patch against the event before, or a
  // comment where nothing differs. Applies the permissions that the user has now; nothing: the user has none any more.
  // Waits as long as ShownStatus::settled_of(), and throws the same errors.
  std::optional<std::string> next();

 private:
  ShownStatus& shown_;
  Access& access_;
  const Identity identity_;
  std::shared_ptr<const nlohmann::json> sent_;  // null: nothing yet
};

}  // namespace campipe
