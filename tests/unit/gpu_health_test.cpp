// When a GPU is taken for gone, and for back. Time is simulated.
#include "app/supervisor/faults/gpu_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using State = GpuHealth::State;

Device device(unsigned number) {
  Device device;
  device.gpu_uuid.back() = static_cast<std::uint8_t>(number + 1);
  return device;
}

class Health : public testing::Test {
 protected:
  // What is to be done now: "check 1".
  std::vector<std::string> due() {
    std::vector<std::string> steps;
    for (const GpuHealth::Step& step : health_.follow(now_)) {
      const char* what = "";
      switch (step.what) {
        case GpuHealth::Step::What::check:
          what = "check ";
          break;
        case GpuHealth::Step::What::leave:
          what = "leave ";
          break;
        case GpuHealth::Step::What::come_back:
          what = "come back ";
          break;
        case GpuHealth::Step::What::send_on:
          what = "send on ";
          break;
      }
      steps.push_back(what + std::to_string(step.device.gpu_uuid.back() - 1));
      reason_ = step.reason;
    }
    return steps;
  }

  void pass(Clock::duration time) { now_ += time; }
  void lose(unsigned gpu) { health_.on_loss(device(gpu), "worker " + std::to_string(gpu) + " lost it", now_); }
  void answer(unsigned gpu, const std::string& problem = "") { health_.on_check(device(gpu), problem, now_); }

  State state(unsigned gpu) const {
    for (const GpuHealth::Gpu& each : health_.all()) {
      if (each.device == device(gpu)) return each.state;
    }
    return State::here;
  }

  // The whole of a good check that is due.
  void check_well(unsigned gpu) {
    ASSERT_THAT(due(), ElementsAre("check " + std::to_string(gpu)));
    answer(gpu);
  }

  // It is gone, since its check failed.
  void go(unsigned gpu) {
    lose(gpu);
    ASSERT_THAT(due(), ElementsAre("check " + std::to_string(gpu)));
    answer(gpu, "no memory");
    ASSERT_THAT(due(), ElementsAre("leave " + std::to_string(gpu)));
  }

  // Its checks are good from now on; the time until it is back.
  // The supervisor looks so often: a check that is due is asked for, and its answer acted upon, in the next one.
  static constexpr auto tick = milliseconds(100);
  Clock::duration time_until_back(unsigned gpu) {
    const Clock::time_point begin = now_;
    for (int steps = 0; steps < 10'000; ++steps, pass(tick)) {
      for (const std::string& step : due()) {
        if (step == "come back " + std::to_string(gpu)) return now_ - begin;
        if (step == "check " + std::to_string(gpu)) answer(gpu);
      }
    }
    ADD_FAILURE() << "it does not come back";
    return {};
  }

  GpuHealth health_;
  Clock::time_point now_{std::chrono::hours(1)};
  std::string reason_;
};

TEST_F(Health, AnythingIsHereThatNothingIsKnownOf) {
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_FALSE(health_.is_gone(device(0)));
  EXPECT_FALSE(health_.is_gone(Device()));
}

TEST_F(Health, OneLossIsNothingWhereTheCheckIsGood) {
  lose(1);
  EXPECT_EQ(state(1), State::suspected);
  EXPECT_FALSE(health_.is_gone(device(1)));
  EXPECT_TRUE(health_.is_suspected(device(1)));
  EXPECT_FALSE(health_.is_suspected(device(0)));
  check_well(1);
  EXPECT_EQ(state(1), State::here);
  EXPECT_FALSE(health_.is_suspected(device(1)));
  EXPECT_THAT(due(), IsEmpty());
  pass(minutes(5));
  EXPECT_THAT(due(), IsEmpty());
}

TEST_F(Health, IsGoneWhenItsCheckFails) {
  go(1);
  EXPECT_TRUE(health_.is_gone(device(1)));
  EXPECT_FALSE(health_.is_gone(device(0)));
  EXPECT_EQ(reason_, "worker 1 lost it; no memory");
}

TEST_F(Health, IsCheckedOnceAtATime) {
  lose(1);
  EXPECT_THAT(due(), ElementsAre("check 1"));
  lose(1);
  pass(seconds(1));
  EXPECT_THAT(due(), IsEmpty());
}

TEST_F(Health, TheSecondLossWithinAShortTimeNeedsNoCheck) {
  lose(1);
  check_well(1);
  pass(seconds(2));
  lose(1);
  EXPECT_TRUE(health_.is_gone(device(1)));
  EXPECT_THAT(due(), ElementsAre("leave 1"));
  EXPECT_THAT(reason_, HasSubstr("again and again"));
}

TEST_F(Health, TheSecondLossDuringTheCheckCountsWhenThatIsGood) {
  lose(1);
  ASSERT_THAT(due(), ElementsAre("check 1"));
  pass(seconds(1));
  lose(1);
  EXPECT_FALSE(health_.is_gone(device(1)));
  answer(1);
  EXPECT_THAT(due(), ElementsAre("leave 1"));
}

TEST_F(Health, ThreeLossesWithinAMinuteAreTooMany) {
  for (int i = 0; i < 2; ++i) {
    lose(1);
    check_well(1);
    pass(seconds(25));
  }
  EXPECT_FALSE(health_.is_gone(device(1)));
  lose(1);
  EXPECT_TRUE(health_.is_gone(device(1)));
}

