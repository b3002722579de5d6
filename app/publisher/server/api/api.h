// The API below /api/v1/, as app/publisher/server/api/openapi.json describes it and docs/api.md explains it: who may
// ask what (api/operations.h), whether it is asked well, and what is answered. Changes are the supervisor's; all else
// comes from what the publisher has.
//
// Cameras that a user may not see do not exist for that user: 404, as for any other name. Answers hold no password,
// whatever the rig reports. Handlers are called on several threads at once.
#pragma once

#include <string>
#include <vector>

#include "app/publisher/server/api/operations.h"
#include "app/publisher/server/nodes/wall.h"

namespace campipe {

class Api {
 public:
  using Viewers = std::function<nlohmann::json()>;  // see ApiParts

  // All must outlive it, and whatever its routes were given to. `nodes`, `wall`: null: of no cluster.
  Api(RigView& rig, Access& access, Viewers viewers, Nodes* nodes = nullptr, NodesWall* wall = nullptr);

  [[nodiscard]] std::vector<HttpServer::Route> routes();

  // For the publisher's main thread. A camera or an output was introduced; its recordings can be listed from then on.
  void add(const ResolvedOutput& config) { parts_.recordings->add(config); }
  // To be called several times a second.
  void tick();

 private:
  HttpAnswer answer(const HttpRequest& request);
  [[nodiscard]] std::optional<std::string> relayed_to(const ApiOperation& operation, const HttpRequest& request,
                                                      const std::string& camera) const;
  HttpAnswer recording_file(const HttpRequest& request);

  ApiParts parts_;
};

}  // namespace campipe
