// The calls of the API: what each does, and the table of all.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <type_traits>
#include <utility>

#include "app/config/part_names.h"
#include "app/config/permission.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/requests.h"
#include "app/publisher/server/api/description.h"
#include "app/publisher/server/api/node_recordings.h"
#include "app/publisher/server/api/operations.h"
#include "app/publisher/server/api/request.h"
#include "app/publisher/server/http/compression.h"
#include "app/publisher/server/session_cookie.h"

namespace campipe {
namespace {

using nlohmann::json;

constexpr std::size_t longest_config = 64 * 1024;
constexpr int most_recordings = 1'000;
constexpr auto longest_wait = std::chrono::seconds(10);  // for the supervisor
constexpr std::span<const std::string_view> nothing;

json recording_json(const ListedRecording& recording) {
  json made{{"id", recording.id},
            {"camera", recording.camera},
            {"start_utc", recording.start},
            {"bytes", recording.bytes},
            {"writing", recording.end.empty()}};
  if (recording.output != "main") made["output"] = recording.output;
  if (!recording.node.empty()) made["node"] = recording.node;
  if (recording.end.empty()) return made;
  made.update({{"end_utc", recording.end}, {"duration_s", recording.duration_s}, {"reason", recording.reason}});
  return made;
}

std::string time_parameter(const HttpRequest& request, const std::string& name) {
  const std::string text = parameter(request, name, "");
  const auto utc = text.empty() ? std::optional(text) : utc_of(text);
  if (!utc) throw ApiError(400, "'" + name + "' must be a time in UTC, such as 2026-11-21T10:15:30Z");
  return *utc;
}

std::size_t limit_parameter(const HttpRequest& request) {
  const std::string text = parameter(request, "limit", "1000");
  int limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  const bool good = error == std::errc() && end == text.data() + text.size() && limit > 0 && limit <= most_recordings;
  if (!good) throw ApiError(400, "'limit' must be an integer from 1 to " + std::to_string(most_recordings));
  return static_cast<std::size_t>(limit);
}

bool persist_parameter(const HttpRequest& request) {
  const auto persist = find_choice<bool>(parameter(request, "persist", "false"));
  if (!persist) throw ApiError(400, "'persist' must be true or false");
  return *persist;
}

json permissions_of(const Identity& identity) {
  json permissions = json::array();
  for (const auto& choice : choices<Permission>) {
    const bool has = identity.config ? identity.config->may >= choice.value : identity.may(choice.value, "any");
    if (has) permissions.push_back(choice.name);
  }
  return permissions;
}

json session_json(const Identity& identity, const std::string& csrf) {
  json cameras;
  if (identity.config && !identity.config->cameras.empty()) cameras = identity.config->cameras;
  return {{"user", identity.user},
          {"permissions", permissions_of(identity)},
          {"cameras", cameras},
          {"administers", identity.administers()},
          {"csrf", csrf}};
}

// Has the supervisor do it.
HttpAnswer ask(const ApiCall& call, messages::Request request) {
  const messages::Answer reply = call.api.rig.ask(std::move(request), Clock::now() + longest_wait);
  const json clean = without_secrets(reply.body);
  return json_answer(reply.status, call.request.identity.administers() ? clean : for_viewers(clean));
}

constexpr std::array<std::string_view, 1> local_only{"local"};

// Of this node alone, as other nodes ask.
bool is_local(const HttpRequest& request) {
  const auto local = find_choice<bool>(parameter(request, "local", "false"));
  if (!local) throw ApiError(400, "'local' must be true or false");
  return *local || request.from_node;
}

ShownStatus& status_for(const ApiCall& call) {
  return is_local(call.request) ? call.api.local_status : call.api.status;
}

HttpAnswer get_status(const ApiCall& call) {
  check_parameters(call.request, local_only);
  return json_text_answer(200, *status_for(call).text_of(call.request.identity));
}

HttpAnswer get_status_changes(const ApiCall& call) {
  check_parameters(call.request, local_only);
  const Identity& identity = call.request.identity;
  ShownStatus& shown = status_for(call);
  (void)shown.of(identity);  // while there is none, that is the answer
  auto place = call.api.stream_places.take(call.request);
  if (!place) throw ApiError(503, "this browser has enough of these streams", 10);
  auto changes = std::make_shared<StatusChanges>(shown, call.api.access, identity);
  HttpAnswer answer;
  answer.type = "text/event-stream";
  answer.events = [changes = std::move(changes), place = std::move(place)] { return changes->next(); };
  return answer;
}

HttpAnswer get_cameras(const ApiCall& call) {
  check_parameters(call.request, local_only);
  return json_answer(200, {{"cameras", status_for(call).cameras_of(call.request.identity)}});
}

HttpAnswer get_camera(const ApiCall& call) {
  check_parameters(call.request, nothing);
  const auto camera = status_for(call).camera_of(call.request.identity, call.camera);
  if (!camera) throw no_camera(call.camera);
  return json_answer(200, *camera);
}

// PutCamera, PutMosaic or PutGroup.
template <typename Put>
HttpAnswer put(const ApiCall& call) {
  constexpr std::array<std::string_view, 2> keys{"config", "persist"};
  constexpr std::string_view whose = std::is_same_v<Put, messages::PutCamera>   ? "camera's"
                                     : std::is_same_v<Put, messages::PutMosaic> ? "mosaic's"
                                                                                : "group's";
  const std::string wanted = "the " + std::string(whose) + " keys as in the file";
  check_parameters(call.request, nothing);
  const json body = read_body(call.request, keys);
  if (!body.contains("config")) throw ApiError(400, "missing key 'config', which has " + wanted);
  if (!body["config"].is_object()) throw ApiError(400, "'config' must be an object: " + wanted);
  // No camera needs so much, and numbers grow when they are written out.
  if (body["config"].dump().size() > longest_config) throw ApiError(400, "'config' is longer than 64 KiB");
  Put asked;
  asked.name = call.camera;
  asked.config = body["config"];
  asked.persist = read_bool(body, "persist", false);
  return ask(call, std::move(asked));
}

// RemoveCamera, RemoveMosaic or RemoveGroup.
template <typename Remove>
HttpAnswer remove(const ApiCall& call) {
  constexpr std::array<std::string_view, 1> parameters{"persist"};
  check_parameters(call.request, parameters);
  Remove asked;
  asked.name = call.camera;
  asked.persist = persist_parameter(call.request);
  return ask(call, std::move(asked));
}

HttpAnswer set_enabled(const ApiCall& call, bool on) {
  constexpr std::array<std::string_view, 1> keys{"persist"};
  check_parameters(call.request, nothing);
  const bool persist = read_bool(read_body(call.request, keys), "persist", false);
  return ask(call, messages::EnableCamera{.name = call.camera, .on = on, .persist = persist});
}

HttpAnswer set_recording(const ApiCall& call, bool on) {
  check_parameters(call.request, nothing);
  read_body(call.request, nothing);
  return ask(call, messages::SetRecording{.name = call.camera, .on = on});
}

unsigned read_worker(const json& body, const char* key) {
  const auto worker = body.find(key);
  const bool is_number = worker != body.end() && worker->is_number_unsigned() && *worker <= most_worker;
  if (is_number) return worker->get<unsigned>();
  constexpr std::size_t longest_shown = 40;
  const std::string given = worker != body.end() ? worker->dump() : "";
  const bool is_shown = !given.empty() && given.size() <= longest_shown;
  throw ApiError(400, fmt::format("'{}' must be the number of a worker, 0 to {}{}", key, most_worker,
                                  is_shown ? ", not " + given : ""));
}

HttpAnswer move_camera(const ApiCall& call) {
  constexpr std::array<std::string_view, 2> keys{"worker", "from"};
  check_parameters(call.request, nothing);
  const json body = read_body(call.request, keys);
  messages::MoveCamera asked;
  asked.name = call.camera;
  asked.worker = read_worker(body, "worker");
  if (body.contains("from")) asked.from = read_worker(body, "from");
  return ask(call, std::move(asked));
}

HttpAnswer get_history(const ApiCall& call) {
  check_parameters(call.request, nothing);
  const auto newest = call.api.local_status.of(call.request.identity);
  if (!newest->at("cameras").contains(call.camera)) throw no_camera(call.camera);
  return json_answer(200, call.api.history.of(call.camera));
}

HttpAnswer reload(const ApiCall& call) {
  check_parameters(call.request, nothing);
  read_body(call.request, nothing);
  return ask(call, messages::Reload{});
}

HttpAnswer get_cluster(const ApiCall& call) {
  check_parameters(call.request, nothing);
  const auto cluster = call.api.local_status.cluster_of(call.request.identity);
  if (!cluster) throw ApiError(404, "this rig is no node of a cluster");
  return json_answer(200, *cluster);
}

HttpAnswer drain_node(const ApiCall& call) {
  constexpr std::array<std::string_view, 2> keys{"node", "end"};
  check_parameters(call.request, nothing);
  const json body = read_body(call.request, keys);
  return ask(call, messages::DrainNode{.node = read_string(body, "node"), .end = read_bool(body, "end", false)});
}

HttpAnswer move_to_node(const ApiCall& call) {
  constexpr std::array<std::string_view, 2> keys{"camera", "node"};
  check_parameters(call.request, nothing);
  const json body = read_body(call.request, keys);
  messages::MoveToNode asked;
  asked.camera = read_string(body, "camera");
  if (body.contains("node") && !body["node"].is_null()) asked.node = read_string(body, "node");
  return ask(call, std::move(asked));
}

// Cameras that this rig has, and, in a cluster, all others: a node keeps what it has recorded of one that has moved.
std::set<std::string> recorded_cameras(const ApiCall& call) {
  std::set<std::string> names;
  const auto newest = call.api.local_status.of(call.request.identity);
  for (const auto& [name, status_of_it] : newest->at("cameras").items()) names.insert(name);
  if (call.api.nodes == nullptr) return names;
  for (const auto& [name, node] : call.api.nodes->places()->cameras) names.insert(name);
  return names;
}

HttpAnswer get_recordings(const ApiCall& call) {
  constexpr std::array<std::string_view, 5> parameters{"camera", "from", "to", "limit", "local"};
  check_parameters(call.request, parameters);
  const Identity& identity = call.request.identity;
  if (identity.config && identity.config->may < Permission::record)
    throw ApiError(403, "user '" + identity.user + "' may not see recordings");
  const std::string camera = parameter(call.request, "camera", "");
  std::set<std::string> seen = recorded_cameras(call);
  std::erase_if(seen, [&](const std::string& name) {
    return (!camera.empty() && name != camera) || !identity.may(Permission::record, name);
  });
  if (!camera.empty() && seen.empty()) throw no_camera(camera);
  const auto wanted = [seen = std::move(seen)](const std::string& name) { return seen.contains(name); };
  Recordings::Query query{wanted, time_parameter(call.request, "from"), time_parameter(call.request, "to"),
                          limit_parameter(call.request)};
  const bool has_others = call.api.nodes != nullptr && !is_local(call.request);
  if (has_others) query.nodes = call.api.nodes->places()->away();  // which may have shared a folder with this one
  const auto others = has_others ? std::make_shared<NodeRecordings>(*call.api.nodes, camera, query, identity,
                                                                    call.api.access.required())
                                 : nullptr;
  return from_disk([recordings = call.api.recordings, query, others](const Recordings::IsAbout& is_about) {
    json listed = json::array();
    for (const ListedRecording& recording : recordings->list(query, is_about))
      listed.push_back(recording_json(recording));
    json body{{"recordings", std::move(listed)}};
    if (others) others->add_to(body);
    return json_answer(200, body);
  });
}

HttpAnswer get_viewers(const ApiCall& call) {
  check_parameters(call.request, nothing);
  return json_answer(200, {{"viewers", call.api.viewers()}});
}

// Strangers may ask for it: it is compressed once.
HttpAnswer get_description(const ApiCall& call) {
  static const std::string small = gzip(api_description(), GzipLevel::small);
  HttpAnswer answer;
  name_encoding(answer, call.request.takes_gzip);
  answer.body = call.request.takes_gzip ? small : api_description();
  return answer;
}

HttpAnswer log_in(const ApiCall& call) {
  constexpr std::array<std::string_view, 2> keys{"user", "password"};
  const json body = read_body(call.request, keys);
  const std::string user = read_string(body, "user");
  const auto result = call.api.access.check_password(user, read_string(body, "password"), call.request.address);
  if (!result.identity && result.refusal == Access::Refusal::too_many) {
    const int wait = result.retry_after_s;
    throw ApiError(429, "too many failed logins; try again in " + std::to_string(wait) + " s", wait);
  }
  if (!result.identity) throw ApiError(401, "wrong user or password");
  if (!result.identity->config) return json_answer(200, session_json(*result.identity, ""));  // no login is needed
  const Access::Session session = call.api.access.open_session(*result.identity);
  if (session.token.empty()) {
    const std::string most = std::to_string(Sessions::most_of_a_user);
    throw ApiError(503, "this user has " + most + " sessions that are in use", 60);
  }
  HttpAnswer answer = json_answer(200, session_json(*result.identity, session.csrf));
  answer.headers.emplace_back("Set-Cookie",
                              session_cookie_text(session.token, call.request, SessionKind::login, session.longest));
  return answer;
}

HttpAnswer log_out(const ApiCall& call) {
  check_parameters(call.request, nothing);
  read_body(call.request, nothing);
  const auto kind = call.api.access.is_wall(call.request.identity) ? SessionKind::wall : SessionKind::login;
  if (!call.request.session.empty()) call.api.access.close_session(call.request.session);
  HttpAnswer answer = json_answer(200, json::object());
  answer.headers.emplace_back("Set-Cookie", session_cookie_text("", call.request, kind, {}));
  return answer;
}

HttpAnswer get_session(const ApiCall& call) {
  check_parameters(call.request, nothing);
  return json_answer(200, session_json(call.request.identity, call.api.access.csrf_token(call.request.session)));
}

}  // namespace

std::span<const ApiOperation> api_operations() {
  constexpr auto view = Permission::view;
  constexpr auto record = Permission::record;
  constexpr auto administer = Permission::administer;
  using Call = const ApiCall&;
  using enum ApiScope;
  static constexpr std::array all{
      ApiOperation{"GET", "status", rig, view, get_status},
      ApiOperation{"GET", "status/changes", rig, view, get_status_changes},
      ApiOperation{"GET", "cameras", rig, view, get_cameras},
      ApiOperation{"GET", "cameras/*", camera, view, get_camera},
      // A configuration can name any file, and variables of the environment: it takes more than one camera.
      ApiOperation{"PUT", "cameras/*", rig, administer, put<messages::PutCamera>},
      ApiOperation{"DELETE", "cameras/*", rig, administer, remove<messages::RemoveCamera>},
      ApiOperation{"PUT", "mosaics/*", rig, administer, put<messages::PutMosaic>},
      ApiOperation{"DELETE", "mosaics/*", rig, administer, remove<messages::RemoveMosaic>},
      ApiOperation{"PUT", "sync_groups/*", rig, administer, put<messages::PutGroup>},
      ApiOperation{"DELETE", "sync_groups/*", rig, administer, remove<messages::RemoveGroup>},
      ApiOperation{"POST", "cameras/*/enable", camera, administer, [](Call c) { return set_enabled(c, true); }},
      ApiOperation{"POST", "cameras/*/disable", camera, administer, [](Call c) { return set_enabled(c, false); }},
      ApiOperation{"POST", "cameras/*/record", camera, record, [](Call c) { return set_recording(c, true); }},
      ApiOperation{"POST", "cameras/*/stop-recording", camera, record, [](Call c) { return set_recording(c, false); }},
      // It takes from what other cameras have.
      ApiOperation{"POST", "cameras/*/move", rig, administer, move_camera},
      ApiOperation{"GET", "cameras/*/history", camera, view, get_history},
      ApiOperation{"POST", "reload", rig, administer, reload}, ApiOperation{"GET", "cluster", rig, view, get_cluster},
      ApiOperation{"POST", "cluster/drain", rig, administer, drain_node},
      ApiOperation{"POST", "cluster/move", rig, administer, move_to_node},
      ApiOperation{"GET", "recordings", known, record, get_recordings},
      ApiOperation{"GET", "viewers", rig, administer, get_viewers},
      ApiOperation{"GET", "openapi.json", anyone, view, get_description},
      ApiOperation{"POST", "login", anyone, view, log_in}, ApiOperation{"POST", "logout", known, view, log_out},
      ApiOperation{"GET", "session", known, view, get_session}};
  return all;
}

}  // namespace campipe
