// The answer to GET /cameras/NAME/snapshot.jpg: the newest frame, with when it was taken and how old it is; or why
// there is none. One that is older than the request wants is sent only to those who ask for a stale one.
#pragma once

#include <map>
#include <string>

#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/http/server.h"
#include "app/publisher/server/http/snapshots.h"

namespace campipe {

struct SnapshotPlace {
  const std::string& camera;
  const std::string& stream;  // "dock" or "dock/small"
};

// `query`: of the request: `max_age`, `stale`. Any thread; takes as long as decoding a GOP does.
HttpAnswer snapshot_answer(HttpSnapshots& snapshots, const RigView& rig, const SnapshotPlace& place,
                           const std::map<std::string, std::string>& query);

}  // namespace campipe
