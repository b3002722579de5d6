// The API: requests that are wrong, and those that come before there is an answer.
#include <gmock/gmock.h>

#include "app/control/messages/requests.h"
#include "tests/unit/api_schema.h"
#include "tests/unit/api_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

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
  EXPECT_EQ(refusal("ann", "PUT", "mosaics/wall", "{}"),
            "400 missing key 'config', which has the mosaic's keys as in the file");
  EXPECT_EQ(refusal("ann", "PUT", "sync_groups/pair", R"({"config": 1})"),
            "400 'config' must be an object: the group's keys as in the file");
  std::string numbers = "1e5";
  for (int i = 0; i < 10'000; ++i) numbers += ",1e5";
  EXPECT_EQ(put(R"({"config": {"rate": [)" + numbers + "]}}"), "400 'config' is longer than 64 KiB");
  EXPECT_EQ(put(R"({"config": {"rate": 1e999}})"), "400 the body is not valid JSON");
  EXPECT_EQ(refusal("ann", "POST", "cameras/dock/record", R"({"a": 1})"), "400 unknown key 'a'");
  EXPECT_EQ(refusal("ann", "POST", "reload", "7"), "400 the body must be a JSON object");
  EXPECT_EQ(refusal("ann", "DELETE", "cameras/dock", "", {{"persist", "yes"}}), "400 'persist' must be true or false");
  EXPECT_EQ(refusal("ann", "DELETE", "cameras/dock", "", {{"perist", "true"}}),
            "400 unknown parameter 'perist', did you mean 'persist'?");
  EXPECT_EQ(refusal("ann", "GET", "status", "", {{"x", ""}}), "400 unknown parameter 'x'");
  EXPECT_TRUE(asked_.is_null());
}

TEST_F(ApiTest, AClusterIsShownAsFarAsAUserSeesIt) {
  const json all = told("ann", "cluster");
  EXPECT_EQ(all, test::shown_cluster());
  EXPECT_EQ(told("ann", "status").at("cluster"), all);
  const json seen = told("ben", "cluster");
  EXPECT_EQ(told("ben", "status").at("cluster"), seen);
  EXPECT_EQ(seen.at("cameras").size(), 1U);
  EXPECT_EQ(seen.at("cameras").at("dock").at("node"), "east");
  EXPECT_EQ(seen.at("nodes").at("east").at("address"), "");
  EXPECT_EQ(seen.at("nodes").at("east").at("cameras"), 2);

  EXPECT_TRUE(seen.at("links").empty()) << "of a camera that ben may not see";

  json trouble = test::shown_cluster();
  trouble["etcd"]["problem"] = "https://10.0.0.1:2379 does not answer";
  rig_.set_status({{"cameras", json::object()}, {"cluster", trouble}});
  EXPECT_EQ(told("ann", "cluster").at("etcd").at("problem"), trouble["etcd"]["problem"]);
  EXPECT_THAT(told("ben", "cluster").at("etcd").at("problem").get<std::string>(), Not(HasSubstr("10.0.0.1")));
  rig_.set_status({{"cameras", json::object()}});
  EXPECT_EQ(refusal("ann", "GET", "cluster"), "404 this rig is no node of a cluster");
}

TEST_F(ApiTest, ACameraIsMovedToANodeAndANodeDrained) {
  EXPECT_EQ(refusal("ann", "POST", "cluster/drain", "{}"), "400 missing key 'node'");
  EXPECT_EQ(refusal("ann", "POST", "cluster/drain", R"({"node": "east", "end": 1})"),
            "400 'end' must be true or false");
  EXPECT_EQ(refusal("ann", "POST", "cluster/move", R"({"camera": "dock", "node": 1})"), "400 'node' must be a text");
  EXPECT_TRUE(asked_.is_null());
  EXPECT_EQ(json::parse(call("ann", "POST", "cluster/drain", R"({"node": "east", "end": true})").body),
            json({{"node", "east"}, {"draining", false}}));
  EXPECT_EQ(asked_.at("type"), "drain_node");
  EXPECT_EQ(asked_.at("end"), true);
  for (const char* body : {R"({"camera": "dock", "node": null})", R"({"camera": "dock"})"}) {
    EXPECT_EQ(call("ann", "POST", "cluster/move", body).status, 200);
    EXPECT_EQ(asked_.at("type"), "move_to_node");
    EXPECT_EQ(asked_.at("node"), nullptr);
  }
}

