// The API: every call with and without permission, what is answered to good and bad requests, and that the description
// that is served tells just that.
#include "app/server/api.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>

#include "app/password_hash.h"
#include "app/server/page.h"
#include "tests/unit/api_schema.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

const json& description() {
  static const json all = json::parse(find_page_file("openapi.json")->bytes);
  return all;
}

json camera_status(const std::string& source) {
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
    json gone = camera_status("gone");
    gone["state"] = "removed";
    rig_.set_status(
        {{"time_utc", "2026-11-21T10:15:30.250Z"},
         {"uptime_s", 1.5},
         {"version", "0.1.0"},
         {"state", "running"},
         {"config", "rig.yaml"},
         {"cameras",
          {{"dock", camera_status("rtsp://u:hunter2@10.0.0.11/s")}, {"gate", camera_status("b.mp4")}, {"gone", gone}}},
         {"processes", {{{"role", "publisher"}, {"pid", 2}}}},
         {"gpus", json::array()}});
    api_.tick();
  }

  static const std::string& hash() {
    static const std::string made = hash_password("hunter2");
    return made;
  }

  HttpAnswer call(const std::string& user, const std::string& method, const std::string& path,
                  const std::string& body = "", const std::map<std::string, std::string>& query = {}) {
    HttpRequest request{method, "/api/v1/" + path, query, body, "10.0.0.9", {}, "", true};
    if (!user.empty()) request.identity = *access_.identity_of(user);
    return route_for(request.path).handle(request);
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

  json asked_;  // of the supervisor, last
  RigAnswer reply_{200, {{"done", true}}};
  RigView rig_{[this](const json& request) {
    asked_ = request;
    rig_.on_answer({{"request", request.at("request")}, {"status", reply_.status}, {"body", reply_.body}});
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

// --- every call --------------------------------------------------------------------------------------------------

struct Call {
  std::string method;  // "GET"
  std::string path;    // as described: "/cameras/{name}"
  json operation;
};

std::vector<Call> all_calls() {
  std::vector<Call> calls;
  for (const auto& [path, methods] : description().at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      if (method == "parameters") continue;
      std::string upper = method;
      std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
      calls.push_back({upper, path, operation});
    }
  }
  return calls;
}

std::string of_camera(const std::string& path, const std::string& camera) {
  const auto at = path.find("{name}");
  return at == std::string::npos ? path.substr(1) : path.substr(1, at - 1) + camera + path.substr(at + 6);
}

std::string good_body(const json& operation) {
  const std::string id = operation.at("operationId");
  if (id == "putCamera") return R"({"config": {"source": "a.mp4"}, "persist": true})";
  if (id == "login") return R"({"user": "ann", "password": "hunter2"})";
  return "";
}

// What a user gets, by the description's "x-may" and where the camera is.
int expected_status(const UserConfig* user, const std::string& may, const Call& call, const std::string& camera) {
  if (may.starts_with("anybody") || user == nullptr) return 200;
  const bool sees = user->cameras.empty() || std::ranges::find(user->cameras, camera) != user->cameras.end();
  const bool names_one = call.path.find("{name}") != std::string::npos;
  if (may == "administer all cameras") {
    return user->may == Permission::administer && user->cameras.empty() ? 200 : 403;
  }
  if (names_one && !sees) return 404;
  const Permission needed = may == "view"     ? Permission::view
                            : may == "record" ? Permission::record
                                              : Permission::administer;
  return user->may >= needed ? 200 : 403;
}

TEST_F(ApiTest, EveryCallIsForThoseWhoMay) {
  const test::SchemaCheck check(description());
  std::size_t walked = 0;
  for (const Call& call : all_calls()) {
    const std::string may = call.operation.at("x-may");
    for (const std::string camera : {"dock", "gate"}) {
      for (const std::string name : {"", "ann", "ben", "cat", "dan"}) {
        const std::string what = call.method + " " + of_camera(call.path, camera) + " as '" + name + "'";
        const auto user = std::ranges::find(config_.users, name, &UserConfig::name);
        asked_ = nullptr;
        const HttpAnswer answer =
            this->call(name, call.method, of_camera(call.path, camera), good_body(call.operation));
        const int expected = expected_status(name.empty() ? nullptr : &*user, may, call, camera);
        EXPECT_EQ(answer.status, expected) << what << ": " << answer.body;
        EXPECT_TRUE(answer.status == 200 || asked_.is_null()) << what;  // nothing was done
        // The answer is as it is described.
        const json& responses = call.operation.at("responses");
        ASSERT_TRUE(responses.contains(std::to_string(answer.status))) << what << answer.status;
        const json& response = check.resolve(responses.at(std::to_string(answer.status)));
        EXPECT_EQ(answer.type, "application/json") << what;
        EXPECT_THAT(check(json::parse(answer.body), response.at("/content/application~1json/schema"_json_pointer)),
                    IsEmpty())
            << what;
        EXPECT_THAT(answer.body, Not(HasSubstr("hunter2"))) << what;
        ++walked;
      }
    }
  }
  EXPECT_GT(walked, 150U);
}

TEST_F(ApiTest, OnlyTheseNeedNoLogin) {
  for (const Call& call : all_calls()) {
    const bool open = call.operation.contains("security");  // [], where it is not the general one
    EXPECT_EQ(route_for("/api/v1" + call.path).anyone, open) << call.path;
  }
  EXPECT_FALSE(route_for("/recordings/files/dock/main/a.mp4").anyone);
}

TEST_F(ApiTest, WhatIsNotDescribedIsNotThere) {
  std::map<std::string, std::set<std::string>> described;
  for (const Call& call : all_calls()) described[call.path].insert(call.method);
  for (const auto& [path, methods] : described) {
    for (const std::string method : {"GET", "PUT", "POST", "DELETE", "PATCH"}) {
      if (methods.contains(method)) continue;
      EXPECT_EQ(call("ann", method, of_camera(path, "dock")).status, 405) << method << path;
    }
  }
  for (const std::string path : {"", "cameras/", "cameras//enable", "cameras/a/b", "cameras/dock/", "Status", "status/",
                                 "cameras/dock/enable/", "nothing", "cameras/dock/nothing"}) {
    EXPECT_EQ(call("ann", "GET", path).status, 404) << path;
  }
}

// --- what is answered --------------------------------------------------------------------------------------------

TEST_F(ApiTest, UsersSeeTheirCamerasOnly) {
  const auto names = [](const json& cameras) {
    std::set<std::string> all;
    for (const auto& [name, camera] : cameras.items()) all.insert(name);
    return all;
  };
  EXPECT_THAT(names(told("ann", "status")["cameras"]), ElementsAre("dock", "gate"));
  EXPECT_THAT(names(told("", "cameras")["cameras"]), ElementsAre("dock", "gate"));
  EXPECT_THAT(names(told("cat", "status")["cameras"]), ElementsAre("dock"));
  EXPECT_THAT(names(told("cat", "cameras")["cameras"]), ElementsAre("dock"));
  // The same words, whether it is hidden or not there.
  EXPECT_EQ(refusal("cat", "GET", "cameras/gate"), "404 there is no camera 'gate'");
  EXPECT_EQ(refusal("cat", "GET", "cameras/nobody"), "404 there is no camera 'nobody'");
  EXPECT_EQ(refusal("ann", "GET", "cameras/nobody"), "404 there is no camera 'nobody'");
  EXPECT_EQ(refusal("ann", "GET", "cameras/gone"), "404 there is no camera 'gone'");
  EXPECT_EQ(refusal("ann", "GET", "cameras/gone/history"), "404 there is no camera 'gone'");
}

TEST_F(ApiTest, ARigThatHasNotToldAnythingHasNoCameras) {
  rig_.set_status(json::object());
  EXPECT_EQ(told("ann", "status")["cameras"], json::object());
  EXPECT_EQ(told("ann", "recordings")["recordings"], json::array());
}

TEST_F(ApiTest, PasswordsOfCamerasAreNotShown) {
  const json dock = told("ann", "cameras/dock");
  EXPECT_EQ(dock["source"], "rtsp://10.0.0.11/s");
  EXPECT_TRUE(dock["push"].contains("rtsp://host/a"));
  reply_ = {400, {{"errors", {"rig.yaml:3:1: cameras.dock: rtsp://u:hunter2@host/s"}}}};
  EXPECT_THAT(call("ann", "POST", "reload").body, Not(HasSubstr("hunter2")));
}

TEST_F(ApiTest, ChangesAreAskedOfTheSupervisor) {
  const auto asked = [&](const std::string& method, const std::string& path, const std::string& body,
                         const std::map<std::string, std::string>& query = {}) {
    EXPECT_EQ(call("ann", method, path, body, query).status, 200);
    asked_.erase("request");
    return asked_;
  };
  EXPECT_EQ(asked("PUT", "cameras/new", R"({"config": {"source": "a.mp4"}, "persist": true})"),
            (json{{"op", "put_camera"}, {"name", "new"}, {"config", {{"source", "a.mp4"}}}, {"persist", true}}));
  EXPECT_EQ(asked("PUT", "cameras/new", R"({"config": {}})")["persist"], false);
  EXPECT_EQ(asked("DELETE", "cameras/dock", "", {{"persist", "true"}}),
            (json{{"op", "remove_camera"}, {"name", "dock"}, {"persist", true}}));
  EXPECT_EQ(asked("POST", "cameras/dock/enable", ""),
            (json{{"op", "enable_camera"}, {"name", "dock"}, {"on", true}, {"persist", false}}));
  EXPECT_EQ(asked("POST", "cameras/dock/disable", R"({"persist": true})"),
            (json{{"op", "enable_camera"}, {"name", "dock"}, {"on", false}, {"persist", true}}));
  EXPECT_EQ(asked("POST", "cameras/dock/record", "{}"), (json{{"op", "record"}, {"name", "dock"}, {"on", true}}));
  EXPECT_EQ(asked("POST", "cameras/dock/stop-recording", ""),
            (json{{"op", "record"}, {"name", "dock"}, {"on", false}}));
  EXPECT_EQ(asked("POST", "reload", ""), (json{{"op", "reload"}}));
}

TEST_F(ApiTest, TheSupervisorsRefusalIsPassedOn) {
  reply_ = {409, {{"error", "its configuration has no 'record'"}}};
  EXPECT_EQ(refusal("ann", "POST", "cameras/dock/record"), "409 its configuration has no 'record'");
  rig_.close();
  RigView silent([](const json&) {});
  silent.close();
  Api api(silent, access_, [] { return json::array(); });
  HttpRequest request{"POST", "/api/v1/reload", {}, "", "", {}, "", false};
  EXPECT_EQ(api.routes().front().handle(request).status, 504);
}

TEST_F(ApiTest, BadRequestsAreRefusedWithTheReason) {
  const auto put = [&](const std::string& body) { return refusal("ann", "PUT", "cameras/dock", body); };
  EXPECT_EQ(put(""), "400 missing key 'config', which has the camera's keys as in the file");
  EXPECT_EQ(put("{"), "400 the body is not valid JSON");
  EXPECT_EQ(put("[]"), "400 the body must be a JSON object");
  EXPECT_EQ(put("\xFF"), "400 the body is not valid JSON");
  EXPECT_EQ(put(std::string(500'000, '[')), "400 the body is nested too deeply");
  EXPECT_EQ(put(R"({"config": [], "persist": true})"),
            "400 'config' must be an object: the camera's keys as in the file");
  EXPECT_EQ(put(R"({"config": {}, "persist": 1})"), "400 'persist' must be true or false");
  EXPECT_EQ(put(R"({"config": {}, "persit": true})"), "400 unknown key 'persit', did you mean 'persist'?");
  EXPECT_EQ(refusal("ann", "POST", "cameras/dock/record", R"({"a": 1})"), "400 unknown key 'a'");
  EXPECT_EQ(refusal("ann", "POST", "reload", "7"), "400 the body must be a JSON object");
  EXPECT_EQ(refusal("ann", "DELETE", "cameras/dock", "", {{"persist", "yes"}}), "400 'persist' must be true or false");
  EXPECT_EQ(refusal("ann", "DELETE", "cameras/dock", "", {{"perist", "true"}}),
            "400 unknown parameter 'perist', did you mean 'persist'?");
  EXPECT_EQ(refusal("ann", "GET", "status", "", {{"x", ""}}), "400 unknown parameter 'x'");
  EXPECT_TRUE(asked_.is_null());
}

// --- logging in --------------------------------------------------------------------------------------------------

std::string header(const HttpAnswer& answer, const std::string& name) {
  for (const auto& [key, value] : answer.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST_F(ApiTest, ALoginOpensASession) {
  const HttpAnswer answer = call("", "POST", "login", R"({"user": "ben", "password": "hunter2"})");
  ASSERT_EQ(answer.status, 200);
  const json session = json::parse(answer.body);
  EXPECT_EQ(session["user"], "ben");
  EXPECT_EQ(session["permissions"], (json{"view", "record"}));
  EXPECT_EQ(session["cameras"], json::array({"dock"}));
  const std::string cookie = header(answer, "Set-Cookie");
  EXPECT_THAT(cookie, ::testing::MatchesRegex(
                          "campipe_session=[A-Za-z0-9_-]+; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure"));
  const std::string token = cookie.substr(cookie.find('=') + 1, 43);
  EXPECT_TRUE(access_.is_csrf_token(token, session["csrf"]));

  HttpRequest request{"GET", "/api/v1/session", {}, "", "", *access_.find_session(token), token, false};
  EXPECT_EQ(json::parse(route_for(request.path).handle(request).body), session);
  request.method = "POST";
  request.path = "/api/v1/logout";
  EXPECT_THAT(header(route_for(request.path).handle(request), "Set-Cookie"), HasSubstr("campipe_session=; "));
  EXPECT_FALSE(access_.find_session(token));
}

TEST_F(ApiTest, AWrongLoginIsRefusedAndLimited) {
  const std::string wrong = R"({"user": "ann", "password": "hunter3"})";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(refusal("", "POST", "login", wrong), "401 wrong user or password");
  const HttpAnswer answer = call("", "POST", "login", wrong);
  EXPECT_EQ(answer.status, 429);
  EXPECT_THAT(answer.headers, Contains(Pair("Retry-After", "1")));
  EXPECT_EQ(refusal("", "POST", "login", R"({"user": "ann"})"), "400 missing key 'password'");
  EXPECT_EQ(refusal("", "POST", "login", R"({"user": 1, "password": "a"})"), "400 'user' must be a text");
  EXPECT_EQ(refusal("", "POST", "login", R"({"user": "a", "password": "hunter2", "x": 1})"), "400 unknown key 'x'");
}

TEST_F(ApiTest, WithoutUsersNobodyHasToLogIn) {
  access_.update({});
  const json session = told("", "session");
  EXPECT_EQ(
      session,
      (json{{"user", ""}, {"permissions", {"view", "record", "administer"}}, {"cameras", nullptr}, {"csrf", ""}}));
  const HttpAnswer answer = call("", "POST", "login", R"({"user": "eve", "password": "x"})");
  EXPECT_EQ(json::parse(answer.body), session);
  EXPECT_EQ(header(answer, "Set-Cookie"), "");
}

// --- recordings --------------------------------------------------------------------------------------------------

class RecordingsTest : public ApiTest {
 protected:
  RecordingsTest() {
    write("dock.index.jsonl",
          begin("day1/a.mp4", "10:00") + end("day1/a.mp4", "10:00", "10:10") + begin("day1/b.mp4", "10:10") +
              end("day1/b.mp4", "10:10", "10:20") + begin("day2/c.mp4", "10:20") + begin("deleted.mp4", "09:00") +
              R"({"event": "deleted", "file": "deleted.mp4"})" + "\nnot JSON\n{\"event\": 1}\n[]\n" +
              end("../outside.mp4", "09:00", "09:10") + end("link.mp4", "09:00", "09:10") +
              end("/etc/passwd", "09:00", "09:10") + end("gone.mp4", "09:00", "09:10") + end("day1", "09:00", "09:10") +
              end("fine.link.mp4", "08:00", "08:10"));
    write("gate.index.jsonl", end("g.mp4", "10:05", "10:06"));
    write("dock.small.index.jsonl", end("s.mkv", "10:07", "10:08"));
    for (const char* file : {"day1/a.mp4", "day1/b.mp4", "day2/c.mp4", "deleted.mp4", "g.mp4", "s.mkv", "other.mp4"}) {
      write(file, "video");
    }
    std::ofstream(outer_.path() / "outside.mp4") << "secret";
    std::filesystem::create_symlink(outer_.path() / "outside.mp4", folder_ / "link.mp4");
    std::filesystem::create_symlink("day1/a.mp4", folder_ / "fine.link.mp4");
    add("dock", "main");
    add("dock/small", "small");
    add("gate", "main");
  }

  void write(const std::string& name, const std::string& text) {
    const auto file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  static std::string utc(const std::string& time) { return "2026-11-21T" + time + ":00.000Z"; }
  static std::string begin(const std::string& file, const std::string& start) {
    return json{{"event", "begin"}, {"file", file}, {"start", utc(start)}, {"clock", "arrival"}}.dump() + "\n";
  }
  static std::string end(const std::string& file, const std::string& start, const std::string& stop) {
    return json{{"event", "end"},      {"file", file},       {"start", utc(start)},
                {"end", utc(stop)},    {"bytes", 5},         {"duration_s", 600.0},
                {"reason", "segment"}, {"clock", "arrival"}, {"written", utc(stop)}}
               .dump() +
           "\n";
  }
  void add(const std::string& name, const std::string& output) {
    CameraConfig config;
    config.name = name;
    config.output = output;
    config.record = RecordConfig{(folder_ / "%Y.mp4").string()};
    api_.add(config);
  }

  std::vector<std::string> ids(const std::string& user, const std::map<std::string, std::string>& query = {}) {
    std::vector<std::string> all;
    const json answer = told(user, "recordings", query);
    for (const json& recording : answer["recordings"]) all.push_back(recording["id"]);
    return all;
  }
  HttpAnswer file(const std::string& user, const std::string& id,
                  const std::map<std::string, std::string>& query = {}) {
    HttpRequest request{"GET", "/recordings/files/" + id, query, "", "", {}, "", false};
    if (!user.empty()) request.identity = *access_.identity_of(user);
    return route_for(request.path).handle(request);
  }

  test::TemporaryFolder outer_;
  std::filesystem::path folder_ = outer_.path() / "recordings";
};

TEST_F(RecordingsTest, AreListedTheNewestFirst) {
  EXPECT_THAT(ids("ann"), ElementsAre("dock/main/day2/c.mp4", "dock/main/day1/b.mp4", "dock/small/s.mkv",
                                      "gate/main/g.mp4", "dock/main/day1/a.mp4", "dock/main/fine.link.mp4"));
  const json listed = told("ann", "recordings")["recordings"];
  EXPECT_EQ(listed[0], (json{{"id", "dock/main/day2/c.mp4"},
                             {"camera", "dock"},
                             {"start_utc", utc("10:20")},
                             {"bytes", 5},
                             {"writing", true}}));
  EXPECT_EQ(listed[2]["output"], "small");
  EXPECT_EQ(listed[1]["duration_s"], 600);
  const test::SchemaCheck check(description());
  EXPECT_THAT(check(listed, json{{"type", "array"}, {"items", {{"$ref", "#/components/schemas/Recording"}}}}),
              IsEmpty());
}

TEST_F(RecordingsTest, AreChosenByCameraAndTime) {
  EXPECT_THAT(ids("ann", {{"camera", "gate"}}), ElementsAre("gate/main/g.mp4"));
  EXPECT_THAT(ids("ann", {{"limit", "2"}}), ElementsAre("dock/main/day2/c.mp4", "dock/main/day1/b.mp4"));
  EXPECT_THAT(ids("ann", {{"from", "2026-11-21T10:10:30Z"}}),
              ElementsAre("dock/main/day2/c.mp4", "dock/main/day1/b.mp4"));
  EXPECT_THAT(ids("ann", {{"to", "2026-11-21T10:05:30.5Z"}, {"from", "2026-11-21T10:00:00Z"}}),
              ElementsAre("gate/main/g.mp4", "dock/main/day1/a.mp4"));
  EXPECT_EQ(refusal("ann", "GET", "recordings", "", {{"from", "today"}}),
            "400 'from' must be a time in UTC, such as 2026-11-21T10:15:30Z");
  for (const std::string bad : {"2026-11-21", "2026-11-21T10:00:00", "2026-11-21T10:00:00+01:00",
                                "2026-11-21T10:00:00.Z", "2026-11-21T10:00:00Zx", "2026-13-21T10:00:00Z"}) {
    EXPECT_THAT(refusal("ann", "GET", "recordings", "", {{"to", bad}}), HasSubstr("400 'to' must be a time")) << bad;
  }
  for (const std::string bad : {"0", "-1", "10001", "1e3", "", "x"}) {
    EXPECT_EQ(refusal("ann", "GET", "recordings", "", {{"limit", bad}}),
              "400 'limit' must be a whole number from 1 to 10000");
  }
}

TEST_F(RecordingsTest, AreForThoseWhoMay) {
  EXPECT_THAT(ids("ben"), ElementsAre("dock/main/day2/c.mp4", "dock/main/day1/b.mp4", "dock/small/s.mkv",
                                      "dock/main/day1/a.mp4", "dock/main/fine.link.mp4"));
  EXPECT_EQ(refusal("ben", "GET", "recordings", "", {{"camera", "gate"}}), "404 there is no camera 'gate'");
  EXPECT_EQ(refusal("cat", "GET", "recordings", "", {{"camera", "dock"}}), "403 user 'cat' may not see recordings");
  EXPECT_EQ(file("ben", "dock/main/day1/a.mp4").status, 200);
  EXPECT_EQ(file("ben", "gate/main/g.mp4").status, 404);
  EXPECT_EQ(file("cat", "dock/main/day1/a.mp4").status, 403);
  EXPECT_EQ(file("cat", "gate/main/g.mp4").status, 404);
}

TEST_F(RecordingsTest, OnlyWhatTheIndexNamesCanBeHad) {
  const HttpAnswer good = file("ann", "dock/main/day1/a.mp4");
  EXPECT_EQ(good.file, std::filesystem::canonical(folder_ / "day1/a.mp4"));
  EXPECT_EQ(good.type, "video/mp4");
  EXPECT_EQ(file("ann", "dock/small/s.mkv").type, "video/x-matroska");
  EXPECT_EQ(file("ann", "dock/main/day1/a.mp4", {{"download", ""}}).file, good.file);
  EXPECT_EQ(file("ann", "dock/main/fine.link.mp4").file, std::filesystem::canonical(folder_ / "day1/a.mp4"));
  for (const std::string id : {"dock/main/other.mp4",
                               "dock/main/deleted.mp4",
                               "dock/main/gone.mp4",
                               "dock/main/link.mp4",
                               "dock/main/../outside.mp4",
                               "dock/main//etc/passwd",
                               "dock/main/day1",
                               "dock/main/day1/../day1/a.mp4",
                               "dock/main/./day1/a.mp4",
                               "dock/main/dock.index.jsonl",
                               "dock/main/",
                               "dock/main",
                               "dock",
                               "",
                               "/",
                               "//",
                               "dock/small/day1/a.mp4",
                               "dock/nothing/day1/a.mp4",
                               "gate/main/day1/a.mp4",
                               "nobody/main/a.mp4",
                               "..",
                               "../a/b"}) {
    const HttpAnswer answer = file("ann", id);
    EXPECT_EQ(answer.status, 404) << id;
    EXPECT_EQ(answer.file, "") << id;
  }
}

TEST_F(RecordingsTest, WhatIsAddedToTheIndexIsSeen) {
  EXPECT_THAT(ids("ann", {{"camera", "gate"}}), ElementsAre("gate/main/g.mp4"));
  write("h.mp4", "video");
  std::ofstream(folder_ / "gate.index.jsonl", std::ios::app) << end("h.mp4", "11:00", "11:01");
  EXPECT_THAT(ids("ann", {{"camera", "gate"}}), ElementsAre("gate/main/h.mp4", "gate/main/g.mp4"));
  std::filesystem::remove(folder_ / "gate.index.jsonl");
  EXPECT_THAT(ids("ann", {{"camera", "gate"}}), IsEmpty());
}

}  // namespace
}  // namespace campipe
