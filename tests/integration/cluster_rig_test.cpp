// Whole rigs as nodes of a cluster, with a real etcd: who records what when nodes start, are killed, stopped and come
// back, and what the commands do.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "app/cluster/etcd_client.h"
#include "app/control/child.h"
#include "ipc/channel.h"
#include "tests/integration/cluster_nodes.h"
#include "tests/unit/http_client.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;

TEST_F(ClusterRig, AKilledNodesCamerasAreRecordedElsewhereAndComeBackWhereTheyAreWanted) {
  start_three();
  if (HasFatalFailure()) return;
  kill_all_of("c");
  const auto killed = Clock::now();
  ASSERT_TRUE(eventually([&] { return assigned_to("c").empty(); }));
  const Sizes before = sizes();
  std::map<std::string, Names> now;
  ASSERT_TRUE(eventually([&] {
    now = recorders_since(before);
    return now["c4"].size() == 1 && now["c5"].size() == 1;
  })) << nodes_.at("a")->log()
      << nodes_.at("b")->log();
  RecordProperty("seconds", std::to_string(std::chrono::duration<double>(Clock::now() - killed).count()));
  EXPECT_FALSE(now["c4"].contains("c") || now["c5"].contains("c"));

  std::map<std::string, Names> expected = three();
  for (const std::string name : {"c4", "c5"}) expected[name] = {assigned_to("a").contains(name) ? "a" : "b"};
  EXPECT_TRUE(recorded_by(expected)) << "each once, and those of the others where they were";

  start("c");  // in a new folder
  EXPECT_TRUE(recorded_by(three())) << "what is wanted there goes back, and nothing else moves";
  for (const char* node : {"a", "b", "c"}) end(node);
}

