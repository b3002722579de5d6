// The API below /api/v1/, as app/publisher/server/api/openapi.json describes it and docs/api.md tells it: who may ask
// what, whether it is asked well, and what is answered. Changes are the supervisor's; all else comes from what the
// publisher has.
//
// Cameras that a user may not see do not exist for that user: 404, as for any other name. Answers hold no password,
// whatever the rig says. Handlers are called on several threads at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/publisher/server/access.h"
#include "app/publisher/server/api/history.h"
#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/http/server.h"
#include "app/publisher/server/recordings.h"

namespace campipe {

class Api {
 public:
  using Viewers = std::function<nlohmann::json()>;  // a list, as HttpServer::viewers() and RtspServer's, together

  // All must outlive it, and whatever its routes were given to.
  Api(RigView& rig, Access& access, Viewers viewers);

  [[nodiscard]] std::vector<HttpServer::Route> routes();

  // For the publisher's main thread. A camera or an output was introduced; its recordings can be listed from then on.
  void add(const ResolvedOutput& config) { recordings_->add(config); }
  // To be called several times a second.
  void tick();

 private:
  enum class Scope : std::uint8_t { anyone, known, rig, camera };  // known: whoever is logged in
  using Handler = HttpAnswer (Api::*)(const HttpRequest& request, const std::string& camera);
  struct Operation {
    std::string_view method;
    std::string_view path;  // "*" is a camera's name
    Scope scope;
    Permission needed;
    Handler handle;
  };
  static const std::vector<Operation>& operations();
  static const Operation& find(const HttpRequest& request, std::string& camera);

  HttpAnswer answer(const HttpRequest& request);
  HttpAnswer recording_file(const HttpRequest& request);
  void check_permission(const Operation& operation, const HttpRequest& request, const std::string& camera) const;
  HttpAnswer ask(const Identity& identity, messages::Request request);
  [[nodiscard]] std::shared_ptr<const nlohmann::json> status(const Identity& identity);
  [[nodiscard]] nlohmann::json cameras_of(const Identity& identity);

  HttpAnswer get_status(const HttpRequest& request, const std::string&);
  HttpAnswer get_cameras(const HttpRequest& request, const std::string&);
  HttpAnswer get_camera(const HttpRequest& request, const std::string& camera);
  HttpAnswer put_camera(const HttpRequest& request, const std::string& camera);
  HttpAnswer delete_camera(const HttpRequest& request, const std::string& camera);
  HttpAnswer enable(const HttpRequest& request, const std::string& camera);
  HttpAnswer disable(const HttpRequest& request, const std::string& camera);
  HttpAnswer record(const HttpRequest& request, const std::string& camera);
  HttpAnswer stop_recording(const HttpRequest& request, const std::string& camera);
  HttpAnswer get_history(const HttpRequest& request, const std::string& camera);
  HttpAnswer reload(const HttpRequest& request, const std::string&);
  HttpAnswer get_recordings(const HttpRequest& request, const std::string&);
  HttpAnswer get_viewers(const HttpRequest& request, const std::string&);
  HttpAnswer get_description(const HttpRequest& request, const std::string&);
  HttpAnswer log_in(const HttpRequest& request, const std::string&);
  HttpAnswer log_out(const HttpRequest& request, const std::string&);
  HttpAnswer get_session(const HttpRequest& request, const std::string&);

  HttpAnswer set_enabled(const HttpRequest& request, const std::string& camera, bool on);
  HttpAnswer set_recording(const HttpRequest& request, const std::string& camera, bool on);

  RigView& rig_;
  Access& access_;
  Viewers viewers_;
  History history_;
  // Shared with threads that wait for a disk, perhaps longer than all else lives.
  const std::shared_ptr<Recordings> recordings_ = std::make_shared<Recordings>();
  std::mutex status_mutex_;
  std::shared_ptr<const nlohmann::json> told_;    // the rig's newest status,
  std::shared_ptr<const nlohmann::json> shown_;   // the same without secrets,
  std::shared_ptr<const nlohmann::json> viewed_;  // and for those who do not administer the rig
};

}  // namespace campipe
