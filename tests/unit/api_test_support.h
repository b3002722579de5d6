// The API with users of all kinds, and a supervisor that does, or refuses, what it is asked for.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/config/password_hash.h"
#include "app/control/json_fields.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/requests.h"
#include "app/publisher/server/api/api.h"
#include "app/publisher/server/api/description.h"
#include "app/supervisor/life/answers.h"
#include "tests/unit/some_cluster.h"

namespace campipe {

using nlohmann::json;

inline const json& description() {
  static const json all = json::parse(api_description());
  return all;
}

inline json camera_status(const std::string& source) {
  const json stage{{"p50", 1.5}, {"p95", 2}, {"p99", 3}};
  return {{"state", "running"},
          {"reason", ""},
          {"since_utc", "2026-11-21T10:15:30.250Z"},
          {"enabled", true},
          {"source", source},
          {"frames", {{"decoded", 100}, {"encoded", 90}, {"dropped", {{"queue_full", 10}}}}},
          {"bytes", 5000},
          {"latency_ms", stage},
          {"stages_ms", {{"decode", stage}, {"queue", stage}, {"filter", stage}, {"encode", stage}}},
          {"push", {{"rtsp://u:hunter2@host/a", {{"state", "connected"}, {"reason", "rtsp://u:hunter2@host/a"}}}}},
          {"outputs", {{"small", {{"state", "waiting"}, {"reason", "no"}}}}}};
}

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() {
    config_.users = {{"ann", hash(), "", Permission::administer, {}},
                     {"ben", hash(), "", Permission::record, {"dock"}},
                     {"cat", hash(), "", Permission::view, {"dock"}},
                     {"dan", hash(), "", Permission::administer, {"dock"}}};
    access_.update(config_);
    rig_.set_status(
        {{"time_utc", "2026-11-21T10:15:30.250Z"},
         {"uptime_s", 1.5},
         {"version", "0.1.0"},
         {"state", "running"},
         {"config", "rig.yaml"},
         {"cameras", {{"dock", camera_status("rtsp://u:hunter2@10.0.0.11/s")}, {"gate", camera_status("b.mp4")}}},
         {"processes", {{{"role", "publisher"}, {"pid", 2}}}},
         {"gpus", json::array()},
         {"cluster", test::shown_cluster()}});
    api_.tick();
  }

  static const std::string& hash() {
    static const std::string made = hash_password("hunter2");
    return made;
  }

  HttpAnswer call(const std::string& user, const std::string& method, const std::string& path,
                  const std::string& body = "", const std::map<std::string, std::string>& query = {}) {
    HttpRequest request{method, "/api/v1/" + path, query, body, "10.0.0.9", {}, "", true};
    request.identity = identity_of(user);
    return answer_of(request);
  }
  // With what a thread for disks would do.
  HttpAnswer answer_of(const HttpRequest& request) {
    HttpAnswer answer = route_for(request.path).handle(request);
    DiskNote note;
    return answer.on_disk ? answer.on_disk(note) : answer;
  }
  // "owner", "visitor", a user; "": nobody, but without users.
  [[nodiscard]] Identity identity_of(const std::string& who) const {
    if (who == "owner") return Identity::owner();
    if (who == "visitor" || !access_.required()) return Identity::visitor();
    return who.empty() ? Identity() : *access_.identity_of(who);
  }
  json told(const std::string& user, const std::string& path, const std::map<std::string, std::string>& query = {}) {
    const HttpAnswer answer = call(user, "GET", path, "", query);
    EXPECT_EQ(answer.status, 200) << path << answer.body;
    return json::parse(answer.body);
  }
  // "error" of the answer, with its status.
  std::string refusal(const std::string& user, const std::string& method, const std::string& path,
                      const std::string& body = "", const std::map<std::string, std::string>& query = {}) {
    const HttpAnswer answer = call(user, method, path, body, query);
    return std::to_string(answer.status) + " " + json::parse(answer.body).value("error", "");
  }
  const HttpServer::Route& route_for(const std::string& path) {
    const HttpServer::Route* best = nullptr;
    for (const auto& route : routes_) {
      if (path.starts_with(route.prefix) && (best == nullptr || route.prefix.size() > best->prefix.size()))
        best = &route;
    }
    return *best;
  }

  // As the supervisor answers.
  static messages::Answer done(const messages::SetRecording& asked) { return recording_answer(asked.on); }
  static messages::Answer done(const messages::EnableCamera& asked) { return enabled_answer(asked.on); }
  static messages::Answer done(const messages::MoveCamera& asked) { return moved_answer(asked.worker); }
  static messages::Answer done(const messages::DrainNode& asked) {
    return {200, {{"node", asked.node}, {"draining", !asked.end}}};
  }
  static messages::Answer done(const messages::MoveToNode& asked) {
    return {200, {{"camera", asked.camera}, {"node", asked.node ? json(*asked.node) : json()}}};
  }
  static messages::Answer done(const messages::PutCamera&) { return put_answer(false); }
  static messages::Answer done(const messages::RemoveCamera&) { return removed_answer(); }  // and as these, others
  static messages::Answer done(const messages::Reload&) { return reloaded_answer({.changed = {"dock"}}); }

  // Of the supervisor, last: the message, with its type. Null: nothing.
  json asked_;
  std::optional<messages::Answer> refusal_;  // instead of doing it
  RigView rig_{[this](const messages::Request& request) {
    std::visit(
        [this]<typename M>(const M& asked) {
          asked_ = write_json(asked);
          asked_["type"] = M::type;
          messages::Answer answer = refusal_.value_or(done(asked));
          answer.request = asked.request;
          rig_.on_answer(answer);
        },
        request);
  }};
  ServerConfig config_;
  Access access_{config_};
  Api api_{rig_, access_, [] {
             return json::array({{{"camera", "dock"},
                                  {"address", "10.0.0.9"},
                                  {"user", "cat"},
                                  {"form", "fmp4"},
                                  {"since_utc", "2026-11-21T10:15:30Z"},
                                  {"sent", 5},
                                  {"dropped", 0},
                                  {"bytes", 1000}}});
           }};
  std::vector<HttpServer::Route> routes_ = api_.routes();
};

}  // namespace campipe
