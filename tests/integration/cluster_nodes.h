// Whole rigs as nodes of a cluster, with a real etcd, and the commands that show and change it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <memory>
#include <set>

#include "tests/integration/etcd_members.h"
#include "tests/integration/rig_run.h"

namespace campipe::test {

using namespace std::chrono_literals;
using nlohmann::json;
using Names = std::set<std::string>;

inline const Names all_cameras{"c0", "c1", "c2", "c3", "c4", "c5"};

inline std::string camera(const std::string& name, const std::string& more = "") {
  return "  " + name + ": {source: \"test://pattern?width=160&height=120&rate=10\", record: {path: " + name + ".mp4}" +
         more + "}\n";
}

class ClusterRig : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
    etcd_ = std::make_unique<EtcdMembers>(1);
    for (const std::string& name : all_cameras) cameras_ += camera(name);
  }

  std::string yaml(const std::string& node) const {
    return servers_ + "workers: {count: 1}\ncameras:\n" + cameras_ + "cluster: {name: hall, etcd: ['" +
           etcd_->servers().urls[0] + "'], node: " + node + ", address: '127.0.0.1:8443'" + more_ + "}\n";
  }
  RigRun& start(const std::string& node, const std::filesystem::path& state = {}) {
    RigOptions options;
    options.report = false;
    options.state = state;
    return *(nodes_[node] = std::make_unique<RigRun>(yaml(node), options));
  }
  void kill_all_of(const std::string& node) {
    for (const pid_t pid : nodes_.at(node)->processes()) ::kill(pid, SIGKILL);
  }

  Answer command(std::vector<std::string> words) const {
    words.insert(words.begin(), "cluster");
    words.insert(words.end(), {"--config", "rig.yaml"});
    return ask(words, yaml("commands"));
  }
  json status() const {
    const Answer answer = command({"status", "--json"});
    EXPECT_EQ(answer.status, 0) << answer.errors;
    return json::parse(answer.output, nullptr, false);
  }
  // By the plan.
  Names assigned_to(const std::string& node) const {
    Names names;
    const json now = status();
    for (const auto& [name, assigned] : now.at("cameras").items()) {
      if (assigned.at("node") == node) names.insert(name);
    }
    return names;
  }
  bool are_here(const Names& nodes) const {
    Names here;
    const json now = status();
    for (const auto& [name, node] : now.at("nodes").items()) {
      if (node.at("here") == true) here.insert(name);
    }
    return here == nodes;
  }

  using Sizes = std::map<std::pair<std::string, std::string>, std::uintmax_t>;  // by node and camera
  Sizes sizes() const {
    Sizes all;
    for (const auto& [node, rig] : nodes_) {
      for (const std::string& name : all_cameras) all[{node, name}] = recorded(*rig, name);
    }
    return all;
  }
  // In all its files: one that comes back to a node begins another one.
  static std::uintmax_t recorded(const RigRun& rig, const std::string& name) {
    std::uintmax_t sum = 0;
    for (const auto& file : std::filesystem::directory_iterator(rig.folder())) {
      const std::string found = file.path().filename().string();
      if (found.starts_with(name) && found.ends_with(".mp4")) sum += rig.size(found);
    }
    return sum;
  }
  // Each camera's nodes, by whose files have grown since.
  std::map<std::string, Names> recorders_since(const Sizes& before) const {
    std::map<std::string, Names> recorders;
    for (const auto& [of, size] : sizes()) {
      if (size > before.at(of)) recorders[of.second].insert(of.first);
    }
    return recorders;
  }
  // Waits until each camera's files grow on its node, while they grow nowhere else.
  bool recorded_by(const std::map<std::string, Names>& expected) const {
    return eventually([&] {
      const Sizes before = sizes();
      const bool all = eventually(
          [&] {
            const auto now = recorders_since(before);
            return now.size() == expected.size();
          },
          5s);
      return all && recorders_since(before) == expected;
    });
  }

  // Two of the cameras on each of a, b and c.
  void start_three() {
    for (const char* node : {"a", "b", "c"}) start(node);
    ASSERT_TRUE(eventually([&] { return are_here({"a", "b", "c"}) && status().at("cameras").size() == 6; }));
    const std::map<std::string, Names> places{{"a", {"c0", "c1"}}, {"b", {"c2", "c3"}}, {"c", {"c4", "c5"}}};
    for (const auto& [node, names] : places) {
      for (const std::string& name : names) {
        const Answer answer = command({"move", name, node});
        ASSERT_EQ(answer.status, 0) << answer.errors;
        EXPECT_EQ(answer.output, name + " is wanted on " + node + "\n");
      }
    }
    const bool recorded = recorded_by(three());
    ASSERT_TRUE(recorded) << nodes_.at("a")->log() << nodes_.at("b")->log() << nodes_.at("c")->log();
  }
  static std::map<std::string, Names> three() {
    return {{"c0", {"a"}}, {"c1", {"a"}}, {"c2", {"b"}}, {"c3", {"b"}}, {"c4", {"c"}}, {"c5", {"c"}}};
  }
  void end(const std::string& node) {
    nodes_.at(node)->signal(SIGTERM);
    EXPECT_EQ(nodes_.at(node)->wait(), 0) << nodes_.at(node)->log();
  }

  std::unique_ptr<EtcdMembers> etcd_;
  std::string servers_ = "http_address: off\nrtsp_address: off\n";
  std::string cameras_;
  std::string more_;  // keys of `cluster`
  std::map<std::string, std::unique_ptr<RigRun>> nodes_;
};

}  // namespace campipe::test