// On a disk of its own, over the folder in which it is recorded on one node.
TEST_F(ClusterRig, AFullDiskGivesItsRecordingsToANodeThatHasRoom) {
  cameras_ =
      "  c0: {source: \"test://pattern?width=160&height=120&rate=10\", record: {path: disk/c0.mp4}}\n" + camera("c1");
  start("a");
  start("b");
  ASSERT_TRUE(eventually([&] { return are_here({"a", "b"}) && status().at("cameras").size() == 2; }));
  const auto grows = [&](const std::string& node) {
    const auto recorded_there = [&] {
      std::uintmax_t sum = 0;
      std::error_code gone;
      for (const auto& file : std::filesystem::directory_iterator(nodes_.at(node)->file("disk"), gone))
        sum += file.is_regular_file() ? file.file_size() : 0;
      return sum;
    };
    return eventually([&, before = recorded_there()] { return recorded_there() > before; });
  };
  const std::string full = assigned_to("a").contains("c0") ? "a" : "b";
  const std::string other = full == "a" ? "b" : "a";
  const std::string of_c1 = assigned_to("a").contains("c1") ? "a" : "b";
  ASSERT_TRUE(grows(full)) << nodes_.at(full)->log();

  const std::string disk = nodes_.at(full)->file("disk").string();
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "only root can make a small disk";
  const std::shared_ptr<void> mounted(nullptr, [&](void*) { ::umount2(disk.c_str(), MNT_DETACH); });
  std::ofstream(disk + "/others") << std::string(65'536, 'x');
  EXPECT_TRUE(eventually([&] { return assigned_to(other).contains("c0"); })) << status().dump(2);
  EXPECT_TRUE(grows(other)) << nodes_.at(other)->log();
  EXPECT_THAT(nodes_.at("a")->log() + nodes_.at("b")->log(),
              HasSubstr("c0: goes to " + other + " from " + full + ": " + full + " cannot run or record it now"));
  EXPECT_TRUE(assigned_to(of_c1).contains("c1")) << "of another disk";
  EXPECT_TRUE(eventually([&] { return nodes_.at(full)->log().find("c0: removed") != std::string::npos; }))
      << nodes_.at(full)->log();
  end("a");
  end("b");
}

TEST_F(ClusterRig, AMosaicGoesWithWhatItShowsAndMembersOfAGroupWhereTheyAre) {
  const std::string groups =
      "sync_groups: {pair: {cameras: [c2, c3], rate: 10}}\n"
      "mosaics: {wall: {cameras: [c0, c1], width: 320, height: 240, rate: 10, record: {path: wall.mp4}}}\n";
  servers_ += groups;
  start("a");
  start("b");
  ASSERT_TRUE(eventually([&] { return are_here({"a", "b"}) && status().at("cameras").size() == 7; }));
  const auto node_of = [&](const std::string& camera) { return status().at("cameras").at(camera).value("node", ""); };
  ASSERT_EQ(command({"move", "c1", "b"}).status, 0);
  ASSERT_EQ(command({"move", "c2", "a"}).status, 0);
  ASSERT_EQ(command({"move", "c3", "b"}).status, 0);
  const auto are_placed = [&] {
    return node_of("wall") == "b" && node_of("c0") == "b" && node_of("c1") == "b" && node_of("c2") == "a" &&
           node_of("c3") == "b";
  };
  EXPECT_TRUE(eventually(are_placed)) << status().dump(2);
  const auto grows = [&](const std::string& node, const std::string& camera) {
    const RigRun& rig = *nodes_.at(node);
    return eventually([&, before = recorded(rig, camera)] { return recorded(rig, camera) > before; });
  };
  EXPECT_TRUE(grows("b", "wall")) << nodes_.at("b")->log();
  EXPECT_TRUE(grows("b", "c0") && grows("b", "c3") && grows("a", "c2")) << "nobody waits for the other one";
  kill_all_of("b");
  EXPECT_TRUE(eventually([&] { return node_of("wall") == "a"; })) << status().dump(2);
  EXPECT_TRUE(grows("a", "wall") && grows("a", "c0") && grows("a", "c3")) << nodes_.at("a")->log();
  end("a");
}

TEST_F(ClusterRig, ASecondStartUnderANodesNameIsRefused) {
  start("a");
  ASSERT_TRUE(eventually([&] { return assigned_to("a") == all_cameras; }));
  RigOptions options;
  options.report = false;
  RigRun second(yaml("a"), options);
  EXPECT_EQ(second.wait(), 2);
  EXPECT_THAT(second.log(), HasSubstr("not started: another campipe runs as node 'a' of this cluster, at "
                                      "127.0.0.1:8443: give this one another name"));
  EXPECT_EQ(recorded(second, "c0"), 0U) << "it has recorded nothing";
  EXPECT_TRUE(nodes_.at("a")->running());
  end("a");
}

// Its successor goes on under the same lease: nobody notices.
TEST_F(ClusterRig, TheClustersProcessMayDie) {
  RigRun& rig = start("a");
  start("b");
  ASSERT_TRUE(eventually([&] { return are_here({"a", "b"}) && status().at("cameras").size() == 6; }));
  const Names before = assigned_to("a");
  EtcdClient client(etcd_->servers());
  const auto created = [&] {
    const auto offer = client.read("/campipe/hall/nodes/a");
    return offer && !offer->values.empty() ? offer->values[0].create_revision : 0;
  };
  const std::int64_t joined = created();
  ASSERT_NE(joined, 0);
  const pid_t first = rig.pid_of("cluster");
  ::kill(first, SIGKILL);
  const pid_t second = rig.successor_of("cluster", first);
  // It works: what is asked of it comes to it.
  ASSERT_EQ(command({"move", "c0", "b"}).status, 0);
  ASSERT_TRUE(eventually([&] { return assigned_to("b").contains("c0"); }));
  ASSERT_EQ(command({"move", "c0", "a"}).status, 0);
  const Sizes sizes_then = sizes();
  EXPECT_TRUE(eventually([&] { return recorders_since(sizes_then)["c0"].contains("a"); })) << rig.log();
  EXPECT_EQ(created(), joined) << "it did not leave";
  EXPECT_EQ(rig.pid_of("cluster"), second);
  end("a");
  end("b");
}

// A process that was taken over: it can have no other file read as the rig.
TEST_F(ClusterRig, AWrongMessageEndsTheClustersProcessAlone) {
  RigRun& rig = start("a");
  ASSERT_TRUE(recorded_by({{"c0", {"a"}}, {"c1", {"a"}}, {"c2", {"a"}}, {"c3", {"a"}}, {"c4", {"a"}}, {"c5", {"a"}}}));
  const pid_t before = rig.pid_of("cluster");
  const pid_t worker = rig.pid_of("worker 0");
  const auto send = [](pid_t to, const std::string& type, const json& body) {
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, to, 0)));
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), child_channel_fd, 0)));
    return fd && Channel(std::move(fd)).send(type, body, {});
  };
  ASSERT_TRUE(send(before, "rig", {{"file", "/etc/passwd"}, {"revision", 1}}));
  const pid_t next = rig.successor_of("cluster", before);
  EXPECT_THAT(rig.log(), HasSubstr("cluster is ended: it sent a rig in a file that it was not given"));
  const json duty{{"camera", "c0"}, {"fence", "/../../c0"}, {"leaving", false}};
  ASSERT_TRUE(send(next, "duties", {{"cameras", json::array({duty})}}));
  const pid_t last = rig.successor_of("cluster", next);
  EXPECT_THAT(rig.log(), HasSubstr("cluster is ended: it sent a fence that is none"));
  ASSERT_TRUE(send(last, "answer", {{"status", 200}, {"body", json::object()}, {"request", 1}}));
  rig.successor_of("cluster", last);
  EXPECT_THAT(rig.log(), HasSubstr("cluster is ended: it sent an answer to what nobody has asked"));
  EXPECT_EQ(rig.pid_of("worker 0"), worker);
  EXPECT_EQ(assigned_to("a"), all_cameras);
  end("a");
}

