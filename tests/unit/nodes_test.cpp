// What a node makes of the others: where cameras are, one status of all, and what it sends them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/publisher/server/nodes/places.h"
#include "app/publisher/server/nodes/request.h"
#include "app/publisher/server/nodes/wall.h"
#include "core/error.h"

namespace campipe {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json status_of_east() {
  return json::parse(R"({
    "time_utc": "2026-11-21T10:15:30.250Z",
    "cameras": {"dock": {"state": "running", "order": 7}},
    "cluster": {
      "node": "east",
      "nodes": {"east": {"here": true, "address": "10.0.0.1:8443"},
                "north": {"here": false, "address": ""},
                "west": {"here": true, "address": "10.0.0.2:8443"}},
      "cameras": {"belt": {"node": "north"}, "dock": {"node": "east"}, "gate": {"node": "west"},
                  "hall": {"node": "east"}, "yard": {"node": ""}}
    }
  })");
}

TEST(NodePlaces, SayWhatIsElsewhere) {
  const NodePlaces places = node_places(status_of_east());
  EXPECT_EQ(places.own, "east");
  EXPECT_EQ(places.nodes.at("west").address, "10.0.0.2:8443");
  EXPECT_THAT(places.others_here(), ElementsAre("west"));
  EXPECT_TRUE(places.is_elsewhere("gate"));
  EXPECT_TRUE(places.is_elsewhere("yard")) << "no node has it";
  EXPECT_FALSE(places.is_elsewhere("dock"));
  EXPECT_FALSE(places.is_elsewhere("hall")) << "it begins here";
  EXPECT_FALSE(places.is_elsewhere("nothing"));
}

TEST(NodePlaces, AreHereAsLongAsTheCameraIs) {
  json status = status_of_east();
  status["cluster"]["cameras"]["dock"]["node"] = "west";
  EXPECT_FALSE(node_places(status).is_elsewhere("dock"));
  status["cameras"].erase("dock");
  EXPECT_TRUE(node_places(status).is_elsewhere("dock"));
}

TEST(NodePlaces, TakeWhatIsWrongForNothing) {
  for (const char* text :
       {"{}", R"({"cluster": 1})", R"({"cluster": {"node": 5, "nodes": [], "cameras": 3}})",
        R"({"cluster": {"nodes": {"a": 1}, "cameras": {"b": [], "c": {"node": 2}}}, "cameras": []})"}) {
    const NodePlaces places = node_places(json::parse(text));
    EXPECT_EQ(places.own, "") << text;
    EXPECT_TRUE(places.others_here().empty()) << text;
  }
}

class WholeStatus : public testing::Test {
 protected:
  json whole(const std::map<std::string, NodeReport>& reports) const {
    return whole_status(local_, node_places(local_), reports);
  }
  json local_ = status_of_east();
  std::shared_ptr<const json> west_ =
      std::make_shared<const json>(json{{"time_utc", "2026-11-21T10:15:29.000Z"},
                                        {"cameras",
                                         {{"gate",
                                           {{"state", "running"},
                                            {"reason", ""},
                                            {"since_utc", "2026-11-20T08:00:00.000Z"},
                                            {"recording_on", true},
                                            {"fps", 25.0},
                                            {"motion", {{"events", 3}, {"score_percent", 12.5}}},
                                            {"outputs", {{"small", {{"state", "running"}, {"fps", 5.0}}}}}}},
                                          {"x", 5}}}});
};

TEST_F(WholeStatus, HasTheCamerasOfAllNodes) {
  const json cameras = whole({{"west", {west_}}}).at("cameras");
  EXPECT_EQ(cameras.size(), 5U);
  EXPECT_EQ(cameras.at("dock").at("node"), "east");
  EXPECT_EQ(cameras.at("dock").at("state"), "running");
  EXPECT_FALSE(cameras.at("dock").contains("time_utc"));
  EXPECT_EQ(cameras.at("gate").at("node"), "west");
  EXPECT_EQ(cameras.at("gate").at("state"), "running");
  EXPECT_EQ(cameras.at("gate").at("time_utc"), "2026-11-21T10:15:29.000Z");
  EXPECT_EQ(cameras.at("hall").at("state"), "starting");
  EXPECT_EQ(cameras.at("yard").at("state"), "waiting");
  EXPECT_EQ(cameras.at("yard").at("reason"), "no node runs it");
  EXPECT_EQ(cameras.at("belt").at("state"), "unreachable");
  EXPECT_EQ(cameras.at("belt").at("reason"), "node 'north' is away");
  int order = 0;
  for (const auto& camera : cameras) EXPECT_EQ(camera.at("order"), order++) << "the same on all nodes";
}