// Of several values of a key one would count, and whoever reads the request may take it for another.
TEST_F(ApiTest, AKeyThatIsThereTwiceIsRefused) {
  const auto put = [&](const std::string& body) { return refusal("ann", "PUT", "cameras/dock", body); };
  EXPECT_EQ(put(R"({"config": {"source": "a.mp4"}, "config": {"source": "b.mp4"}})"), "400 duplicate key 'config'");
  EXPECT_EQ(put(R"({"config": {"source": "a.mp4", "source": "b.mp4"}})"), "400 duplicate key 'source'");
  EXPECT_EQ(put(R"({"config": {"outputs": [{"encode": {"gop": 1, "rate": 5, "gop": 2}}]}})"),
            "400 duplicate key 'gop'");
  EXPECT_EQ(put(R"({"config": {"a": {"b": {}}, "\u0061": 1}})"), "400 duplicate key 'a'");
  EXPECT_EQ(put(R"({"config": {"rtsp://u:hunter2@h": 1, "rtsp://u:hunter2@h": 1}})"), "400 duplicate key 'rtsp://h'");
  EXPECT_EQ(refusal("ann", "POST", "cameras/dock/enable", R"({"persist": true, "persist": true})"),
            "400 duplicate key 'persist'");
  EXPECT_EQ(refusal("", "POST", "login", R"({"user": "ben", "user": "ann", "password": "hunter2"})"),
            "400 duplicate key 'user'");
  EXPECT_TRUE(asked_.is_null());
  // The same key of several objects is none.
  EXPECT_EQ(
      call("ann", "PUT", "cameras/dock", R"({"config": {"a": {"x": 1}, "x": {"x": 1}, "b": [{"x": 1}, {"x": 1}]}})")
          .status,
      200);
}

// A publisher that has been started again knows the cameras before it knows how they are.
TEST_F(ApiTest, BeforeTheFirstStatusTheAnswerIsToTryAgain) {
  const test::SchemaCheck check(description());
  RigView rig([](const messages::Request&) {});
  Api api(rig, access_, [] { return json::array(); });
  const auto answer_to = [&](const std::string& user, const std::string& path) {
    HttpRequest request{"GET", "/api/v1/" + path, {}, "", "", identity_of(user), "", false};
    return api.routes().front().handle(request);
  };
  api.tick();
  for (const std::string path : {"status", "cameras", "cameras/{name}", "cameras/{name}/history", "recordings"}) {
    const auto at = path.find("{name}");
    const HttpAnswer answer =
        answer_to("ann", at == std::string::npos ? path : path.substr(0, at) + "dock" + path.substr(at + 6));
    EXPECT_EQ(answer.status, 503) << path << answer.body;
    EXPECT_THAT(answer.headers, Contains(Pair("Retry-After", "1"))) << path;
    EXPECT_THAT(answer.body, HasSubstr("no status of the rig yet")) << path;
    const json& response = check.resolve(description().at("paths").at("/" + path).at("get").at("responses").at("503"));
    EXPECT_THAT(check(json::parse(answer.body), response.at("/content/application~1json/schema"_json_pointer)),
                IsEmpty());
    EXPECT_TRUE(response.contains("/headers/Retry-After"_json_pointer));
  }
  EXPECT_EQ(answer_to("cat", "cameras/gate").status, 404) << "hidden cameras stay hidden";
  EXPECT_EQ(answer_to("ann", "session").status, 200);
  EXPECT_EQ(answer_to("ann", "viewers").status, 200);
  rig.set_status({{"cameras", {{"dock", camera_status("a.mp4")}}}});
  EXPECT_EQ(answer_to("ann", "cameras/dock").status, 200);
  EXPECT_EQ(answer_to("ann", "cameras/gone").status, 404);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
