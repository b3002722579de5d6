// What a window measures of workers and cameras. Time is simulated.
#include "app/supervisor/moving/load_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::seconds;
using testing::SizeIs;

class LoadWindowTest : public testing::Test {
 protected:
  LoadWindowTest() {
    load_.workers.push_back({0, false, {0, 1}, 100});
    RigLoad::Camera& camera = load_.cameras.emplace_back();
    camera.name = "dock";
    camera.node = NodeId(7);
    camera.cpu_s = 3;
    camera.came = 1000;
    camera.late = 20;
  }
  RigLoad::Camera& camera() { return load_.cameras.front(); }
  // Of two seconds in which that is added.
  MeasuredLoad pass(double cpu_s, std::uint64_t came, std::uint64_t late, double idle_s = 0) {
    now_ += seconds(2);
    camera().cpu_s += cpu_s;
    camera().came += came;
    camera().late += late;
    load_.workers.front().idle_s += idle_s;
    const auto measured = window_.look_at(load_, now_);
    EXPECT_TRUE(measured);
    return measured.value_or(MeasuredLoad());
  }
  void begin() { EXPECT_FALSE(window_.look_at(load_, now_)); }

  RigLoad load_;
  LoadWindow window_;
  Clock::time_point now_ = Clock::now();
};

TEST_F(LoadWindowTest, FramesThatWereLateWouldHaveTakenTheirTimeToo) {
  begin();
  const MeasuredLoad measured = pass(1, 50, 25, 0.5);
  ASSERT_THAT(measured.cameras, SizeIs(1));
  EXPECT_TRUE(measured.cameras[0].known);
  EXPECT_TRUE(measured.cameras[0].late);
  EXPECT_DOUBLE_EQ(measured.cameras[0].late_part, 0.5);
  EXPECT_DOUBLE_EQ(measured.cameras[0].used, 0.5);
  EXPECT_DOUBLE_EQ(measured.cameras[0].needs, 1);
  EXPECT_DOUBLE_EQ(measured.workers[0].idle, 0.25);
  EXPECT_TRUE(measured.workers[0].late);
  EXPECT_TRUE(measured.workers[0].is_full()) << "a quarter of a core of two";
  EXPECT_EQ(measured.workers[0].reason, "a camera loses 50 % of its frames");
}

TEST_F(LoadWindowTest, OneLateFrameOfFiftyIsNotLate) {
  begin();
  EXPECT_FALSE(pass(1, 50, 1, 1).workers[0].late);
  EXPECT_TRUE(pass(1, 50, 2, 1).workers[0].late);
}

TEST_F(LoadWindowTest, ASourceThatWaitedAllTheTimeIsLate) {
  camera().source_waits = true;
  camera().rate = 50;
  begin();
  const MeasuredLoad measured = pass(1, 50, 0);
  EXPECT_TRUE(measured.cameras[0].late);
  EXPECT_DOUBLE_EQ(measured.cameras[0].needs, 1) << "twice as many frames are to come as do";
  EXPECT_EQ(measured.workers[0].reason, "a camera's source waits for it");
  camera().source_waits = false;
  EXPECT_FALSE(pass(1, 100, 0).cameras[0].late) << "at its end it does not wait";
}

TEST_F(LoadWindowTest, WhatTakesAllThereIsIsNeverLate) {
  camera().takes_rest = true;
  camera().source_waits = true;
  begin();
  const MeasuredLoad measured = pass(1.8, 500, 0);
  EXPECT_FALSE(measured.cameras[0].late);
  EXPECT_DOUBLE_EQ(measured.cameras[0].needs, 0.9);
}

TEST_F(LoadWindowTest, AFewFramesAreAddedUp) {
  begin();
  EXPECT_FALSE(pass(1, 3, 0).cameras[0].known);
  const MeasuredLoad measured = pass(1, 3, 0);
  EXPECT_TRUE(measured.cameras[0].known);
  EXPECT_DOUBLE_EQ(measured.cameras[0].needs, 0.5);
  EXPECT_DOUBLE_EQ(pass(0, 6, 6).cameras[0].needs, 1) << "what a frame takes is known, though none was done";
}

// It has moved, began anew, or another one has its id.
TEST_F(LoadWindowTest, NothingIsKnownOfAnotherNode) {
  begin();
  EXPECT_TRUE(pass(1, 50, 0).cameras[0].known);
  camera().worker = 1;
  EXPECT_FALSE(pass(1, 50, 25).cameras[0].known);
  EXPECT_TRUE(pass(1, 50, 0).cameras[0].known);
  camera().name = "gate";
  EXPECT_FALSE(pass(1, 50, 25).cameras[0].known);
  camera().cpu_s = 0;
  EXPECT_FALSE(pass(0.5, 50, 25).cameras[0].late);
}

TEST_F(LoadWindowTest, AWorkerThatHasJustBegunIsNotThereYet) {
  begin();
  load_.workers.push_back({1, false, {2}, 0});
  EXPECT_THAT(pass(1, 50, 0).workers, SizeIs(1));
  EXPECT_THAT(pass(1, 50, 0).workers, SizeIs(2));
}

TEST_F(LoadWindowTest, WhatACgroupLeaves) {
  begin();
  EXPECT_FALSE(pass(1, 50, 0).spare);
  load_.most_cores = 1.5;
  load_.used_s += 2;
  EXPECT_DOUBLE_EQ(pass(1, 50, 0).spare.value_or(-1), 0.5);
}

TEST_F(LoadWindowTest, BeginsAnewWhenAsked) {
  begin();
  now_ += seconds(1);
  window_.restart();
  begin();
  now_ += seconds(1);
  EXPECT_FALSE(window_.look_at(load_, now_));
  now_ += seconds(1);
  EXPECT_TRUE(window_.look_at(load_, now_));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
