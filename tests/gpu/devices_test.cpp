// What campipe says of GPUs, on a machine that has one.
#include "app/devices.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace campipe {
namespace {

TEST(Devices, AGpuThatTheDriverShowsIsListed) {
  if (!std::filesystem::exists("/dev/nvidia0")) GTEST_SKIP() << "this machine has no NVIDIA GPU";
  EXPECT_NE(describe_devices().find("GPU 0: "), std::string::npos) << describe_devices();
}

TEST(Devices, EveryMachineHasCoresAndHostMemory) {
  const std::string text = describe_devices();
  EXPECT_NE(text.find("CPU: "), std::string::npos) << text;
  EXPECT_NE(text.find("ring memory host: works"), std::string::npos) << text;
  EXPECT_NE(text.find("libx264: works"), std::string::npos) << text;
}

}  // namespace
}  // namespace campipe
