// What campipe says of GPUs, on a machine that has one. The program does it in processes of its own, which are this
// same file: started as `campipe probe` and `campipe probe-peer`.
#include "app/placement/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/placement/plan.h"
#include "core/clock.h"
#include "core/gpu.h"

namespace campipe {
namespace {

using testing::HasSubstr;

const Devices& devices() {
  static const Devices found = probe_devices(std::chrono::seconds(60));
  return found;
}

TEST(Devices, EveryMachineHasCoresAndHostMemory) {
  const std::string text = describe_devices(devices());
  EXPECT_THAT(text, HasSubstr("CPU: "));
  EXPECT_THAT(text, HasSubstr("ring memory host: works"));
  EXPECT_THAT(text, HasSubstr("libx264: works"));
}

TEST(Devices, AMachineWithoutADriverIsTold) {
  const auto begin = Clock::now();
  const Devices found = probe_devices(std::chrono::seconds(60));
  if (found.driver) GTEST_SKIP() << "this machine has an NVIDIA driver";
  EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(20));
  EXPECT_FALSE(found.problem.empty());
  EXPECT_THAT(describe_devices(found), HasSubstr("GPUs: none (" + found.problem + ")"));
}

class Gpus : public testing::Test {
 protected:
  void SetUp() override {
    if (!devices().driver) GTEST_SKIP() << devices().problem;
    ASSERT_EQ(devices().problem, "");
    ASSERT_FALSE(devices().gpus.empty());
  }
};

TEST_F(Gpus, AreKnownByNameMemoryAndPlace) {
  for (const Gpu& gpu : devices().gpus) {
    EXPECT_TRUE(on_gpu(gpu.device));
    EXPECT_EQ(gpu.problem, "");
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_GT(gpu.memory_mib, 1000U);
    EXPECT_FALSE(gpu.cpus.empty());
    EXPECT_TRUE(gpu.unified_addressing);
    EXPECT_FALSE(gpu.encoders.empty());
  }
}

TEST_F(Gpus, DecodeH264) {
  for (const Gpu& gpu : devices().gpus) {
    ASSERT_FALSE(gpu.decoders.empty());
    EXPECT_EQ(gpu.decoders[0].codec, "h264");
    EXPECT_EQ(gpu.decoders[0].problem, "");
    EXPECT_GE(gpu.decoders[0].max_width, 4096U);
  }
}

TEST_F(Gpus, ShareMemoryWithAnotherProcessOnTheSameGpu) {
  const std::size_t count = devices().gpus.size();
  ASSERT_EQ(devices().pairs.size(), count * count);
  for (const Gpu& gpu : devices().gpus) {
    EXPECT_EQ(sharing_problem(devices(), gpu.device, gpu.device, MemoryKind::cuda_vmm), "");
    EXPECT_EQ(sharing_problem(devices(), gpu.device, gpu.device, MemoryKind::cuda_legacy), "");
    EXPECT_EQ(best_sharing(devices(), gpu.device, gpu.device), MemoryKind::cuda_vmm);
  }
  for (const GpuPair& pair : devices().pairs) {
    EXPECT_EQ(pair.sharing.at(MemoryKind::host), "");
    EXPECT_EQ(pair.sharing.count(MemoryKind::cuda_fabric), 1U);
    EXPECT_FALSE(pair.link.empty());
    if (!pair.peer_access) continue;
    EXPECT_EQ(pair.sharing.at(MemoryKind::cuda_vmm), "") << pair.link;
  }
}

TEST_F(Gpus, AreNotWaitedForForEver) {
  const auto begin = Clock::now();
  const Devices late = probe_devices(std::chrono::milliseconds(30));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(3));
  EXPECT_TRUE(late.gpus.empty());
  EXPECT_THAT(late.problem, HasSubstr("did not end within 0.03 s"));
}

TEST_F(Gpus, AreTheSameForProgramsAndForPeople) {
  const auto told = nlohmann::json::parse(describe_devices_json(devices()));
  EXPECT_EQ(told.at("gpus").size(), devices().gpus.size());
  std::cout << describe_devices(devices());
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) {
  if constexpr (campipe::with_cuda) {
    if (argc > 1 && std::strcmp(argv[1], "probe") == 0) return campipe::run_probe();
    if (argc > 1 && std::strcmp(argv[1], "probe-peer") == 0) return campipe::run_probe_peer();
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