TEST_F(Health, LossesLongAgoAreForgotten) {
  for (int i = 0; i < 10; ++i) {
    lose(1);
    check_well(1);
    EXPECT_EQ(state(1), State::here);
    pass(seconds(40));
  }
}

TEST_F(Health, ComesBackAfterThreeGoodChecks) {
  go(1);
  pass(milliseconds(9'900));
  EXPECT_THAT(due(), IsEmpty());
  pass(milliseconds(100));
  check_well(1);
  EXPECT_EQ(state(1), State::returning);
  EXPECT_TRUE(health_.is_gone(device(1)));
  pass(seconds(1));
  check_well(1);
  pass(seconds(1));
  check_well(1);
  EXPECT_THAT(due(), ElementsAre("come back 1"));
  EXPECT_FALSE(health_.is_gone(device(1)));
  EXPECT_EQ(reason_, "after 12 s");
}

TEST_F(Health, ABadCheckOnTheWayBackBeginsAnew) {
  go(1);
  pass(seconds(10));
  check_well(1);
  pass(seconds(1));
  ASSERT_THAT(due(), ElementsAre("check 1"));
  answer(1, "it is away again");
  EXPECT_EQ(state(1), State::gone);
  pass(seconds(19));
  EXPECT_THAT(due(), IsEmpty());
  pass(seconds(1));
  check_well(1);
  EXPECT_EQ(state(1), State::returning);
}

TEST_F(Health, BadChecksAreEverFartherApartUpToFiveMinutes) {
  go(1);
  std::vector<int> waits;
  for (int i = 0; i < 7; ++i) {
    int waited = 0;
    while (due().empty()) {
      pass(seconds(1));
      ++waited;
    }
    waits.push_back(waited);
    answer(1, "still away");
  }
  EXPECT_THAT(waits, ElementsAre(10, 20, 40, 80, 160, 300, 300));
}

TEST_F(Health, OneThatGoesAgainAfterItCameBackIsAwayForLonger) {
  go(1);
  EXPECT_EQ(time_until_back(1), seconds(12) + tick);
  go(1);
  EXPECT_EQ(time_until_back(1), seconds(22) + tick);
  go(1);
  EXPECT_EQ(time_until_back(1), seconds(42) + tick);
  pass(minutes(11));
  go(1);
  EXPECT_EQ(time_until_back(1), seconds(12) + tick);
}

TEST_F(Health, OneLossIsEnoughForAMinuteAfterItCameBack) {
  go(1);
  time_until_back(1);
  pass(seconds(30));
  lose(1);
  ASSERT_THAT(due(), ElementsAre("check 1"));
  answer(1);
  EXPECT_TRUE(health_.is_gone(device(1)));
}

TEST_F(Health, HangsHaveItCheckedAndCountForNothingElse) {
  for (int i = 0; i < 5; ++i) {
    health_.on_hang(device(1), "worker 1 hung", now_);
    EXPECT_EQ(state(1), State::suspected);
    check_well(1);
    EXPECT_EQ(state(1), State::here);
    pass(seconds(1));
  }
  health_.on_hang(device(1), "worker 1 hung", now_);
  ASSERT_THAT(due(), ElementsAre("check 1"));
  answer(1, "it hangs");
  EXPECT_THAT(due(), ElementsAre("leave 1"));
  EXPECT_EQ(reason_, "worker 1 hung; it hangs");
}

TEST_F(Health, LossesOfOneThatIsGoneTellNothingNew) {
  go(1);
  lose(1);
  EXPECT_THAT(due(), IsEmpty());
}

// What is wrong moves along with the cameras.
TEST_F(Health, ASecondOneDoesNotGoAgainstItsChecks) {
  for (int i = 0; i < 2; ++i) {
    lose(1);
    if (i == 0) check_well(1);
    pass(seconds(1));
  }
  ASSERT_THAT(due(), ElementsAre("leave 1"));
  for (int i = 0; i < 5; ++i) {
    lose(0);
    ASSERT_THAT(due(), ElementsAre("check 0"));
    answer(0);
    EXPECT_THAT(due(), ElementsAre("send on 0"));
    EXPECT_FALSE(health_.is_gone(device(0)));
    pass(seconds(1));
  }
}

// Whoever misses it looks for it.
TEST_F(Health, OneThatIsMissedIsGoneAndNeverChecked) {
  health_.miss(device(2), "there is none", now_);
  EXPECT_EQ(state(2), State::gone);
  EXPECT_TRUE(health_.is_gone(device(2)));
  pass(minutes(10));
  EXPECT_THAT(due(), IsEmpty());
  const auto since = health_.all().at(0).since;
  health_.miss(device(2), "it is full", now_);
  EXPECT_EQ(health_.all().at(0).reason, "it is full");
  EXPECT_EQ(health_.all().at(0).since, since);
  health_.forget(device(2));
  EXPECT_THAT(health_.all(), IsEmpty());
  // Under its own name it is as any other.
  lose(2);
  check_well(2);
  EXPECT_EQ(state(2), State::here);
}

TEST_F(Health, ASecondOneGoesWhenItsCheckFails) {
  lose(1);
  check_well(1);
  lose(1);
  ASSERT_THAT(due(), ElementsAre("leave 1"));
  lose(0);
  ASSERT_THAT(due(), ElementsAre("check 0"));
  answer(0, "no memory");
  EXPECT_THAT(due(), ElementsAre("leave 0"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
