// What the commands of a cluster print, by keys as they are in etcd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cluster/assignment.h"
#include "app/cluster/cluster_apply.h"
#include "app/cluster/cluster_requests.h"
#include "app/cluster/cluster_status.h"
#include "app/cluster/node_offer.h"
#include "app/config/config.h"
#include "app/control/messages/links_found.h"
#include "app/placement/link_offer.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const ClusterKeys keys("hall");

class ClusterStatus : public testing::Test {
 protected:
  void put(const std::string& key, const std::string& value) {
    ++revision_;
    mirror_.apply({false, {{false, {key, value, revision_, revision_, 1, 7}}}, revision_});
  }
  void put_node(const std::string& name, bool draining = false) {
    NodeOffer offer{name, "1", name + ":8443", "1.0"};
    offer.draining = draining;
    put(keys.node(name), write_offer(offer));
    put(keys.planner(name), R"({"schema":1})");
  }
  void put_camera(const std::string& name, const CameraAssignment& assignment) {
    put(keys.generation(1) + name, write_assignment(assignment));
  }
  std::string tables(bool full = false) const {
    ClusterState state =
        cluster_state(mirror_, keys, read_plan(mirror_, keys), read_rig(mirror_, keys), "west", refused_);
    state.etcd.full = full;
    return cluster_tables(state);
  }

  EtcdMirror mirror_;
  std::int64_t revision_ = 0;
  std::set<std::string> refused_;
};

TEST_F(ClusterStatus, OfAClusterWithoutAnything) {
  EXPECT_EQ(tables(),
            "NODE  STATE  CAMERAS  ADDRESS  VERSION\n\nCAMERA  NODE  NOTE\n\nthere is no rig yet: the first node that "
            "starts brings its own\n");
}

// Away and without a camera, it may be the only one that has what was recorded.
TEST_F(ClusterStatus, NamesNodesOnWhichRecordingsMayLie) {
  put_node("west");
  for (const char* holder : {"west", "east", "no/name", "\xff"}) put(keys.holder(holder), R"({"schema":1})");
  EXPECT_THAT(tables(), StartsWith("NODE  STATE                  CAMERAS  ADDRESS    VERSION\n"
                                   "east  away, with recordings  0\n"
                                   "west  here, plans            0        west:8443  1.0\n\n"));
  EXPECT_THAT(forget_change(mirror_, "hall", "west").refusal, HasSubstr("'west' is there: stop it first"));
  EXPECT_TRUE(forget_change(mirror_, "hall", "south").is_unknown);
  const ClusterChange forgotten = forget_change(mirror_, "hall", "east");
  EXPECT_EQ(forgotten.refusal, "");
  EXPECT_EQ(forgotten.operation.key, keys.holder("east"));
}

TEST_F(ClusterStatus, ShowsNodesAndWhyACameraIsNotWhereItShouldBe) {
  put_node("west");
  put_node("east", true);
  put_node("south");
  put(keys.drained("south"), R"({"schema":1})");
  put(keys.plan(), R"({"schema":1,"generation":1,"epoch":1})");
  put_camera("dock", {"west"});
  put_camera("gate", {"north"});
  put_camera("hall", {"west", "", "east"});
  put_camera("lane", {"west"});
  put_camera("yard", {"", "", "", "no node has room for it: too little cores"});
  put(keys.wanted("lane"), R"({"schema":1,"node":"east"})");
  const std::string shown = tables();
  EXPECT_EQ(shown.substr(0, shown.find("\n\nthere")),
            "NODE   STATE                                  CAMERAS  ADDRESS     VERSION\n"
            "east   here, cannot use the rig: see its log  0        east:8443   1.0\n"
            "north  away                                   1\n"
            "south  draining                               0        south:8443  1.0\n"
            "west   here, plans                            3        west:8443   1.0\n"
            "\n"
            "CAMERA  NODE   NOTE\n"
            "dock    west\n"
            "gate    north\n"
            "hall    west   its home is east\n"
            "lane    west   is wanted on east\n"
            "yard    none   no node has room for it: too little cores");
}

TEST_F(ClusterStatus, ShowsWhatIsNotObeyedOrCannotBeRead) {
  put_node("west");
  put(keys.node("east"), "{");
  put(keys.plan(), R"({"schema":1,"generation":1,"epoch":1})");
  put_camera("dock", {"west"});
  put(keys.generation(1) + "gate", "{");
  refused_ = {"dock"};
  const std::string shown = tables();
  EXPECT_THAT(shown, testing::HasSubstr("dock    west  node west has seen a newer assignment than the one in etcd"));
  EXPECT_THAT(shown, testing::HasSubstr("gate    none  its assignment in etcd is unreadable"));
  EXPECT_THAT(shown, testing::HasSubstr("unreadable: newer than this campipe, or damaged"));
}