TEST_F(ClusterRig, WithoutEtcdOnlyWhatMustNotRunTwiceStops) {
  cameras_ = camera("c0") + camera("c1", ", on_partition: stop");
  RigRun& rig = start("a");
  ASSERT_TRUE(recorded_by({{"c0", {"a"}}, {"c1", {"a"}}})) << rig.log();
  etcd_->kill(0);
  EXPECT_TRUE(eventually([&] { return rig.log().find("c1: stopped, since etcd") != std::string::npos; })) << rig.log();
  EXPECT_TRUE(recorded_by({{"c0", {"a"}}}));
  etcd_->start(0);
  const auto runs_again = [&] {
    const std::string log = rig.log();
    return log.find("c1: added", log.find("c1: stopped")) != std::string::npos;
  };
  EXPECT_TRUE(eventually(runs_again)) << rig.log();
  etcd_->stop(0);  // it takes requests, and answers none
  end("a");
  // What a sanitizer looks for at the end of a process takes its time too.
  if (!is_sanitized) {
    EXPECT_EQ(rig.log().find("did not leave in time"), std::string::npos) << rig.log();
  }
}

TEST_F(ClusterRig, ANodeThatStartsWithoutEtcdRunsWhatItHadWhereItIsToldTo) {
  more_ = ", on_etcd_missing: run";
  const TemporaryFolder state;
  std::map<std::string, Names> expected;
  for (const std::string& name : all_cameras) expected[name] = {"a"};
  start("a", state.path());
  ASSERT_TRUE(recorded_by(expected)) << nodes_.at("a")->log();
  end("a");
  etcd_->kill(0);
  RigRun& rig = start("a", state.path());
  EXPECT_TRUE(recorded_by(expected)) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("etcd cannot be reached: this node runs what it was assigned last"));
  etcd_->start(0);
  EXPECT_TRUE(eventually([&] { return are_here({"a"}) && assigned_to("a") == all_cameras; })) << rig.log();
  EXPECT_TRUE(recorded_by(expected));
  EXPECT_EQ(rig.log().find("removed"), std::string::npos) << "nothing was stopped: " << rig.log();
  end("a");
}

