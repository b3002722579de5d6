// Which limits of cgroups hold, read from files that are invented.
#include "app/placement/machine_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/placement/plan.h"
#include "tests/unit/invented_rigs.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::Optional;

class Cgroups : public testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) const {
    const auto path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void mount_v2(const std::string& root = "/") const {
    put("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 0:26 " + root +
                                   " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void mount_v1(const std::string& root = "/") const {
    put("proc/self/mountinfo", "32 31 0:29 " + root +
                                   " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" + "36 31 0:32 " +
                                   root + " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  }
  [[nodiscard]] CgroupLimits read() const { return read_cgroup_limits(folder_.path()); }
  test::TemporaryFolder folder_;
};

TEST_F(Cgroups, ThatAreNotThereDoNotLimit) {
  EXPECT_FALSE(read().cores);
  EXPECT_FALSE(read().memory);
  mount_v2();
  put("proc/self/cgroup", "0::/a\n");
  put("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/a/memory.max", "max\n");
  EXPECT_FALSE(read().cores);
  EXPECT_FALSE(read().memory);
}

TEST_F(Cgroups, OfVersion2LimitWithTheirParents) {
  mount_v2();
  put("proc/self/cgroup", "0::/system.slice/campipe.service\n");
  put("sys/fs/cgroup/system.slice/campipe.service/cpu.max", "250000 100000\n");
  put("sys/fs/cgroup/system.slice/campipe.service/memory.max", "4294967296\n");
  EXPECT_THAT(read().cores, Optional(2.5));
  EXPECT_THAT(read().memory, Optional(4ULL << 30));
  put("sys/fs/cgroup/system.slice/cpu.max", "100000 100000\n");
  put("sys/fs/cgroup/system.slice/memory.max", "8589934592\n");
  EXPECT_THAT(read().cores, Optional(1.0)) << "the parent allows less";
  EXPECT_THAT(read().memory, Optional(4ULL << 30)) << "the parent allows more";
}

// As Docker and Kubernetes show it: the container's own cgroup is the root.
TEST_F(Cgroups, OfAContainerAreItsRoot) {
  mount_v2();
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_THAT(read().cores, Optional(1.5));
  EXPECT_THAT(read().memory, Optional(1ULL << 30));
  put("proc/self/cgroup", "0::/../outside\n");  // of another namespace
  EXPECT_THAT(read().cores, Optional(1.5));
}

TEST_F(Cgroups, OfVersion1Limit) {
  mount_v1();
  put("proc/self/cgroup", "9:name=systemd:/x\n4:memory:/jobs/7\n2:cpu,cpuacct:/jobs/7\n0::/\n");
  put("sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_quota_us", "50000\n");
  put("sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "536870912\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_THAT(read().cores, Optional(0.5));
  EXPECT_THAT(read().memory, Optional(512ULL << 20));
  put("sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(read().cores);
  EXPECT_FALSE(read().memory);
}

// The file has the host's path, and the mount begins there.
TEST_F(Cgroups, OfVersion1InAContainerLimit) {
  mount_v1("/docker/1f2e");
  put("proc/self/cgroup", "4:memory:/docker/1f2e\n2:cpu,cpuacct:/docker/1f2e\n");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  EXPECT_THAT(read().cores, Optional(3.0));
  EXPECT_THAT(read().memory, Optional(2ULL << 30));
}

TEST_F(Cgroups, OfGarbageDoNotLimit) {
  mount_v2();
  put("proc/self/cgroup", "garbage\n0:\n:::\n0::/a\n");
  for (const char* text : {"", "\n", "100000", "x 100000", "100000 0", "-5 100000", "99999999999999999999 100000"}) {
    put("sys/fs/cgroup/a/cpu.max", text);
    put("sys/fs/cgroup/a/memory.max", text);
    EXPECT_FALSE(read().cores) << text;
  }
  put("sys/fs/cgroup/a/memory.max", "12 kB\n");
  put("proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup\n- - -\n\n");
  EXPECT_FALSE(read().memory);
}

TEST_F(Cgroups, CountInsteadOfTheMachine) {
  put("proc/meminfo", "MemTotal:       16000000 kB\nMemFree:        1 kB\n");
  EXPECT_EQ(read_machine_limits(folder_.path()).usable_memory(), 16'000'000ULL * 1024);
  mount_v2();
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(read_machine_limits(folder_.path()).usable_memory(), 1ULL << 30);
  EXPECT_GT(read_machine_limits("/").usable_memory(), 0U) << "of this machine";
}

TEST(MachineLimits, CountForWorkersAndEncoders) {
  Machine machine = cpu_machine(cpus(0, 16));
  const RigConfig rig = rig_of(8);
  EXPECT_EQ(plan(rig, machine).workers.size(), 8U);
  EXPECT_DOUBLE_EQ(plan(rig, machine).cameras[0].nodes[0].encode_cores, 2);
  machine.limits.cores = 4;
  EXPECT_EQ(plan(rig, machine).workers.size(), 2U);
  EXPECT_DOUBLE_EQ(plan(rig, machine).cameras[0].nodes[0].encode_cores, 0.5) << "4 cores for 8 streams";
  machine.limits.cores = 64;
  EXPECT_EQ(plan(rig, machine).workers.size(), 8U) << "no more than there are";
  machine.limits.cores = 0.5;
  EXPECT_EQ(plan(rig, machine).workers.size(), 1U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