TEST_F(ClusterStatus, ShowsThatNobodyPlans) {
  put_node("west");
  EXPECT_THAT(tables(), testing::Not(testing::HasSubstr("nobody plans")));
  mirror_.apply({false, {{true, {keys.planner("west"), "", 0, ++revision_}}}, revision_});
  EXPECT_THAT(tables(), testing::HasSubstr("nobody plans"));
}

TEST_F(ClusterStatus, IsJsonWhateverStandsInEtcd) {
  put_node("west\xff");
  put(keys.plan(), R"({"schema":1,"generation":1,"epoch":1})");
  put(keys.generation(1) + "dock\xfe", R"({"schema":1,"node":"a","epoch":1})");
  const std::string text =
      cluster_json(cluster_state(mirror_, keys, read_plan(mirror_, keys), read_rig(mirror_, keys), "west", {}));
  const nlohmann::json shown = nlohmann::json::parse(text);
  EXPECT_EQ(shown.at("nodes").size(), 2U);
  EXPECT_TRUE(shown.at("cameras").contains("dock\xef\xbf\xbd"));
}

TEST_F(ClusterStatus, ShowsWhatLinksBetweenNodesWouldGoBy) {
  const messages::LinksFound tcp_only{"1.13.1", "", {}};
  const messages::LinksFound with_rdma{"1.13.1", "", {"mlx5_0:1"}};
  const messages::LinksFound without{"", "campipe was built without UCX", {}};
  const ClusterLinksConfig open{.encrypt = false, .ports = "", .transports = {}};
  const auto put_links = [&](const std::string& node, const ClusterLinksConfig& config,
                             const messages::LinksFound& found) {
    NodeOffer offer{node, "1", node + ":8443", "1.0"};
    offer.devices["links"] = to_json(link_offer(config, found));
    put(keys.node(node), write_offer(offer));
  };
  put_links("east", open, with_rdma);
  put_links("west", open, with_rdma);
  put_links("north", {}, tcp_only);
  put_links("south", {.encrypt = false, .ports = "", .transports = {LinkTransport::zeromq}}, without);
  put_node("old");
  EXPECT_EQ(link_tables(mirror_, keys),
            "NODE   LINKS BY                                       MAY USE\n"
            "east   zeromq; ucx 1.13.1 (mlx5_0:1, tcp)             ucx, zeromq\n"
            "north  zeromq; ucx 1.13.1 (tcp)                       zeromq, encrypted\n"
            "old    not known yet\n"
            "south  zeromq; no ucx: campipe was built without UCX  zeromq\n"
            "west   zeromq; ucx 1.13.1 (mlx5_0:1, tcp)             ucx, zeromq\n"
            "\n"
            "FROM   TO     BY\n"
            "north  east   none: `cluster.links.encrypt` is not the same on both\n"
            "south  east   zeromq\n"
            "west   east   ucx\n"
            "east   north  none: `cluster.links.encrypt` is not the same on both\n"
            "south  north  none: `cluster.links.encrypt` is not the same on both\n"
            "west   north  none: `cluster.links.encrypt` is not the same on both\n"
            "east   south  zeromq\n"
            "north  south  none: `cluster.links.encrypt` is not the same on both\n"
            "west   south  zeromq\n"
            "east   west   ucx\n"
            "north  west   none: `cluster.links.encrypt` is not the same on both\n"
            "south  west   zeromq\n");
}

// Which lost its data, or is so old that nobody follows it.
TEST_F(ClusterStatus, SaysWhatToDoWhereNothingIsPlanned) {
  put_node("west");
  put_node("east", true);
  EXPECT_THAT(tables(), testing::HasSubstr("the log of west says why"));
  EXPECT_THAT(tables(), testing::HasSubstr("campipe cluster apply --restored FILE"));
  put(keys.plan(), R"({"schema":1,"generation":1,"epoch":1})");
  put_camera("dock", {"west"});
  EXPECT_THAT(tables(), testing::Not(testing::HasSubstr("says why")));
}

