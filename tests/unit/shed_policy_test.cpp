// Who gives way, how far, and when it has all again. Time is simulated.
#include "app/supervisor/moving/shed_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Cameras of 24 frames a second.
class Rig {
 public:
  struct Camera {
    std::string name;
    int priority = 50;
    std::string device = "cpu";
    bool may_shed = true;
    bool may_move = false;
    ShedStep step = ShedStep::none;
    std::uint64_t came = 0;
    std::uint64_t late = 0;
  };
  explicit Rig(std::vector<Camera> cameras) : cameras_(std::move(cameras)) { look(); }

  // For so many seconds; `late`: of 12 frames. Returns what changed: "low 1, low 2".
  std::string run(int for_seconds, const std::function<int(const Camera&)>& late) {
    std::string changes;
    for (int i = 0; i < 2 * for_seconds; ++i) {
      now_ += milliseconds(500);
      for (Camera& camera : cameras_) {
        if (camera.step == ShedStep::off) continue;
        camera.came += 12;
        camera.late += static_cast<unsigned>(late(camera));
      }
      for (const ShedPolicy::Change& change : look()) {
        of(change.camera).step = change.step;
        changes += (changes.empty() ? "" : ", ") + change.camera + " " + std::to_string(static_cast<int>(change.step));
      }
    }
    return changes;
  }
  Camera& of(const std::string& name) { return *std::ranges::find(cameras_, name, &Camera::name); }

 private:
  std::vector<ShedPolicy::Change> look() {
    std::vector<ShedPolicy::Load> loads;
    for (const Camera& camera : cameras_) {
      loads.push_back({camera.name, camera.device, camera.priority, camera.step, camera.may_shed, camera.came,
                       camera.late, camera.may_move});
    }
    return policy_.look_at(loads, now_);
  }

  std::vector<Camera> cameras_;
  ShedPolicy policy_;
  Clock::time_point now_{};
};

int all_are_late(const Rig::Camera&) { return 6; }
int nobody_is_late(const Rig::Camera&) { return 0; }

TEST(ShedPolicy, LowestPrioritiesGiveWayFirstStepByStep) {
  Rig rig({{"high", 90}, {"low", 10}, {"middle", 50}, {"another low", 10}});
  EXPECT_EQ(rig.run(18, all_are_late),
            "another low 1, low 1, another low 2, low 2, another low 3, low 3, another low 4, low 4, middle 1");
  EXPECT_EQ(rig.run(20, all_are_late), "middle 2, middle 3, middle 4") << "and never the highest";
}

TEST(ShedPolicy, NobodyGivesWayToOneOfItsOwnPriority) {
  Rig rig({{"a"}, {"b"}});
  EXPECT_EQ(rig.run(60, all_are_late), "");
}

TEST(ShedPolicy, CamerasOfOtherDevicesAndThoseThatMayNotDoNotGiveWay) {
  Rig rig({{"high", 90, "0"}, {"low", 10, "1"}, {"mosaic", 10, "0", false}});
  EXPECT_EQ(rig.run(60, [](const Rig::Camera& camera) { return camera.name == "high" ? 6 : 0; }), "");
}

TEST(ShedPolicy, NobodyGivesWayWhileAMoveMayHelp) {
  Rig rig({{"high", 90}, {"low", 10}});
  rig.of("high").may_move = rig.of("low").may_move = true;
  EXPECT_EQ(rig.run(10, all_are_late), "");
  rig.of("high").may_move = rig.of("low").may_move = false;
  EXPECT_EQ(rig.run(4, all_are_late), "low 1, low 2");
}

TEST(ShedPolicy, AFewLateFramesAreNoReason) {
  Rig rig({{"high", 90}, {"low", 10}});
  int calls = 0;
  EXPECT_EQ(rig.run(60, [&](const Rig::Camera&) { return ++calls % 4 == 0 ? 1 : 0; }), "");
}

TEST(ShedPolicy, TakesAStepBackOnceThereIsTime) {
  Rig rig({{"high", 90}, {"low", 10}, {"middle", 50}});
  EXPECT_EQ(rig.run(10, all_are_late), "low 1, low 2, low 3, low 4, middle 1");
  EXPECT_EQ(rig.run(14, nobody_is_late), "");
  EXPECT_EQ(rig.run(100, nobody_is_late), "middle 0, low 3, low 2, low 1, low 0");
}

TEST(ShedPolicy, TriesLessOftenWhereItWasTooEarly) {
  Rig rig({{"high", 90}, {"low", 10}});
  const auto late_without = [&](const Rig::Camera&) { return rig.of("low").step == ShedStep::none ? 6 : 0; };
  EXPECT_EQ(rig.run(4, late_without), "low 1");
  int tries = 0;
  for (int minute = 0; minute < 20; ++minute) {
    const std::string changes = rig.run(60, late_without);
    tries += static_cast<int>(std::ranges::count(changes, '0'));
  }
  EXPECT_GE(tries, 4);
  EXPECT_LE(tries, 9) << "after 15 s, 30 s, 1 min, 2 min, 4 min, then every 8 min";
  EXPECT_EQ(rig.run(600, nobody_is_late), "low 0") << "and in the end it has all";
}

TEST(ShedPolicy, ForgetsWhoIsGone) {
  Rig rig({{"high", 90}, {"low", 10}});
  rig.run(4, all_are_late);
  rig.of("low").came = rig.of("low").late = 0;  // another one under its name
  rig.of("low").step = ShedStep::none;
  EXPECT_EQ(rig.run(30, nobody_is_late), "");
}

TEST(ShedPolicy, TheLowestGoesFirstWhereADeviceIsTooSmall) {
  std::vector<ShedPolicy::Load> loads{{"high", "0", 90}, {"low", "0", 10}, {"lower", "0", 5}, {"middle", "0", 50}};
  EXPECT_EQ(ShedPolicy::first_to_go(loads), "lower");
  loads[2].step = ShedStep::off;
  EXPECT_EQ(ShedPolicy::first_to_go(loads), "low");
  loads[1].may_shed = false;
  EXPECT_EQ(ShedPolicy::first_to_go(loads), "middle");
  loads[3].priority = 90;
  EXPECT_EQ(ShedPolicy::first_to_go(loads), std::nullopt);
  EXPECT_EQ(ShedPolicy::first_to_go({}), std::nullopt);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
