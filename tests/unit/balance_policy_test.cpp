// Which camera goes where, and when none does: of a rig whose workers, cameras and time are simulated.
#include "app/supervisor/moving/balance_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Those on the same cores share their time evenly; what does not get its time is late.
class Rig {
 public:
  struct Worker {
    std::vector<unsigned> cores;
    double hog = 0;  // cores that another program takes
    bool on_gpu = false;
    double idle_s = 0;
  };
  struct Camera {
    std::string name;
    unsigned worker = 0;
    double needs = 0;  // cores
    std::string stays = {};
    bool waits = false;  // drop_policy: block
    double gpu = 0;
    bool one_thread = false;  // late, whatever its worker has left
    bool takes_rest = false;
    bool cannot_go = false;  // its moves are cancelled
    NodeId node = {};
    double cpu_s = 0;
    double came = 0;
    double late = 0;
    bool waits_now = false;
    int moves_for = 0;  // s
    unsigned to = 0;
  };

  Rig(std::vector<Worker> workers, std::vector<Camera> cameras)
      : workers_(std::move(workers)), cameras_(std::move(cameras)) {
    for (Camera& camera : cameras_) camera.node = NodeId(next_node_++);
  }

  // Returns the moves that were asked for: "b 0 1".
  std::vector<std::string> run(int for_seconds) {
    std::vector<std::string> moves;
    for (int i = 0; i < for_seconds; ++i) {
      step();
      const BalancePolicy::Decision decision = policy_.look_at(load(), now_);
      stuck.insert(stuck.end(), decision.stuck.begin(), decision.stuck.end());
      if (!decision.move) continue;
      const auto& [name, from, to, reason] = *decision.move;
      moves.push_back(name + " " + std::to_string(from) + " " + std::to_string(to));
      reasons.push_back(reason);
      Camera& camera = of(name);
      EXPECT_EQ(camera.worker, from);
      EXPECT_EQ(camera.moves_for, 0);
      camera.moves_for = 3;
      camera.to = to;
    }
    return moves;
  }
  Camera& of(const std::string& name) { return *std::ranges::find(cameras_, name, &Camera::name); }
  Worker& worker(unsigned number) { return workers_.at(number); }
  [[nodiscard]] bool may_relieve(unsigned worker) const { return policy_.may_relieve(worker, now_); }
  // Frames of all cameras that are lost in the next ten seconds.
  double losses() {
    const auto sum = [this] {
      double late = 0;
      for (const Camera& camera : cameras_) late += camera.late;
      return late;
    };
    const double before = sum();
    run(10);
    return sum() - before;
  }
  // Somebody else does that.
  void put(const std::string& name, unsigned worker) {
    of(name).moves_for = 1;
    of(name).to = worker;
  }

  std::vector<std::string> stuck;
  std::vector<std::string> reasons;
  std::optional<double> most_cores;
  double rate = 25;  // frames a second of each

