// What each operation of the API does.
#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "app/config/names.h"
#include "app/publisher/server/api/api.h"
#include "app/publisher/server/api/description.h"
#include "app/publisher/server/api/request.h"

namespace campipe {
namespace {

using nlohmann::json;

constexpr std::size_t longest_config = 64 * 1024;
constexpr int most_recordings = 1'000;
constexpr std::span<const std::string_view> nothing;

json recording_json(const ListedRecording& recording) {
  json made{{"id", recording.id},
            {"camera", recording.camera},
            {"start_utc", recording.start},
            {"bytes", recording.bytes},
            {"writing", recording.end.empty()}};
  if (recording.output != "main") made["output"] = recording.output;
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

std::string cookie(const std::string& token, bool secure, int seconds) {
  return std::string(session_cookie) + "=" + token +
         "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(seconds) + (secure ? "; Secure" : "");
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

}  // namespace

HttpAnswer Api::get_status(const HttpRequest& request, const std::string&) {
  check_parameters(request, nothing);
  json seen = *status(request.identity);
  seen["cameras"] = cameras_of(request.identity);
  return json_answer(200, seen);
}

HttpAnswer Api::get_cameras(const HttpRequest& request, const std::string&) {
  check_parameters(request, nothing);
  return json_answer(200, {{"cameras", cameras_of(request.identity)}});
}

HttpAnswer Api::get_camera(const HttpRequest& request, const std::string& camera) {
  check_parameters(request, nothing);
  const auto newest = status(request.identity);
  const auto& cameras = newest->at("cameras");
  if (!cameras.contains(camera)) throw ApiError(404, "there is no camera '" + camera + "'");
  return json_answer(200, cameras.at(camera));
}

HttpAnswer Api::put_camera(const HttpRequest& request, const std::string& camera) {
  constexpr std::array<std::string_view, 2> keys{"config", "persist"};
  check_parameters(request, nothing);
  const json body = read_body(request, keys);
  if (!body.contains("config")) throw ApiError(400, "missing key 'config', which has the camera's keys as in the file");
  if (!body["config"].is_object()) throw ApiError(400, "'config' must be an object: the camera's keys as in the file");
  // No camera needs so much, and numbers grow when they are written out.
  if (body["config"].dump().size() > longest_config) throw ApiError(400, "'config' is longer than 64 KiB");
  return ask(
      request.identity,
      messages::PutCamera{.name = camera, .config = body["config"], .persist = read_bool(body, "persist", false)});
}

HttpAnswer Api::delete_camera(const HttpRequest& request, const std::string& camera) {
  constexpr std::array<std::string_view, 1> parameters{"persist"};
  check_parameters(request, parameters);
  return ask(request.identity, messages::RemoveCamera{.name = camera, .persist = persist_parameter(request)});
}

HttpAnswer Api::set_enabled(const HttpRequest& request, const std::string& camera, bool on) {
  constexpr std::array<std::string_view, 1> keys{"persist"};
  check_parameters(request, nothing);
  const bool persist = read_bool(read_body(request, keys), "persist", false);
  return ask(request.identity, messages::EnableCamera{.name = camera, .on = on, .persist = persist});
}

HttpAnswer Api::enable(const HttpRequest& request, const std::string& camera) {
  return set_enabled(request, camera, true);
}

HttpAnswer Api::disable(const HttpRequest& request, const std::string& camera) {
  return set_enabled(request, camera, false);
}

HttpAnswer Api::set_recording(const HttpRequest& request, const std::string& camera, bool on) {
  check_parameters(request, nothing);
  read_body(request, nothing);
  return ask(request.identity, messages::SetRecording{.name = camera, .on = on});
}

HttpAnswer Api::record(const HttpRequest& request, const std::string& camera) {
  return set_recording(request, camera, true);
}

HttpAnswer Api::stop_recording(const HttpRequest& request, const std::string& camera) {
  return set_recording(request, camera, false);
}

HttpAnswer Api::get_history(const HttpRequest& request, const std::string& camera) {
  check_parameters(request, nothing);
  const auto newest = status(request.identity);
  if (!newest->at("cameras").contains(camera)) throw ApiError(404, "there is no camera '" + camera + "'");
  return json_answer(200, history_.of(camera));
}

HttpAnswer Api::reload(const HttpRequest& request, const std::string&) {
  check_parameters(request, nothing);
  read_body(request, nothing);
  return ask(request.identity, messages::Reload{});
}

HttpAnswer Api::get_recordings(const HttpRequest& request, const std::string&) {
  constexpr std::array<std::string_view, 4> parameters{"camera", "from", "to", "limit"};
  check_parameters(request, parameters);
  const Identity& identity = request.identity;
  if (identity.config && identity.config->may < Permission::record)
    throw ApiError(403, "user '" + identity.user + "' may not see recordings");
  const auto newest = status(request.identity);
  const json& cameras = newest->at("cameras");
  const auto is_seen = [&](const std::string& camera) {
    return cameras.contains(camera) && identity.may(Permission::record, camera);
  };
  const std::string camera = parameter(request, "camera", "");
  if (!camera.empty() && !is_seen(camera)) throw ApiError(404, "there is no camera '" + camera + "'");
  std::set<std::string> seen;
  for (const auto& [name, status_of_it] : cameras.items()) {
    if ((camera.empty() || name == camera) && is_seen(name)) seen.insert(name);
  }
  const auto wanted = [seen = std::move(seen)](const std::string& name) { return seen.contains(name); };
  const Recordings::Query query{wanted, time_parameter(request, "from"), time_parameter(request, "to"),
                                limit_parameter(request)};
  return from_disk([recordings = recordings_, query](const Recordings::IsAbout& is_about) {
    json listed = json::array();
    for (const ListedRecording& recording : recordings->list(query, is_about))
      listed.push_back(recording_json(recording));
    return json_answer(200, {{"recordings", listed}});
  });
}

HttpAnswer Api::get_viewers(const HttpRequest& request, const std::string&) {
  check_parameters(request, nothing);
  return json_answer(200, {{"viewers", viewers_()}});
}

HttpAnswer Api::get_description(const HttpRequest&, const std::string&) {
  HttpAnswer answer;
  answer.body = api_description();
  return answer;
}

HttpAnswer Api::log_in(const HttpRequest& request, const std::string&) {
  constexpr std::array<std::string_view, 2> keys{"user", "password"};
  const json body = read_body(request, keys);
  const std::string user = read_string(body, "user");
  const auto result = access_.check_password(user, read_string(body, "password"), request.address);
  if (!result.identity && result.refusal == Access::Refusal::too_many) {
    const std::string wait = std::to_string(result.retry_after_s);
    HttpAnswer refused = error_answer(429, "too many wrong passwords; try again in " + wait + " s");
    refused.headers.emplace_back("Retry-After", wait);
    return refused;
  }
  if (!result.identity) throw ApiError(401, "wrong user or password");
  if (!result.identity->config) return json_answer(200, session_json(*result.identity, ""));  // nobody has to log in
  const Access::Session session = access_.open_session(*result.identity);
  HttpAnswer answer = json_answer(200, session_json(*result.identity, session.csrf));
  constexpr int twelve_hours = 12 * 3600;
  answer.headers.emplace_back("Set-Cookie", cookie(session.token, request.secure, twelve_hours));
  return answer;
}

HttpAnswer Api::log_out(const HttpRequest& request, const std::string&) {
  check_parameters(request, nothing);
  read_body(request, nothing);
  if (!request.session.empty()) access_.close_session(request.session);
  HttpAnswer answer = json_answer(200, json::object());
  answer.headers.emplace_back("Set-Cookie", cookie("", request.secure, 0));
  return answer;
}

HttpAnswer Api::get_session(const HttpRequest& request, const std::string&) {
  check_parameters(request, nothing);
  return json_answer(200, session_json(request.identity, access_.csrf_token(request.session)));
}

}  // namespace campipe
