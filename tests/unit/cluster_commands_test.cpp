// What the commands of a cluster print, by keys as they are in etcd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cluster/assignment.h"
#include "app/cluster/cluster_apply.h"
#include "app/cluster/cluster_status.h"
#include "app/cluster/node_offer.h"

namespace campipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
  std::string tables(bool full = false) const { return cluster_tables(cluster_status(mirror_, keys, full)); }

  EtcdMirror mirror_;
  std::int64_t revision_ = 0;
};

TEST_F(ClusterStatus, OfAClusterWithoutAnything) {
  EXPECT_EQ(tables(),
            "NODE  STATE  CAMERAS  ADDRESS  VERSION\n\nCAMERA  NODE  NOTE\n\nthere is no rig yet: the first node that "
            "starts brings its own\n");
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
  EXPECT_EQ(cluster_status(mirror_, keys, std::nullopt)["etcd"]["full"], nullptr) << "it does not say";
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

}  // namespace
}  // namespace campipe