TEST_F(ClusterRig, OfANodesFileCountsEverythingButCameras) {
  const int port = free_port();
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  servers_ = "http_address: \"127.0.0.1:" + std::to_string(port) + "\"\nrtsp_address: off\n";
  RigRun& rig = start("a");
  ASSERT_TRUE(eventually([&] { return rig.log().find("c5: added") != std::string::npos; })) << rig.log();
  const auto reload = [&](const std::string& file) {
    std::ofstream(rig.file("rig.yaml")) << file;
    return ask({"reload", "--url", url, "--token-file", rig.file("state/token-" + std::to_string(port)).string()});
  };
  cameras_ = camera("c9");
  const Answer taken = reload(yaml("a") + "admission: refuse\n");
  EXPECT_EQ(taken.status, 0) << taken.errors;
  more_ = ", labels: {hall: 2}";
  const Answer restart = reload(yaml("a"));
  EXPECT_EQ(restart.status, 2);
  EXPECT_THAT(restart.errors, HasSubstr("'cluster' cannot be changed while the rig runs"));
  EXPECT_EQ(assigned_to("a"), all_cameras);
  const Sizes before = sizes();
  EXPECT_TRUE(eventually([&] { return recorders_since(before).size() == all_cameras.size(); }));
  end("a");
}

// Nodes obey no older plan, and no other one's rig, before somebody says so.
TEST_F(ClusterRig, AnEtcdThatLostItsDataCountsOnceSomebodySaysSo) {
  RigRun& rig = start("a");
  std::map<std::string, Names> expected;
  for (const std::string& name : all_cameras) expected[name] = {"a"};
  ASSERT_TRUE(recorded_by(expected)) << rig.log();
  etcd_->kill(0);
  etcd_->forget(0);
  etcd_->start(0);
  ASSERT_TRUE(eventually([&] { return rig.log().find("cluster apply --restored FILE") != std::string::npos; }))
      << rig.log();
  ASSERT_TRUE(eventually([&] { return are_here({"a"}); })) << "it joins all the same";
  EXPECT_TRUE(recorded_by(expected));
  EXPECT_EQ(status().at("cameras"), json::object());
  const Answer applied = ask({"cluster", "apply", "--restored", "rig.yaml"}, yaml("x"));
  EXPECT_EQ(applied.status, 0) << applied.errors;
  EXPECT_THAT(applied.output, HasSubstr("applied\nwhat etcd has counts again\n"));
  EXPECT_TRUE(eventually([&] { return assigned_to("a") == all_cameras; }));
  EXPECT_TRUE(recorded_by(expected));
  EXPECT_EQ(rig.log().find("removed"), std::string::npos) << "nothing was stopped";
  end("a");
}

TEST_F(ClusterRig, WhatIsAppliedRunsAndADrainedNodeGivesUpItsCameras) {
  start("a");
  start("b");
  ASSERT_TRUE(eventually([&] { return are_here({"a", "b"}) && status().at("cameras").size() == 6; }));
  cameras_ = camera("c0") + camera("c1", ", priority: 60") + camera("c2") + camera("c3") + camera("c4") + camera("c9");
  const Answer dry = ask({"cluster", "apply", "--dry-run", "rig.yaml"}, yaml("x"));
  EXPECT_EQ(dry.status, 0) << dry.errors;
  EXPECT_EQ(dry.output, "~ c1\n+ c9\n- c5\n");
  EXPECT_TRUE(status().at("cameras").contains("c5"));
  const Answer applied = ask({"cluster", "apply", "rig.yaml"}, yaml("x"));
  EXPECT_EQ(applied.status, 0) << applied.errors;
  EXPECT_EQ(applied.output, "~ c1\n+ c9\n- c5\napplied\n");
  EXPECT_EQ(ask({"cluster", "apply", "rig.yaml"}, yaml("x")).output, "the cluster has this rig already\n");
  EXPECT_TRUE(eventually([&] {
    const json cameras = status().at("cameras");
    return cameras.contains("c9") && !cameras.contains("c5");
  }));
  EXPECT_TRUE(eventually([&] { return recorded(*nodes_.at("a"), "c9") + recorded(*nodes_.at("b"), "c9") > 0; }));

  const std::string drained = assigned_to("a").empty() ? "b" : "a";
  const std::string other = drained == "a" ? "b" : "a";
  EXPECT_EQ(command({"drain", drained}).output, drained + " is drained: its cameras go to nodes that have room\n");
  EXPECT_TRUE(eventually([&] { return assigned_to(drained).empty() && assigned_to(other).size() == 6; }));
  EXPECT_THAT(command({"status"}).output, HasSubstr("draining"));
  EXPECT_EQ(command({"drain", drained, "--end"}).output, drained + " takes cameras again\n");
  EXPECT_EQ(status().at("nodes").at(drained).at("draining"), false);
  end("a");
  end("b");
}

