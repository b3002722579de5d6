// Which operations there are, and who may ask for them.
#include "app/publisher/server/api/api.h"

#include <algorithm>
#include <array>
#include <utility>

#include "app/publisher/server/api/request.h"
#include "core/error.h"

namespace campipe {
namespace {

using nlohmann::json;

constexpr std::string_view prefix = "/api/v1/";
constexpr auto longest_wait = std::chrono::seconds(10);  // for the supervisor

// The name where "*" stands; nothing: it is another path.
std::optional<std::string> match(std::string_view pattern, std::string_view path) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == path ? std::optional(std::string()) : std::nullopt;
  const std::string_view end = pattern.substr(star + 1);
  if (path.size() <= star + end.size() || !path.starts_with(pattern.substr(0, star)) || !path.ends_with(end))
    return std::nullopt;
  const std::string_view name = path.substr(star, path.size() - star - end.size());
  return name.find('/') == std::string_view::npos ? std::optional(std::string(name)) : std::nullopt;
}

ApiError no_camera(const std::string& name) { return {404, "there is no camera '" + name + "'"}; }

}  // namespace

const std::vector<Api::Operation>& Api::operations() {
  constexpr auto view = Permission::view;
  constexpr auto record_it = Permission::record;
  constexpr auto administer = Permission::administer;
  static const std::vector<Operation> all{
      {"GET", "status", Scope::rig, view, &Api::get_status},
      {"GET", "cameras", Scope::rig, view, &Api::get_cameras},
      {"GET", "cameras/*", Scope::camera, view, &Api::get_camera},
      // A configuration can name any file, and variables of the environment: it takes more than one camera.
      {"PUT", "cameras/*", Scope::rig, administer, &Api::put_camera},
      {"DELETE", "cameras/*", Scope::rig, administer, &Api::delete_camera},
      {"POST", "cameras/*/enable", Scope::camera, administer, &Api::enable},
      {"POST", "cameras/*/disable", Scope::camera, administer, &Api::disable},
      {"POST", "cameras/*/record", Scope::camera, record_it, &Api::record},
      {"POST", "cameras/*/stop-recording", Scope::camera, record_it, &Api::stop_recording},
      {"GET", "cameras/*/history", Scope::camera, view, &Api::get_history},
      {"POST", "reload", Scope::rig, administer, &Api::reload},
      {"GET", "recordings", Scope::known, record_it, &Api::get_recordings},
      {"GET", "viewers", Scope::rig, administer, &Api::get_viewers},
      {"GET", "openapi.json", Scope::anyone, view, &Api::get_description},
      {"POST", "login", Scope::anyone, view, &Api::log_in},
      {"POST", "logout", Scope::known, view, &Api::log_out},
      {"GET", "session", Scope::known, view, &Api::get_session}};
  return all;
}

Api::Api(RigView& rig, Access& access, Viewers viewers) : rig_(rig), access_(access), viewers_(std::move(viewers)) {}

std::vector<HttpServer::Route> Api::routes() {
  const auto answers = [this](const HttpRequest& request) { return answer(request); };
  std::vector<HttpServer::Route> routes{
      {std::string(prefix), false, answers},
      {"/recordings/files/", false, [this](const HttpRequest& request) { return recording_file(request); }}};
  for (const Operation& operation : operations()) {
    if (operation.scope != Scope::anyone) continue;
    routes.push_back({std::string(prefix) + std::string(operation.path), true, answers});
  }
  return routes;
}

void Api::tick() { history_.sample(*rig_.status()); }

const Api::Operation& Api::find(const HttpRequest& request, std::string& camera) {
  const std::string_view path = std::string_view(request.path).substr(std::min(prefix.size(), request.path.size()));
  bool known = false;
  for (const Operation& operation : operations()) {
    const auto name = match(operation.path, path);
    known = known || name;
    if (!name || operation.method != request.method) continue;
    camera = *name;
    return operation;
  }
  if (known) throw ApiError(405, "there is no " + request.method + " of this");
  throw ApiError(404, "there is no such call; /api/v1/openapi.json lists them");
}

void Api::check_permission(const Operation& operation, const HttpRequest& request, const std::string& camera) const {
  if (operation.scope == Scope::anyone || operation.scope == Scope::known) return;
  const std::string about = operation.scope == Scope::camera ? camera : "";
  if (!request.identity.may(Permission::view, about)) throw no_camera(camera);
  if (request.identity.may(operation.needed, about)) return;
  if (request.identity.kind == Identity::Kind::visitor) {
    throw ApiError(403,
                   "without users, this takes the token that only the account that runs the rig can read: campipe's "
                   "commands send it, as docs/api.md tells");
  }
  throw ApiError(403, "user '" + request.identity.user + "' may not do this");
}

HttpAnswer Api::answer(const HttpRequest& request) try {
  std::string camera;
  const Operation& operation = find(request, camera);
  check_permission(operation, request, camera);
  return (this->*operation.handle)(request, camera);
} catch (const ApiError& error) {
  return error_answer(error.status, error.what());
}

HttpAnswer Api::ask(const Identity& identity, messages::Request request) {
  const messages::Answer reply = rig_.ask(std::move(request), Clock::now() + longest_wait);
  const json clean = without_secrets(reply.body);
  return json_answer(reply.status, identity.administers() ? clean : for_viewers(clean));
}

std::shared_ptr<const json> Api::status(const Identity& identity) {
  const std::lock_guard lock(status_mutex_);
  auto newest = rig_.status();
  if (told_ != newest) {
    told_ = std::move(newest);
    auto clean = std::make_shared<json>(without_secrets(*told_));
    json& cameras = (*clean)["cameras"];
    if (!cameras.is_object()) cameras = json::object();
    viewed_ = std::make_shared<json>(status_for_viewers(*clean));
    shown_ = std::move(clean);
  }
  return identity.administers() ? shown_ : viewed_;
}

json Api::cameras_of(const Identity& identity) {
  json seen = json::object();
  const auto newest = status(identity);
  for (const auto& [name, camera] : newest->at("cameras").items()) {
    if (identity.may(Permission::view, name)) seen[name] = camera;
  }
  return seen;
}

HttpAnswer Api::recording_file(const HttpRequest& request) try {
  if (request.method != "GET") throw ApiError(405, "a recording can only be read");
  constexpr std::array<std::string_view, 1> parameters{"download"};
  check_parameters(request, parameters);
  const std::string id = request.path.substr(std::string_view("/recordings/files/").size());
  const std::string camera = Recordings::camera_of(id);
  if (!request.identity.may(Permission::view, camera)) throw ApiError(404, "there is no such recording");
  if (!request.identity.may(Permission::record, camera))
    throw ApiError(403, "user '" + request.identity.user + "' may not see recordings");
  return from_disk([recordings = recordings_, id](const Recordings::IsAbout& is_about) {
    const PathBelow file = recordings->file(id, is_about);
    if (file.name.empty()) return error_answer(404, "there is no such recording");
    HttpAnswer answer;
    answer.type = file.name.extension() == ".mkv" ? "video/x-matroska" : "video/mp4";
    answer.file = file;
    answer.headers = {{"Cache-Control", "private, no-cache"}};
    return answer;
  });
} catch (const ApiError& error) {
  return error_answer(error.status, error.what());
}

}  // namespace campipe
