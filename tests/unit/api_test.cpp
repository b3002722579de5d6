// The API: every call with and without permission, what is answered to good and bad requests, and that the description
// that is served tells just that.
#include "app/publisher/server/api/api.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "app/control/messages/answer.h"
#include "app/control/messages/requests.h"
#include "tests/unit/api_schema.h"
#include "tests/unit/api_test_support.h"
#include "tests/unit/cookie_line.h"
#include "tests/unit/http_client.h"

namespace campipe {
namespace CAMPIPE_FILE {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

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

// What it answers has no end, and is no JSON.
bool is_stream(const Call& call) {
  return call.operation.at("responses").contains("200") &&
         call.operation.at("/responses/200/content"_json_pointer).contains("text/event-stream");
}

std::string good_body(const json& operation) {
  const std::string id = operation.at("operationId");
  if (id.starts_with("put")) return R"({"config": {"source": "a.mp4"}, "persist": true})";
  if (id == "moveCamera") return R"({"worker": 1})";
  if (id == "drainNode") return R"({"node": "east"})";
  if (id == "moveToNode") return R"({"camera": "dock", "node": "east"})";
  if (id == "login") return R"({"user": "ann", "password": "hunter2"})";
  return "";
}

// What a user gets, by the description's "x-may" and where the camera is.
int expected_status(const UserConfig* user, bool visitor, const std::string& may, const Call& call,
                    const std::string& camera) {
  if (user == nullptr) return visitor && may == "administer all cameras" ? 403 : 200;
  if (may.starts_with("anybody")) return 200;
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
      for (const std::string name : {"owner", "visitor", "ann", "ben", "cat", "dan"}) {
        const std::string what = call.method + " " + of_camera(call.path, camera) + " as '" + name + "'";
        const auto user = std::ranges::find(config_.users, name, &UserConfig::name);
        asked_ = nullptr;
        const HttpAnswer answer =
            this->call(name, call.method, of_camera(call.path, camera), good_body(call.operation));
        const int expected =
            expected_status(user == config_.users.end() ? nullptr : &*user, name == "visitor", may, call, camera);
        EXPECT_EQ(answer.status, expected) << what << ": " << answer.body;
        EXPECT_TRUE(answer.status == 200 || asked_.is_null()) << what;  // nothing was done
        // The answer is as it is described.
        const json& responses = call.operation.at("responses");
        ASSERT_TRUE(responses.contains(std::to_string(answer.status))) << what << answer.status;
        const json& response = check.resolve(responses.at(std::to_string(answer.status)));
        ++walked;
        if (answer.status == 200 && is_stream(call)) continue;
        EXPECT_EQ(answer.type, "application/json") << what;
        EXPECT_THAT(check(json::parse(answer.body), response.at("/content/application~1json/schema"_json_pointer)),
                    IsEmpty())
            << what;
        EXPECT_THAT(answer.body, Not(HasSubstr("hunter2"))) << what;
      }
    }
  }
  EXPECT_GT(walked, 150U);
}

// Before any call is reached.
class StrangersTest : public ApiTest {
 protected:
  // The status of what is answered, which is described.
  int status_of(const Call& call, const std::string& headers) {
    const std::string what = call.method + " /api/v1/" + of_camera(call.path, "dock");
    const test::Reply reply = test::ask(server_.port(), what, headers, good_body(call.operation));
    const json& responses = call.operation.at("responses");
    const std::string status = std::to_string(reply.status);
    EXPECT_TRUE(responses.contains(status)) << what << " " << status;
    if (!responses.contains(status)) return reply.status;
    const test::SchemaCheck check(description());
    const json& response = check.resolve(responses.at(status));
    if (reply.status == 200 && is_stream(call)) return reply.status;
    EXPECT_THAT(check(json::parse(reply.body), response.at("/content/application~1json/schema"_json_pointer)),
                IsEmpty())
        << what;
    return reply.status;
  }

