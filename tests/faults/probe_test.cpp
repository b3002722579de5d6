// Drivers that crash, hang or refuse: the probe takes the blow, and whoever started it goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "app/placement/devices.h"
#include "core/clock.h"
#include "tests/paths.h"

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

Devices probe_with(const char* driver, std::chrono::nanoseconds deadline) {
  ::setenv("CUDA_FAKE_DRIVER", driver, 1);
  return probe_devices(deadline);
}

TEST(Probe, ThatCrashesIsTold) {
  const Devices found = probe_with("crash", seconds(20));
  EXPECT_TRUE(found.driver);
  EXPECT_TRUE(found.gpus.empty());
  EXPECT_THAT(found.problem, HasSubstr("the probe of the GPUs failed (signal 6"));
}

TEST(Probe, ThatHangsIsKilledInTimeAndSaysWhereItWas) {
  // Who hangs would do so for ever; how long it takes until it does is the machine's.
  Devices found;
  for (const int limit : {1500, 6000, 24'000}) {
    found = probe_with("hang", milliseconds(limit));
    EXPECT_TRUE(found.gpus.empty());
    ASSERT_THAT(found.problem, HasSubstr("did not end within "));
    if (found.problem.find("its last output") != std::string::npos) break;
  }
  EXPECT_THAT(found.problem, HasSubstr("and was killed; its last output: "));
  EXPECT_THAT(found.problem, HasSubstr("counting the GPUs"));
}

TEST(Probe, TellsTheReasonOfADriverThatRefuses) {
  const Devices found = probe_with("refuse", seconds(20));
  EXPECT_TRUE(found.driver);
  EXPECT_TRUE(found.gpus.empty());
  EXPECT_FALSE(found.problem.empty());
  EXPECT_THAT(found.problem, testing::Not(HasSubstr("probe")));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe

// The fake driver must be where the dynamic linker looks from the start, so this program starts itself again.
int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "probe") == 0) return campipe::run_probe();
  const char* path = std::getenv("LD_LIBRARY_PATH");
  if (path == nullptr || std::strcmp(path, campipe::test::fake_driver_folder) != 0) {
    ::setenv("LD_LIBRARY_PATH", campipe::test::fake_driver_folder, 1);
    ::execv("/proc/self/exe", argv);
    std::perror("cannot start again");
    return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
