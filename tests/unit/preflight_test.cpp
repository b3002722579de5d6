// What is wrong with a machine, of files and limits that are invented.
#include "app/placement/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/gpu.h"
#include "tests/unit/invented_machines.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Preflight : public testing::Test {
 protected:
  void put(const std::string& file, const std::string& text = "") const {
    const auto path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void put_card(const std::string& address, const std::string& vendor, const std::string& kind) const {
    put("sys/bus/pci/devices/" + address + "/vendor", vendor + "\n");
    put("sys/bus/pci/devices/" + address + "/class", kind + "\n");
  }
  void put_all_files() const {
    put_card("0000:0f:00.0", "0x10de", "0x030200");
    put("proc/driver/nvidia/version", "580");
    for (const char* file : {"dev/nvidia0", "dev/nvidiactl", "dev/nvidia-uvm"}) put(file);
  }
  [[nodiscard]] std::vector<std::string> problems(const Devices& devices) const {
    return gpu_problems(find_gpu_files(folder_.path()), devices);
  }
  static Devices none(bool driver = false, const std::string& problem = "no libcuda.so.1") {
    Devices devices;
    devices.driver = driver;
    devices.problem = problem;
    return devices;
  }
  test::TemporaryFolder folder_;
};

TEST_F(Preflight, OfAMachineWithoutGpusSaysNothing) {
  EXPECT_THAT(problems(none()), IsEmpty());
  put_card("0000:00:02.0", "0x8086", "0x030000");  // another maker's
  put_card("0000:00:03.0", "0x10de", "0x020000");  // an NVIDIA network card
  put("dev/nvidiactl");                            // of a driver that found nothing
  EXPECT_THAT(problems(none()), IsEmpty());
}

TEST_F(Preflight, FindsTheFilesOfGpus) {
  put_all_files();
  put("dev/nvidia12");
  put("dev/nvidia-modeset");
  const GpuFiles files = find_gpu_files(folder_.path());
  EXPECT_THAT(files.on_bus, ElementsAre("0000:0f:00.0"));
  EXPECT_TRUE(files.driver_loaded);
  EXPECT_THAT(files.devices, ElementsAre("/dev/nvidia0", "/dev/nvidia12"));
  EXPECT_THAT(files.missing, IsEmpty());
}

TEST_F(Preflight, SaysThatADriverIsMissing) {
  if (!with_cuda) GTEST_SKIP() << "built without CUDA";
  put_card("0000:0f:00.0", "0x10de", "0x030200");
  EXPECT_THAT(problems(none()), ElementsAre(HasSubstr("0000:0f:00.0, but its driver is not loaded")));
}

TEST_F(Preflight, SaysThatGpusAreNotPassedThrough) {
  if (!with_cuda) GTEST_SKIP() << "built without CUDA";
  put_card("0000:0f:00.0", "0x10de", "0x030200");
  put("proc/driver/nvidia/version", "580");
  EXPECT_THAT(problems(none()), ElementsAre(HasSubstr("docker run --gpus all")));
}

TEST_F(Preflight, SaysWhichFileIsMissing) {
  if (!with_cuda) GTEST_SKIP() << "built without CUDA";
  put_all_files();
  std::filesystem::remove(folder_.path() / "dev/nvidia-uvm");
  EXPECT_THAT(problems(gpu_machine(1).devices), ElementsAre(HasSubstr("/dev/nvidia-uvm missing")));
}

TEST_F(Preflight, SaysWhichFileMayNotBeUsed) {
  if (!with_cuda) GTEST_SKIP() << "built without CUDA";
  if (::geteuid() == 0) GTEST_SKIP() << "root may use any";
  put_all_files();
  std::filesystem::permissions(folder_.path() / "dev/nvidia0", std::filesystem::perms::none);
  EXPECT_THAT(problems(gpu_machine(1).devices), ElementsAre(HasSubstr("may not use /dev/nvidia0")));
}

TEST_F(Preflight, SaysWhichLibraryIsMissing) {
  if (!with_cuda) GTEST_SKIP() << "built without CUDA";
  put_all_files();
  EXPECT_THAT(problems(none()), ElementsAre(HasSubstr("libcuda.so.1 is not")));
  EXPECT_THAT(problems(none(true, "the driver is too old")),
              ElementsAre("the GPUs cannot be used: the driver is too old"));
  Devices devices = gpu_machine(2).devices;
  EXPECT_THAT(problems(devices), IsEmpty());
  for (Gpu& gpu : devices.gpus) gpu.decoders = {{"h264", 0, 0, "libnvcuvid.so.1 cannot be used (…)"}};
  EXPECT_THAT(problems(devices), ElementsAre(HasSubstr("everything is decoded on the CPU"))) << "once, of two";
  devices.gpus[0].decoders.clear();
  devices.gpus[1].decoders.clear();
  devices.gpus[1].problem = "its memory is full";
  EXPECT_THAT(problems(devices), ElementsAre("GPU 1 cannot be used now: its memory is full"));
}

TEST(LimitProblems, AreLowLimitsOnly) {
  MachineLimits limits;
  limits.memory = 8ULL << 30;
  limits.descriptors = 1 << 20;
  EXPECT_THAT(limit_problems(limits), IsEmpty());
  limits.cores = 2.5;
  limits.cgroup_memory = 4ULL << 30;
  EXPECT_THAT(limit_problems(limits), IsEmpty()) << "a limit is no fault";
  limits.cores = 0.5;
  limits.cgroup_memory = 256 << 20;
  limits.descriptors = 1024;
  EXPECT_THAT(limit_problems(limits),
              ElementsAre(HasSubstr("1024 descriptors"), HasSubstr("0.5 of a core"), HasSubstr("256 MiB of memory")));
}

TEST(LimitProblems, AreSeenInTheDescription) {
  MachineLimits limits;
  limits.memory = 8ULL << 30;
  EXPECT_EQ(describe(limits), "descriptors unlimited, locked memory unlimited, memory 8192 MiB");
  limits.descriptors = 1024;
  limits.locked_memory = 8192ULL << 10;
  limits.cores = 1.5;
  limits.cgroup_memory = 1ULL << 30;
  EXPECT_EQ(
      describe(limits),
      "descriptors 1024, locked memory 8192 KiB, memory 8192 MiB; a cgroup allows 1.5 cores; a cgroup allows 1024 "
      "MiB");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