  ServerConfig open_at_ = [this] {
    ServerConfig config = config_;
    config.http_address = "127.0.0.1:0";
    return config;
  }();
  HttpServer server_{open_at_, rig_, access_, api_.routes()};
};

TEST_F(StrangersTest, AreRefusedAtEveryCall) {
  const auto session = access_.open_session(*access_.identity_of("ann"));
  const std::string cookie = test::cookie_line(session.token);
  for (const Call& call : all_calls()) {
    const std::string what = call.method + " " + call.path;
    const bool open = call.operation.contains("security");
    EXPECT_EQ(status_of(call, ""), open ? 200 : 401) << what;
    EXPECT_EQ(status_of(call, "Origin: http://evil.example\r\n"), 403) << what;
    EXPECT_EQ(status_of(call, cookie + "Origin: http://evil.example\r\n"), 403) << what;
    EXPECT_EQ(status_of(call, cookie), open || call.method == "GET" ? 200 : 403) << what;
  }
  EXPECT_TRUE(asked_.is_null()) << "nothing was done";
  EXPECT_TRUE(access_.find_session(session.token)) << "nor was it ended";
}

TEST_F(ApiTest, OnlyTheseNeedNoLogin) {
  for (const Call& call : all_calls()) {
    const bool open = call.operation.contains("security");  // [], where it is not the general one
    EXPECT_EQ(route_for("/api/v1" + call.path).anyone, open) << call.path;
  }
  EXPECT_FALSE(route_for("/recordings/files/dock/main/a.mp4").anyone);
}

// The methods in the header Allow; HEAD, which goes with GET, is left out.
std::set<std::string> allowed_in(const HttpAnswer& answer) {
  std::set<std::string> methods;
  for (const auto& [name, value] : answer.headers) {
    std::istringstream words(name == "Allow" ? value : "");
    for (std::string word; words >> word;) methods.insert(word.substr(0, word.find(',')));
  }
  EXPECT_EQ(methods.contains("GET"), methods.contains("HEAD"));
  methods.erase("HEAD");
  return methods;
}

TEST_F(ApiTest, ARefusalNamesThePermissionThatIsMissing) {
  const std::string move = "cameras/dock/move";
  EXPECT_EQ(refusal("ben", "POST", move, R"({"worker": 1})"),
            "403 user 'ben' may not do this: it takes the permission 'administer' for all cameras");
  EXPECT_EQ(refusal("dan", "POST", move, R"({"worker": 1})"),
            "403 user 'dan' may not do this: it takes the permission 'administer' for all cameras");
  EXPECT_EQ(refusal("cat", "POST", "cameras/dock/record"),
            "403 user 'cat' may not do this: it takes the permission 'record'");
  config_.users.push_back({"met", hash(), "", Permission::metrics, {}});
  access_.update(config_);
  EXPECT_EQ(refusal("met", "GET", "status"), "403 user 'met' may not do this: it takes the permission 'view'");
}