// A folder that cannot be made there, say; the others can use it.
TEST_F(ClusterRig, WhatIsMissingOnANodeIsLeftToOthers) {
  start("a");
  start("b");
  ASSERT_TRUE(eventually([&] { return are_here({"a", "b"}) && status().at("cameras").size() == 6; }));
  ASSERT_EQ(command({"move", "c1", "b"}).status, 0);
  ASSERT_TRUE(eventually([&] { return assigned_to("b").contains("c1"); }));
  std::ofstream(nodes_.at("b")->file("films")) << "not a folder";
  cameras_ += "  c9: {source: \"test://pattern?width=160&height=120&rate=10\", record: {path: films/c9.mp4}}\n";
  ASSERT_EQ(ask({"cluster", "apply", "rig.yaml"}, yaml("x")).status, 0);
  EXPECT_TRUE(eventually([&] { return assigned_to("a").contains("c9"); }))
      << command({"status"}).output << nodes_.at("b")->log();
  EXPECT_TRUE(assigned_to("b").contains("c1")) << "the others stay where they are";
  EXPECT_THAT(nodes_.at("b")->log(), HasSubstr("not on this node now, which leaves it to others:"));
  end("a");
  end("b");
}

TEST_F(ClusterRig, CommandsNameWhatIsWrong) {
  EXPECT_THAT(command({"status"}).output, HasSubstr("there is no rig yet"));
  const Answer no_node = command({"drain", "x"});
  EXPECT_EQ(no_node.status, 2);
  EXPECT_EQ(no_node.errors, "cluster hall has no node 'x'; its nodes: none\n");
  const Answer no_camera = command({"move", "x", "a"});
  EXPECT_EQ(no_camera.status, 2);
  EXPECT_EQ(no_camera.errors, "cluster hall has no camera 'x'; `campipe cluster status` lists them\n");
  const Answer no_section = ask({"cluster", "status", "--config", "rig.yaml"}, "cameras:\n" + cameras_);
  EXPECT_EQ(no_section.status, 2);
  EXPECT_EQ(no_section.errors, "rig.yaml: no section 'cluster': it says where etcd is, and the cluster's name\n");
  // Whoever looks at the cluster has no passwords of cameras.
  cameras_ += "  z: {source: 'rtsp://u:${CAMPIPE_TEST_NO_SUCH_PASSWORD}@127.0.0.1/'}\n";
  EXPECT_THAT(command({"status"}).output, HasSubstr("there is no rig yet"));
  EXPECT_EQ(command({"drain", "x"}).errors, no_node.errors);
  etcd_->kill(0);
  const Answer away = command({"status"});
  EXPECT_EQ(away.status, 1);
  EXPECT_THAT(away.errors, HasSubstr("cannot read the cluster: "));
  EXPECT_THAT(away.errors, HasSubstr("look whether the members that `cluster.etcd` names run"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