TEST_F(ClusterStatus, ShowsThatACameraHasNotGoneOver) {
  put(keys.plan(), R"({"schema":1,"generation":1,"epoch":1})");
  put_camera("dock", {.node = "west", .from = "east", .home = "east", .epoch = 1, .revision = 5});
  put(keys.kept("east", "dock"), R"({"schema":1,"fence":"1.0000000004"})");
  EXPECT_THAT(tables(), testing::HasSubstr("dock    west  its home is east\n")) << "of a move before";
  put(keys.kept("east", "dock"), R"({"schema":1,"fence":"1.0000000005"})");
  put(keys.kept("east", "gone"), R"({"schema":1,"fence":"1.0000000005"})");
  put(keys.all_kept() + "east", "");
  EXPECT_THAT(tables(), testing::HasSubstr("dock    west  west has not begun to record it: it goes on on east\n"));
}

TEST_F(ClusterStatus, SaysThatEtcdIsFullAndWhatToDo) {
  EXPECT_THAT(tables(true), testing::HasSubstr("\netcd is full (NOSPACE): the cluster cannot be changed"));
  EXPECT_THAT(tables(), testing::Not(testing::HasSubstr("NOSPACE")));
}

TEST_F(ClusterStatus, WhatIsAskedOfThePlanIsCheckedByWhatIsThere) {
  put_node("west");
  put(keys.plan(), R"({"schema":1,"generation":1,"epoch":1})");
  put_camera("dock", {"north"});
  const ClusterChange drain = drain_change(mirror_, "hall", "north", false);
  EXPECT_EQ(drain.refusal, "") << "it is away, and may come back";
  EXPECT_EQ(drain.operation.kind, EtcdOperation::Kind::put);
  EXPECT_EQ(drain.operation.key, "/campipe/hall/drained/north");
  EXPECT_EQ(drain.done, "north is drained: its cameras go to nodes that have room");
  EXPECT_EQ(drain_change(mirror_, "hall", "west", true).operation.kind, EtcdOperation::Kind::erase);
  const ClusterChange unknown = drain_change(mirror_, "hall", "south", false);
  EXPECT_EQ(unknown.refusal, "cluster hall has no node 'south'; its nodes: north, west");
  EXPECT_TRUE(unknown.is_unknown);

  const ClusterChange move = move_change(mirror_, "hall", "dock", "west");
  EXPECT_EQ(move.operation.key, "/campipe/hall/wanted/dock");
  EXPECT_EQ(move.operation.value, R"({"node":"west","schema":1})");
  EXPECT_EQ(move_change(mirror_, "hall", "dock", "").operation.kind, EtcdOperation::Kind::erase);
  const ClusterChange away = move_change(mirror_, "hall", "dock", "north");
  EXPECT_EQ(away.refusal, "node 'north' is not there; nodes that are: west");
  EXPECT_FALSE(away.is_unknown);
  EXPECT_TRUE(move_change(mirror_, "hall", "gate", "west").is_unknown);
}

TEST_F(ClusterStatus, CamerasThatNoNodeHasRoomForAreNamedBeforeTheyAreApplied) {
  LoadedConfig loaded;
  for (const char* name : {"dock", "gate", "off"}) {
    CameraConfig& camera = loaded.rig.cameras.emplace_back();
    camera.name = name;
    camera.source.url = "test://pattern?width=640&height=480&rate=25";
    camera.enabled = camera.name != "off";
    loaded.gpu_places.emplace_back();
  }
  loaded.rig.cameras[0].priority = 60;
  EXPECT_THAT(without_room(loaded, mirror_, keys), IsEmpty()) << "no node has come yet";
  NodeOffer offer{"west", "1", "west:8443", "1.0"};
  offer.capacity = {{"cores", 1e-3}, {"memory", 1e15}};
  put(keys.node("west"), write_offer(offer));
  EXPECT_THAT(without_room(loaded, mirror_, keys), ElementsAre(testing::StartsWith("dock: no node has room"),
                                                               testing::StartsWith("gate: no node has room")));
  offer.capacity["cores"] = 1000;
  put(keys.node("west"), write_offer(offer));
  EXPECT_THAT(without_room(loaded, mirror_, keys), IsEmpty());
}

TEST(RigDifference, NamesCamerasThatComeGoAndChange) {
  const std::string before = "cameras:\n  a: {source: x}\n  b: {source: y, fps: 5}\n  c: {source: z}\n";
  EXPECT_THAT(rig_difference(before, before), IsEmpty());
  EXPECT_THAT(rig_difference("", before), ElementsAre("+ a", "+ b", "+ c"));
  EXPECT_THAT(rig_difference(before, "cameras: {b: {fps: 5, source: y}, d: {source: w}, c: {source: v}}\n"),
              ElementsAre("~ c", "+ d", "- a"))
      << "order and form do not matter";
  EXPECT_THAT(rig_difference(before, before + "defaults: {fps: 5}\n"), ElementsAre("~ defaults"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
