// The calls of the API: one table of what is called how, who may, and what it does. A call that is added is a row there
// and its handler; app/publisher/server/api/api.h finds it and checks the permission.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "app/publisher/server/access.h"
#include "app/publisher/server/api/history.h"
#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/api/shown_status.h"
#include "app/publisher/server/api/status_changes.h"
#include "app/publisher/server/http/server.h"
#include "app/publisher/server/nodes/nodes.h"
#include "app/publisher/server/recordings.h"
#include "app/publisher/server/stream_places.h"

namespace campipe {

// What the handlers work with. Each part is thread-safe.
struct ApiParts {
  RigView& rig;
  Access& access;
  std::function<nlohmann::json()> viewers;  // a list, as HttpServer::viewers() and RtspServer's, together
  ShownStatus status;                       // of the cluster, in a node of one
  ShownStatus local_status;                 // of this node's rig
  History history;
  // Shared with threads that wait for a disk, perhaps longer than all else lives.
  std::shared_ptr<Recordings> recordings;
  Nodes* nodes;  // null: of no cluster
  StreamPlaces stream_places{3, 32};
};

// One request, during the handler's call.
struct ApiCall {
  ApiParts& api;
  const HttpRequest& request;
  std::string camera;  // or mosaic, or group, that the path names, if it names one; it may not exist
};

// Whose permission counts. known: every user who is logged in.
enum class ApiScope : std::uint8_t { anyone, known, rig, camera };

struct ApiOperation {
  std::string_view method;
  std::string_view path;  // below /api/v1/; "*" is the name of a camera, mosaic or group
  ApiScope scope;
  Permission needed;  // of the scopes rig and camera
  // Throws ApiError.
  HttpAnswer (*handle)(const ApiCall& call);
};

std::span<const ApiOperation> api_operations();

}  // namespace campipe