TEST_F(WholeStatus, NamesWhatCannotBeAsked) {
  const json status = whole({{"west", {west_, "node 'west' does not answer", "2026-11-21T10:15:31.000Z"}}});
  const json& gate = status.at("cameras").at("gate");
  EXPECT_EQ(gate.at("state"), "unreachable");
  EXPECT_EQ(gate.at("reason"), "node 'west' does not answer");
  EXPECT_EQ(gate.at("since_utc"), "2026-11-21T10:15:31.000Z");
  for (const char* key : {"recording_on", "fps"}) EXPECT_FALSE(gate.contains(key)) << key << " is not known any more";
  EXPECT_EQ(gate.at("motion"), (json{{"events", 3}}));
  EXPECT_EQ(gate.at("outputs").at("small"), (json{{"state", "running"}}));
  EXPECT_EQ(status.at("cluster").at("nodes").at("west").at("problem"), "node 'west' does not answer");
}

// Nobody has asked it since it went, so that nothing is known of when that was.
TEST_F(WholeStatus, DoesNotSaySinceWhenACameraRanAsIfItWereAway) {
  local_["cluster"]["nodes"]["west"]["here"] = false;
  const json gate = whole({{"west", {west_}}}).at("cameras").at("gate");
  EXPECT_EQ(gate.at("reason"), "node 'west' is away");
  EXPECT_FALSE(gate.contains("since_utc"));
}

TEST_F(WholeStatus, HasACameraBeforeItsNodeHasSaidAnything) {
  EXPECT_EQ(whole({}).at("cameras").at("gate").at("state"), "starting");
  EXPECT_EQ(whole({{"west", {nullptr, "node 'west' does not answer"}}}).at("cameras").at("gate").at("state"),
            "unreachable");
}

TEST(NodeRequest, NamesForWhom) {
  const auto user = std::make_shared<UserConfig>();
  user->name = "ann";
  EXPECT_EQ(header_for(Identity::of(user), true), HeaderLine("Campipe-User", "ann"));
  EXPECT_EQ(header_for(Identity::visitor(), false), HeaderLine("Campipe-Visitor", "1"));
  EXPECT_EQ(header_for(Identity::owner(), false), HeaderLine("Campipe-Visitor", "1"));
  EXPECT_EQ(header_for(Identity::owner(), true), HeaderLine("Campipe-Node", "1")) << "may view, and no more";
  EXPECT_THROW(static_cast<void>(header_for(Identity(), true)), Error);
}

TEST(NodeRequest, EndsWhereItIsSaidTo) {
  EXPECT_EQ(request_head("GET", "/a?b=c%20d", 11, {{"Host", "10.0.0.2:8443"}, {"Accept", "a, b"}}),
            "GET /a?b=c%20d HTTP/1.1\r\nHost: 10.0.0.2:8443\r\nAccept: a, b\r\n\r\n");
  for (const std::string& bad : std::vector<std::string>{"a\r\nb", "a\nb", "a\rb", {'a', '\0', 'b'}, "", "a\x7F"}) {
    EXPECT_THROW(request_head("GET", "/", 11, {{"Accept", bad}}), Error);
    EXPECT_THROW(request_head("GET", bad, 11, {}), Error);
    EXPECT_THROW(request_head(bad, "/", 11, {}), Error);
  }
  EXPECT_THROW(request_head("GET", "/a b", 11, {}), Error);
}

TEST(NodeIdentity, MayView) {
  const Identity node = Identity::node();
  EXPECT_TRUE(node.may(Permission::view, "dock"));
  EXPECT_TRUE(node.may(Permission::view, ""));
  EXPECT_FALSE(node.may(Permission::record, "dock"));
  EXPECT_FALSE(node.administers());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