 private:
  void step() {
    now_ += seconds(1);
    std::map<std::vector<unsigned>, double> needs;
    std::map<std::vector<unsigned>, double> hogs;
    double all = 0;
    for (const Camera& camera : cameras_) {
      needs[workers_[camera.worker].cores] += camera.needs;
      all += camera.needs;
    }
    for (const Worker& worker : workers_) hogs[worker.cores] += worker.hog;
    const double allowed = most_cores ? std::min(1.0, *most_cores / all) : 1;
    std::map<std::vector<unsigned>, double> idle;
    for (const auto& [cores, hog] : hogs) idle[cores] = static_cast<double>(cores.size()) - hog;
    for (Camera& camera : cameras_) {
      const std::vector<unsigned>& cores = workers_[camera.worker].cores;
      const double has = static_cast<double>(cores.size()) - hogs[cores];
      double part = std::min({1.0, has / std::max(needs[cores], 1e-9), allowed});
      if (camera.one_thread) part *= 0.7;
      if (camera.gpu > 0 && gpu_of(camera.worker) > 1) part = std::min(part, 1 / gpu_of(camera.worker));
      const double used = camera.needs * part;
      idle[cores] -= used;
      camera.cpu_s += used;
      if (camera.waits) {
        camera.came += rate * part;
        camera.waits_now = part < 1;
      } else {
        camera.came += rate;
        camera.late += rate * (1 - part);
      }
      used_s_ += used;
      if (camera.moves_for == 0 || --camera.moves_for > 0 || camera.cannot_go) continue;
      camera.worker = camera.to;
      camera.node = NodeId(next_node_++);
      camera.cpu_s = 0;
    }
    for (Worker& worker : workers_) worker.idle_s += std::max(idle[worker.cores], 0.0);
  }
  double gpu_of(unsigned worker) const {
    double gpu = 0;
    for (const Camera& camera : cameras_) gpu += camera.worker == worker ? camera.gpu : 0;
    return gpu;
  }
  RigLoad load() const {
    RigLoad load;
    for (unsigned w = 0; w < workers_.size(); ++w)
      load.workers.push_back({w, workers_[w].on_gpu, workers_[w].cores, workers_[w].idle_s});
    for (const Camera& camera : cameras_) {
      RigLoad::Camera& its = load.cameras.emplace_back();
      its.name = camera.name;
      its.node = camera.node;
      its.worker = camera.worker;
      its.stays = camera.stays;
      for (unsigned w = 0; w < workers_.size() && camera.stays.empty(); ++w)
        if (w != camera.worker) its.others.push_back(w);
      its.busy = camera.moves_for > 0;
      its.cpu_s = camera.cpu_s;
      its.came = static_cast<std::uint64_t>(camera.came);
      its.late = static_cast<std::uint64_t>(camera.late);
      its.source_waits = camera.waits_now;
      its.rate = camera.waits ? rate : 0;
      its.takes_rest = camera.takes_rest;
      its.gpu = camera.gpu;
    }
    load.most_cores = most_cores;
    load.used_s = used_s_;
    return load;
  }

  std::vector<Worker> workers_;
  std::vector<Camera> cameras_;
  BalancePolicy policy_;
  Clock::time_point now_ = Clock::now();
  unsigned next_node_ = 0;
  double used_s_ = 0;
};

Rig two_workers(std::vector<Rig::Camera> cameras) { return {{{{0}}, {{1}}}, std::move(cameras)}; }

TEST(Balance, NothingMovesWhereNobodyIsLate) {
  Rig rig = two_workers({{"a", 0, 0.5}, {"b", 0, 0.4}, {"c", 1, 0.05}});
  EXPECT_THAT(rig.run(300), IsEmpty());
}

TEST(Balance, AShiftOfLoadMovesTheSmallestCameraThatHelps) {
  Rig rig = two_workers({{"big", 0, 0.3}, {"middle", 0, 0.3}, {"small", 0, 0.05}, {"other", 1, 0.2}});
  EXPECT_THAT(rig.run(30), IsEmpty());
  rig.of("big").needs = 0.8;  // 1.15 of one core
  EXPECT_THAT(rig.run(2), IsEmpty()) << "it has to be late for a while";
  EXPECT_THAT(rig.run(10), ElementsAre("middle 0 1"));
  EXPECT_THAT(rig.reasons.at(0),
              HasSubstr("worker 0 is late (a camera loses 12 % of its frames), worker 1 has 0.8 of 1 core left"));
  EXPECT_EQ(rig.losses(), 0);
  EXPECT_THAT(rig.run(600), IsEmpty());
}

TEST(Balance, TheLargestThatFitsWhereNoneIsEnough) {
  Rig rig = two_workers({{"a", 0, 0.6}, {"b", 0, 0.5}, {"c", 0, 0.4}, {"d", 1, 0.35}});
  EXPECT_THAT(rig.run(30), ElementsAre("b 0 1")) << "0.5 of a core and some more is left";
  EXPECT_EQ(rig.losses(), 0);
}

TEST(Balance, SeveralMovesOneAfterTheOther) {
  std::vector<Rig::Camera> cameras;
  for (int i = 0; i < 20; ++i) cameras.push_back({"c" + std::to_string(i), 0, 0.3});
  Rig rig({{{0, 1, 2, 3}}, {{4, 5, 6, 7}}}, cameras);  // 6 cores of 4
  EXPECT_THAT(rig.run(60), SizeIs(testing::Le(6U)));
  rig.run(120);
  EXPECT_EQ(rig.losses(), 0);
  EXPECT_THAT(rig.run(600), IsEmpty());
}

