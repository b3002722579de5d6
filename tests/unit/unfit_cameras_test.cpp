// Which cameras a node of a cluster names as those that it cannot run or record, and for how long.
#include "app/supervisor/cluster/unfit_cameras.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const Clock::time_point start = Clock::time_point() + 1h;

TEST(UnfitCameras, AreThoseThatArePausedForAWhileOrCannotRun) {
  using Seen = UnfitCameras::Seen;
  UnfitCameras unfit;
  const auto names = [&] { return unfit.names(); };
  unfit.look("b", Seen::paused, start);
  unfit.look("c", Seen::cannot_run, start);
  EXPECT_THAT(names(), ElementsAre("c"));
  unfit.look("b", Seen::not_here, start + 1s);  // its publisher begins anew
  unfit.look("b", Seen::paused, start + 2s);
  unfit.look("b", Seen::paused, start + 2s + UnfitCameras::patience - 1ns);
  EXPECT_THAT(names(), ElementsAre("c"));
  const auto last = start + 2s + UnfitCameras::patience;
  unfit.look("b", Seen::paused, last);
  EXPECT_THAT(names(), ElementsAre("b", "c"));
  unfit.look("c", Seen::runs, last);
  EXPECT_THAT(names(), ElementsAre("b"));
  unfit.look("b", Seen::not_here, last + UnfitCameras::try_again - 1ns);
  EXPECT_THAT(names(), ElementsAre("b"));
  unfit.look("b", Seen::not_here, last + UnfitCameras::try_again);
  EXPECT_THAT(names(), IsEmpty());
}

TEST(UnfitCameras, ThatLeaveTheRigAreForgottenAndAnOfferNamesSoMany) {
  UnfitCameras unfit;
  for (int i = 0; i < 200; ++i) unfit.look("c" + std::to_string(1000 + i), UnfitCameras::Seen::cannot_run, start);
  EXPECT_EQ(unfit.names().size(), UnfitCameras::most_named);
  unfit.keep([](const std::string& camera) { return camera == "c1100"; });
  EXPECT_THAT(unfit.names(), ElementsAre("c1100"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
