// Which call a request is, and whether its sender may make it.
#include "app/publisher/server/api/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/config/permission.h"
#include "app/publisher/server/api/request.h"
#include "app/publisher/server/http/rules.h"

namespace campipe {
namespace {

using nlohmann::json;

constexpr std::string_view prefix = "/api/v1/";

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

// The camera's name that the path holds, or none, goes to `camera`. Null: the path has only the methods in `allowed`.
const ApiOperation* find(const HttpRequest& request, std::string& camera, std::string& allowed) {
  const std::string_view path = std::string_view(request.path).substr(std::min(prefix.size(), request.path.size()));
  for (const ApiOperation& operation : api_operations()) {
    const auto name = match(operation.path, path);
    if (!name) continue;
    if (operation.method == request.method) {
      camera = *name;
      return &operation;
    }
    allowed +=
        (allowed.empty() ? "" : ", ") + std::string(operation.method) + (operation.method == "GET" ? ", HEAD" : "");
  }
  if (!allowed.empty()) return nullptr;
  throw ApiError(404, "there is no such call; /api/v1/openapi.json lists them");
}

void check_permission(const ApiOperation& operation, const HttpRequest& request, const std::string& camera) {
  if (operation.scope == ApiScope::anyone || operation.scope == ApiScope::known) return;
  const std::string about = operation.scope == ApiScope::camera ? camera : "";
  if (!about.empty() && !request.identity.may(Permission::view, about)) throw no_camera(about);
  if (request.identity.may(operation.needed, about)) return;
  if (request.identity.kind == Identity::Kind::visitor) {
    throw ApiError(403,
                   "without users, this takes the token that only the account that runs the rig can read: campipe's "
                   "commands send it, and docs/api.md has how");
  }
  const bool for_all = about.empty() && request.identity.config && !request.identity.config->cameras.empty();
  throw ApiError(403, fmt::format("user '{}' may not do this: it takes the permission '{}'{}", request.identity.user,
                                  choice_name(operation.needed), for_all ? " for all cameras" : ""));
}

// A browser saves the recordings of all cameras into one folder, and many files are named by their time alone.
std::string name_to_save(const std::string& id, const PathBelow& file) {
  const std::string name = file.name.filename();
  const std::string camera = Recordings::camera_of(id);
  if (name.find(camera) != std::string::npos) return name;
  const std::string output = id.substr(camera.size() + 1, id.find('/', camera.size() + 1) - camera.size() - 1);
  return camera + (output == "main" ? "" : "-" + output) + "_" + name;
}

}  // namespace

Api::Api(RigView& rig, Access& access, Viewers viewers, Nodes* nodes, NodesWall* wall)
    : parts_{rig,
             access,
             std::move(viewers),
             ShownStatus(rig, [&rig, wall] { return wall != nullptr ? wall->status() : rig.status(); }),
             ShownStatus(rig, [&rig] { return rig.status(); }),
             History(),
             std::make_shared<Recordings>(),
             nodes} {}

std::vector<HttpServer::Route> Api::routes() {
  const auto answers = [this](const HttpRequest& request) { return answer(request); };
  std::vector<HttpServer::Route> routes{
      {std::string(prefix), false, answers},
      {"/recordings/files/", false, [this](const HttpRequest& request) { return recording_file(request); }}};
  for (const ApiOperation& operation : api_operations()) {
    if (operation.scope != ApiScope::anyone) continue;
    routes.push_back({std::string(prefix) + std::string(operation.path), true, answers});
  }
  return routes;
}

void Api::tick() { parts_.history.sample(*parts_.rig.status()); }

// Null: it is answered here. Changes of the configuration are: the cluster's rig is another way.
std::optional<std::string> Api::relayed_to(const ApiOperation& operation, const HttpRequest& request,
                                           const std::string& camera) const {
  const bool is_of_one =
      operation.path.starts_with("cameras/*") && operation.method != "PUT" && operation.method != "DELETE";
  if (parts_.nodes == nullptr || request.from_node || !is_of_one) return std::nullopt;
  return parts_.nodes->places()->elsewhere(camera);
}

HttpAnswer Api::answer(const HttpRequest& request) try {
  std::string camera;
  std::string allowed;
  const ApiOperation* operation = find(request, camera, allowed);
  if (operation == nullptr) return method_not_allowed(allowed);
  // Nodes have their own way of saying who somebody is: nobody tries passwords through them.
  if (request.from_node && operation->scope == ApiScope::anyone) throw ApiError(404, "this is no call for other nodes");
  check_permission(*operation, request, camera);
  if (const auto node = relayed_to(*operation, request, camera)) {
    HttpAnswer answer;
    answer.relay_to = node;
    return answer;
  }
  return operation->handle({parts_, request, camera});
} catch (const ApiError& error) {
  return error_answer(error);
}

HttpAnswer Api::recording_file(const HttpRequest& request) try {
  if (request.method != "GET") return method_not_allowed();
  constexpr std::array<std::string_view, 2> parameters{"download", "node"};
  check_parameters(request, parameters);
  const std::string id = request.path.substr(std::string_view("/recordings/files/").size());
  const std::string camera = Recordings::camera_of(id);
  if (!request.identity.may(Permission::view, camera)) throw ApiError(404, "there is no such recording");
  if (!request.identity.may(Permission::record, camera))
    throw ApiError(403, "user '" + request.identity.user + "' may not see recordings");
  const std::string node = parameter(request, "node", "");
  const auto places = parts_.nodes != nullptr && !request.from_node && !node.empty() ? parts_.nodes->places() : nullptr;
  const bool is_away = places && places->away().contains(node);
  if (places && node != places->own && !is_away) {
    HttpAnswer answer;
    answer.relay_to = node;
    return answer;
  }
  // What lies in a folder that both have shared can be had all the same.
  return from_disk([recordings = parts_.recordings, id, of = is_away ? node : ""](const Recordings::IsAbout& is_about) {
    const PathBelow file = recordings->file(id, is_about, of);
    if (file.name.empty() && !of.empty()) return http_error(502, "node '" + of + "' is away");
    if (file.name.empty()) return http_error(404, "there is no such recording");
    HttpAnswer answer;
    answer.type = file.name.extension() == ".mkv" ? "video/x-matroska" : "video/mp4";
    answer.file = file;
    answer.saved_as = name_to_save(id, file);
    answer.headers = {{"Cache-Control", "private, no-cache"}};
    return answer;
  });
} catch (const ApiError& error) {
  return error_answer(error);
}

}  // namespace campipe