// What encoders need comes in bursts: one that has just enough is late again and again.
TEST(Balance, GivesUntilItsCamerasLeaveSome) {
  std::vector<Rig::Camera> cameras;
  for (int i = 0; i < 8; ++i) cameras.push_back({"c" + std::to_string(i), 0, 0.55});
  Rig rig({{{0, 1, 2, 3}}, {{4, 5, 6, 7}}}, cameras);  // 4.4 cores of 4
  EXPECT_THAT(rig.run(60), SizeIs(2));
  EXPECT_THAT(rig.reasons.at(1), HasSubstr("worker 0 was late, and has next to nothing left, worker 1 has"));
  EXPECT_THAT(rig.run(600), IsEmpty());
}

TEST(Balance, AProgramThatTakesWhatIsLeftIsNoReasonToGiveMore) {
  Rig rig = two_workers({{"a", 0, 0.4}, {"b", 0, 0.3}, {"c", 1, 0.1}});
  rig.worker(0).hog = 0.6;
  EXPECT_THAT(rig.run(300), SizeIs(1));
  EXPECT_EQ(rig.losses(), 0);
}

TEST(Balance, AProgramBesideTheRig) {
  Rig rig = two_workers({{"a", 0, 0.4}, {"b", 0, 0.4}, {"c", 1, 0.1}});
  rig.worker(0).hog = 0.5;
  EXPECT_THAT(rig.run(20), ElementsAre("a 0 1"));
  EXPECT_EQ(rig.losses(), 0);
  rig.worker(0).hog = 0;
  EXPECT_THAT(rig.run(600), IsEmpty()) << "nobody is late: it need not go back";
}

TEST(Balance, ASourceThatWaitsIsLateToo) {
  Rig rig = two_workers({{"a", 0, 0.8, "", true}, {"b", 0, 0.7, "", true}, {"c", 1, 0.1}});
  EXPECT_THAT(rig.run(20), ElementsAre("b 0 1"));
  EXPECT_THAT(rig.reasons.at(0), HasSubstr("a camera's source waits for it"));
}

// All workers of a machine without cores of their own have the same.
TEST(Balance, SharedCoresAreNoRoom) {
  Rig rig({{{0, 1}}, {{0, 1}}}, {{"a", 0, 1.5}, {"b", 0, 1}, {"c", 1, 0.1}});
  EXPECT_THAT(rig.run(300), IsEmpty());
  EXPECT_FALSE(rig.may_relieve(0));
}

TEST(Balance, NoRoomNoMove) {
  Rig rig = two_workers({{"a", 0, 0.8}, {"b", 0, 0.5}, {"c", 1, 0.7}});
  EXPECT_THAT(rig.run(300), IsEmpty());
  EXPECT_THAT(rig.stuck, IsEmpty());
}

// What a cgroup does not give, no core has.
TEST(Balance, ACgroupsTimeIsNoRoom) {
  Rig rig({{{0, 1}}, {{2, 3}}}, {{"a", 0, 1}, {"b", 0, 1}, {"c", 0, 0.5}, {"d", 1, 0.3}});
  rig.most_cores = 2;
  EXPECT_THAT(rig.run(300), IsEmpty());
}

// One thread cannot do it, and its worker has time.
TEST(Balance, WhatIsLateByItselfStays) {
  Rig rig({{{0, 1}}, {{2, 3}}}, {{"a", 0, 0.9, "", false, 0, true}, {"b", 0, 0.3}, {"c", 1, 0.1}});
  EXPECT_THAT(rig.run(300), IsEmpty());
  EXPECT_FALSE(rig.may_relieve(0));
}

TEST(Balance, WhatStaysIsSaidOnce) {
  Rig rig = two_workers({{"wall", 0, 0.7, "it is a mosaic"}, {"yard", 0, 0.6, "a mosaic shows it"}, {"c", 1, 0.1}});
  EXPECT_THAT(rig.run(300), IsEmpty());
  EXPECT_THAT(rig.stuck, ElementsAre(testing::AllOf(HasSubstr("worker 0 is late"),
                                                    HasSubstr("wall: it is a mosaic; yard: a mosaic shows it"))));
  EXPECT_FALSE(rig.may_relieve(0));
}

TEST(Balance, OthersMakeRoomForWhatStays) {
  Rig rig = two_workers({{"wall", 0, 0.7, "it is a mosaic"}, {"yard", 0, 0.6}, {"c", 1, 0.1}});
  EXPECT_THAT(rig.run(20), ElementsAre("yard 0 1"));
  EXPECT_THAT(rig.stuck, IsEmpty());
}