TEST_F(ApiTest, WhatIsNotDescribedIsNotThere) {
  std::map<std::string, std::set<std::string>> described;
  for (const Call& call : all_calls()) described[call.path].insert(call.method);
  for (const auto& [path, methods] : described) {
    for (const std::string method : {"GET", "PUT", "POST", "DELETE", "PATCH", "TRACE"}) {
      if (methods.contains(method)) continue;
      const HttpAnswer answer = call("ann", method, of_camera(path, "dock"));
      EXPECT_EQ(answer.status, 405) << method << path;
      EXPECT_EQ(allowed_in(answer), methods) << method << path;
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
  EXPECT_THAT(names(told("visitor", "cameras")["cameras"]), ElementsAre("dock", "gate"));
  EXPECT_THAT(names(told("cat", "status")["cameras"]), ElementsAre("dock"));
  EXPECT_THAT(names(told("cat", "cameras")["cameras"]), ElementsAre("dock"));
  // The same words, whether it is hidden or not there.
  EXPECT_EQ(refusal("cat", "GET", "cameras/gate"), "404 there is no camera 'gate'");
  EXPECT_EQ(refusal("cat", "GET", "cameras/nobody"), "404 there is no camera 'nobody'");
  EXPECT_EQ(refusal("ann", "GET", "cameras/nobody"), "404 there is no camera 'nobody'");
  EXPECT_EQ(refusal("ann", "GET", "cameras/gone"), "404 there is no camera 'gone'");
  EXPECT_EQ(refusal("ann", "GET", "cameras/gone/history"), "404 there is no camera 'gone'");
}

// The frames of a camera go to mosaics, which are in its graph.
TEST_F(ApiTest, GraphsLeadToNoMosaicThatAUserMayNotSee) {
  const auto stream = [](const std::string& output, const std::string& codec) {
    return json{
        {"output", output}, {"filters", json::array()}, {"codec", codec}, {"encoder", ""}, {"on_demand", false}};
  };
  const auto node = [](const std::string& id, json streams) {
    return json{{"id", id}, {"process", "worker 0"}, {"gpu", "cpu"}, {"streams", std::move(streams)}};
  };
  const auto edge = [](const std::string& from, const std::string& to) {
    return json{{"from", from},   {"to", to},   {"queue_size", 8}, {"waiting", 0},
                {"published", 1}, {"fps", 5.0}, {"recalled", 0},   {"missed", 0}};
  };
  json dock = camera_status("a.mp4");
  dock["graph"] = {
      {"nodes",
       {node("source dock", json::array()), node("node dock 1", {stream("dock", "frames")}),
        node("node dock 2", {stream("dock", "h264"), stream("dock/small", "h264"), stream("wall", "frames")})}},
      {"edges",
       {edge("source dock", "node dock 1"), edge("node dock 1", "node dock 2"), edge("node dock 2", "node wall")}}};
  json status = *rig_.status();
  status["cameras"]["dock"] = dock;
  status["cameras"]["wall"] = camera_status("mosaic");
  rig_.set_status(status);
  const auto names_wall = [](const json& body) { return body.dump().find("wall") != std::string::npos; };
  for (const std::string path : {"status", "cameras", "cameras/dock"}) {
    EXPECT_FALSE(names_wall(told("cat", path))) << path;
    EXPECT_TRUE(names_wall(told("ann", path))) << path;
  }
  const json graph = told("cat", "cameras/dock")["graph"];
  EXPECT_EQ(graph["edges"].size(), 2U);
  EXPECT_EQ(graph["nodes"][2]["streams"].size(), 2U);
  EXPECT_EQ(told("ann", "cameras/dock")["graph"], dock["graph"]);
}

// What says how many cameras there are, or what they take, says something of those that are hidden.
TEST_F(ApiTest, WhoMaySeeSomeCamerasLearnsNothingOfTheOthers) {
  json status = *rig_.status();
  status["cameras"]["gate"]["order"] = 0;
  status["cameras"]["dock"]["order"] = 1;
  status["cameras"]["dock"]["cells"] = {{{"camera", "gate"}, {"away", true}, {"reason", "gate is broken"}}};
  status["resources"] = {{{"resource", "cores"}, {"needs", 3.5}}};
  rig_.set_status(status);
  EXPECT_EQ(told("ann", "cameras/dock")["order"], 1);
  EXPECT_TRUE(told("ann", "status").contains("resources"));
  EXPECT_FALSE(told("cat", "status").contains("resources"));
  EXPECT_EQ(told("cat", "status")["cameras"]["dock"]["order"], 0);
  for (const std::string path : {"status", "cameras", "cameras/dock"})
    EXPECT_THAT(told("cat", path).dump(), Not(HasSubstr("gate"))) << path;
}

TEST_F(ApiTest, PasswordsOfCamerasAreNotShown) {
  const json dock = told("ann", "cameras/dock");
  EXPECT_EQ(dock["source"], "rtsp://10.0.0.11/s");
  EXPECT_TRUE(dock["push"].contains("rtsp://host/a"));
  refusal_ = messages::Answer{400, {{"errors", {"rig.yaml:3:1: cameras.dock: rtsp://u:hunter2@host/s"}}}};
  EXPECT_THAT(call("ann", "POST", "reload").body, Not(HasSubstr("hunter2")));
}

// Whoever may watch is told what is needed for that.
TEST_F(ApiTest, PlacesAndProcessesAreShownToAdministratorsOnly) {
  json dock = camera_status("rtsp://u:hunter2@10.0.0.11:554/live/1?camera=7&user=x#part");
  dock["recording"] = "/srv/recordings/dock/a.mp4";
  dock["recording_paused"] = "cannot write '/srv/recordings/dock/a.mp4': No space left on device";
  dock["reason"] = "rtsp://10.0.0.11/live?session=7: 404; see (/var/log/campipe.log)";
  dock["push"] = {
      {"rtmp://host/app/k3y", {{"state", "failed"}, {"reason", "rtmp://host/app/k3y: refused"}, {"cause", "refused"}}}};
  dock["outputs"]["small"]["recording"] = "recordings/small.mp4";
  rig_.set_status({{"cameras",
                    {{"dock", dock},
                     {"gate", camera_status("srt://10.0.0.12:9000?streamid=secret id&latency=1")},
                     {"clip", camera_status("/data/clips/clip.mp4")}}},
                   {"processes", {{{"role", "publisher"}, {"pid", 2}}}},
                   {"rtsp", {{"address", "10.0.0.1:8554"}, {"tls", false}}}});
  const json all = told("ann", "status");
  EXPECT_EQ(all["processes"][0]["pid"], 2);
  EXPECT_EQ(all["rtsp"]["address"], "10.0.0.1:8554");
  EXPECT_EQ(all["cameras"]["dock"]["source"], "rtsp://10.0.0.11:554/live/1?camera=7&user=x#part");
  EXPECT_EQ(all["cameras"]["dock"]["recording"], "/srv/recordings/dock/a.mp4");
  EXPECT_EQ(told("owner", "status"), all);

  for (const std::string who : {"visitor", "cat", "dan"}) {
    const json seen = told(who, "status");
    EXPECT_EQ(seen["processes"], (json{{{"role", "publisher"}}})) << who;
    EXPECT_EQ(seen["rtsp"]["address"], ":8554") << who;
    const json& camera = seen["cameras"]["dock"];
    EXPECT_EQ(camera, told(who, "cameras/dock"));
    EXPECT_EQ(camera, told(who, "cameras")["cameras"]["dock"]);
    EXPECT_EQ(camera["source"], "rtsp://10.0.0.11:554/live/1") << who;
    EXPECT_EQ(camera["recording"], "a.mp4");
    EXPECT_EQ(camera["recording_paused"], "cannot write 'a.mp4': No space left on device");
    EXPECT_EQ(camera["reason"], "rtsp://10.0.0.11/live 404; see (campipe.log)");
    EXPECT_EQ(camera["push"], (json{{"rtmp://host", {{"state", "failed"}, {"reason", ""}, {"cause", "refused"}}}}));
    EXPECT_EQ(camera["outputs"]["small"]["recording"], "small.mp4");
  }
  EXPECT_EQ(told("visitor", "cameras/gate")["source"], "srt://10.0.0.12:9000");
  EXPECT_EQ(told("visitor", "cameras/clip")["source"], "clip.mp4");
  refusal_ = messages::Answer{409, {{"error", "cannot write beside /etc/campipe/rig.yaml: Permission denied"}}};
  EXPECT_EQ(refusal("dan", "POST", "cameras/dock/enable"), "409 cannot write beside rig.yaml: Permission denied");
  EXPECT_THAT(refusal("ann", "POST", "cameras/dock/enable"), HasSubstr("/etc/campipe/rig.yaml"));
}

TEST_F(ApiTest, FoldersAreNotShownEither) {
  const auto shown = [&](const std::string& source, const std::string& recording, const std::string& text) {
    json dock = camera_status(source);
    dock["recording"] = recording;
    dock["recording_paused"] = text;
    dock["outputs"]["small"]["reason"] = text;
    rig_.set_status({{"cameras", {{"dock", dock}}}});
    const json seen = told("visitor", "cameras/dock");
    EXPECT_EQ(seen["outputs"]["small"]["reason"], seen["recording_paused"]);
    return seen["source"].get<std::string>() + "|" + seen["recording"].get<std::string>() + "|" +
           seen["recording_paused"].get<std::string>();
  };
  EXPECT_EQ(shown("/data/my clips/old ones/a b.mp4", "/srv/my recordings/dock/a b.mp4",
                  "cannot write /srv/my recordings/dock/a b.mp4: No space left on device"),
            "a b.mp4|a b.mp4|cannot write a b.mp4: No space left on device");
  EXPECT_EQ(shown("file:///data/my clips/a.mp4", "", "cannot write '/srv/other disk/b.mp4': No space left"),
            "a.mp4||cannot write 'b.mp4': No space left");
  EXPECT_EQ(shown("clips/june/a.mp4", "recordings/dock/b.mp4",
                  "cannot write recordings/dock/b.mp4: see clips/june/a.mp4, recordings/dock/c.mp4"),
            "a.mp4|b.mp4|cannot write b.mp4: see a.mp4, c.mp4");
  EXPECT_EQ(shown("pattern", "b.mp4", "the camera's key \"/etc/campipe/my key.pem\" isn't /srv/a b/c.pem: 1/2 h"),
            "pattern|b.mp4|the camera's key \"my key.pem\" isn't c.pem: 1/2 h");
  EXPECT_EQ(shown("rtsp://10.0.0.11/live/1", "live/1/b.mp4", "no /srv/a b/c for rtsp://10.0.0.11/live/1?key=7 now"),
            "rtsp://10.0.0.11/live/1|b.mp4|no c for rtsp://10.0.0.11/live/1 now");
}

TEST_F(ApiTest, ChangesAreAskedOfTheSupervisor) {
  const auto asked = [&](const std::string& method, const std::string& path, const std::string& body,
                         const std::map<std::string, std::string>& query = {}) {
    EXPECT_EQ(call("ann", method, path, body, query).status, 200);
    asked_.erase("request");
    return asked_;
  };
  EXPECT_EQ(asked("PUT", "cameras/new", R"({"config": {"source": "a.mp4"}, "persist": true})"),
            (json{{"type", "put_camera"}, {"name", "new"}, {"config", {{"source", "a.mp4"}}}, {"persist", true}}));
  EXPECT_EQ(asked("PUT", "cameras/new", R"({"config": {}})")["persist"], false);
  EXPECT_EQ(asked("DELETE", "cameras/dock", "", {{"persist", "true"}}),
            (json{{"type", "remove_camera"}, {"name", "dock"}, {"persist", true}}));
  EXPECT_EQ(asked("PUT", "mosaics/wall", R"({"config": {"layout": "2x2"}, "persist": true})"),
            (json{{"type", "put_mosaic"}, {"name", "wall"}, {"config", {{"layout", "2x2"}}}, {"persist", true}}));
  EXPECT_EQ(asked("DELETE", "mosaics/wall", ""),
            (json{{"type", "remove_mosaic"}, {"name", "wall"}, {"persist", false}}));
  EXPECT_EQ(asked("PUT", "sync_groups/pair", R"({"config": {"rate": 25}})"),
            (json{{"type", "put_group"}, {"name", "pair"}, {"config", {{"rate", 25}}}, {"persist", false}}));
  EXPECT_EQ(asked("DELETE", "sync_groups/pair", "", {{"persist", "true"}}),
            (json{{"type", "remove_group"}, {"name", "pair"}, {"persist", true}}));
  EXPECT_EQ(asked("POST", "cameras/dock/enable", ""),
            (json{{"type", "enable_camera"}, {"name", "dock"}, {"on", true}, {"persist", false}}));
  EXPECT_EQ(asked("POST", "cameras/dock/disable", R"({"persist": true})"),
            (json{{"type", "enable_camera"}, {"name", "dock"}, {"on", false}, {"persist", true}}));
  EXPECT_EQ(asked("POST", "cameras/dock/record", "{}"),
            (json{{"type", "set_recording"}, {"name", "dock"}, {"on", true}}));
  EXPECT_EQ(asked("POST", "cameras/dock/stop-recording", ""),
            (json{{"type", "set_recording"}, {"name", "dock"}, {"on", false}}));
  EXPECT_EQ(asked("POST", "cameras/dock/move", R"({"worker": 2})"),
            (json{{"type", "move_camera"}, {"name", "dock"}, {"worker", 2}, {"from", nullptr}}));
  EXPECT_EQ(asked("POST", "cameras/dock/move", R"({"worker": 2, "from": 0})"),
            (json{{"type", "move_camera"}, {"name", "dock"}, {"worker", 2}, {"from", 0}}));
  EXPECT_EQ(asked("POST", "reload", ""), (json{{"type", "reload"}}));
}

TEST_F(ApiTest, TheSupervisorsRefusalIsPassedOn) {
  refusal_ = messages::Answer{409, {{"error", "its configuration has no 'record'"}}};
  EXPECT_EQ(refusal("ann", "POST", "cameras/dock/record"), "409 its configuration has no 'record'");
  rig_.close();
  RigView silent([](const messages::Request&) {});
  silent.close();
  Api api(silent, access_, [] { return json::array(); });
  HttpRequest request{"POST", "/api/v1/reload", {}, "", "", Identity::owner(), "", false};
  EXPECT_EQ(api.routes().front().handle(request).status, 504);
}

// The log of the rig has the reason; whichever call it was, its description has this answer, and that of a full server.
TEST_F(ApiTest, WhatTheRigCannotDoIsDescribed) {
  const test::SchemaCheck check(description());
  refusal_ = messages::Answer{500, {{"error", "cannot start a thread"}}};
  std::size_t failed = 0;
  std::size_t acting = 0;  // the supervisor may be late to answer these
  for (const Call& call : all_calls()) {
    const json& responses = call.operation.at("responses");
    if (!responses.contains("401")) continue;  // it needs neither the rig nor a user
    const std::string what = call.method + " " + call.path;
    EXPECT_TRUE(responses.contains("503")) << what;
    acting += responses.contains("504") ? 1 : 0;
    ASSERT_TRUE(responses.contains("500")) << what;
    asked_ = nullptr;
    const HttpAnswer answer = this->call("owner", call.method, of_camera(call.path, "dock"), good_body(call.operation));
    if (asked_.is_null()) continue;
    EXPECT_EQ(answer.status, 500) << what;
    const json& schema = check.resolve(responses.at("500")).at("/content/application~1json/schema"_json_pointer);
    EXPECT_THAT(check(json::parse(answer.body), schema), IsEmpty()) << what;
    ++failed;
  }
  EXPECT_EQ(failed, acting);
  EXPECT_GE(acting, 7U);
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
  EXPECT_EQ(session["permissions"], (json{"metrics", "view", "record"}));
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
  request.port = 8080;
  EXPECT_THAT(header(route_for(request.path).handle(request), "Set-Cookie"), HasSubstr("campipe_session_8080=; "));
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
  EXPECT_EQ(session, (json{{"user", ""},
                           {"permissions", {"metrics", "view", "record", "administer"}},
                           {"cameras", nullptr},
                           {"administers", false},
                           {"csrf", ""}}));
  const HttpAnswer answer = call("", "POST", "login", R"({"user": "eve", "password": "x"})");
  EXPECT_EQ(json::parse(answer.body), session);
  EXPECT_EQ(header(answer, "Set-Cookie"), "");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