// In two seconds there are too few of their frames to know what one takes; in some more there are enough.
TEST(Balance, CamerasOfFewFramesMoveToo) {
  Rig rig = two_workers({{"a", 0, 0.5}, {"b", 0, 0.7}, {"c", 1, 0.1}});
  rig.rate = 2;
  EXPECT_THAT(rig.run(40), ElementsAre("a 0 1"));
}

TEST(Balance, WhatFailedIsTriedLaterAndLater) {
  Rig rig = two_workers({{"a", 0, 0.7}, {"c", 1, 0.1}});
  rig.worker(0).hog = 0.5;
  rig.of("a").cannot_go = true;
  EXPECT_THAT(rig.run(60), SizeIs(1));
  EXPECT_FALSE(rig.may_relieve(0)) << "somebody else may have to give way now";
  EXPECT_THAT(rig.run(30), SizeIs(1));
  EXPECT_THAT(rig.run(90), IsEmpty());
  EXPECT_THAT(rig.run(40), SizeIs(1));
  rig.of("a").cannot_go = false;
  EXPECT_THAT(rig.run(600), ElementsAre("a 0 1"));
}

// Each worker becomes the late one, in turns: cameras do not follow the load at once, and not back to where they were.
TEST(Balance, NothingGoesBackAndForth) {
  Rig rig = two_workers({{"a", 0, 0.3}, {"b", 0, 0.3}, {"c", 1, 0.3}, {"d", 1, 0.3}});
  std::size_t moves = 0;
  std::map<std::string, int> of_each;
  for (int round = 0; round < 20; ++round) {
    rig.worker(round % 2).hog = 0.6;
    rig.worker((round + 1) % 2).hog = 0;
    for (const std::string& move : rig.run(30)) {
      ++moves;
      ++of_each[move.substr(0, 1)];
    }
  }
  EXPECT_LE(moves, 8U) << "in ten minutes";
  for (const auto& [name, times] : of_each) EXPECT_LE(times, 2) << name;
}

// More was asked of the other worker than it could do: it is not trusted for a while.
TEST(Balance, AWorkerThatGotTooMuchGetsNoMore) {
  Rig rig = two_workers({{"a", 0, 0.5}, {"b", 0, 0.45}, {"c", 0, 0.3}, {"d", 1, 0.1, "it is a mosaic"}});
  ASSERT_THAT(rig.run(14), ElementsAre("b 0 1"));
  rig.worker(1).hog = 0.55;
  rig.run(10);
  rig.worker(1).hog = 0;
  rig.worker(0).hog = 0.5;
  EXPECT_THAT(rig.run(30), IsEmpty());
  EXPECT_THAT(rig.run(120), SizeIs(1));
}

TEST(Balance, WhatSomebodyMovedStaysForAWhile) {
  Rig rig = two_workers({{"a", 1, 0.6}, {"c", 1, 0.1}, {"b", 0, 0.1}});
  rig.run(10);
  rig.put("a", 0);
  rig.run(2);
  rig.worker(0).hog = 0.6;
  EXPECT_THAT(rig.run(40), ElementsAre("b 0 1"));
}

TEST(Balance, AGpuThatIsFullGivesToOneThatIsNot) {
  std::vector<Rig::Camera> cameras;
  for (int i = 0; i < 6; ++i) cameras.push_back({"c" + std::to_string(i), 0, 0.3, "", false, 0.2});
  cameras.push_back({"other", 1, 0.1, "", false, 0.1});
  Rig rig({{{0, 1, 2, 3}, 0, true}, {{0, 1, 2, 3}, 0, true}}, cameras);
  EXPECT_THAT(rig.run(60), SizeIs(testing::Ge(1U)));
  EXPECT_THAT(rig.reasons.at(0), HasSubstr("the GPU of worker 1 has more time"));
  rig.run(60);
  EXPECT_EQ(rig.losses(), 0);
  EXPECT_THAT(rig.run(600), IsEmpty());
}

TEST(Balance, MayRelieveAsLongAsItTries) {
  Rig rig = two_workers({{"a", 0, 0.3}, {"b", 0, 0.35}, {"c", 1, 0.2}});
  rig.run(10);
  EXPECT_TRUE(rig.may_relieve(0)) << "nobody needs to shed when it becomes late";
  rig.worker(0).hog = 0.5;
  ASSERT_THAT(rig.run(6), ElementsAre("a 0 1"));
  EXPECT_TRUE(rig.may_relieve(0));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
