// How busy GPUs are, by a management library of an invented machine.
#include "app/publisher/server/api/gpu_meter.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/clock.h"
#include "tests/paths.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

// The loader gives the library that is loaded already to whoever asks for its name.
bool load_fake_library() { return ::dlopen(test::fake_nvml_library, RTLD_NOW) != nullptr; }

std::vector<GpuUse> read(GpuMeter& meter) {
  const Deadline deadline = Clock::now() + 20s;
  std::vector<GpuUse> uses;
  while ((uses = meter.read()).empty() && Clock::now() < deadline) std::this_thread::sleep_for(5ms);
  return uses;
}

TEST(GpuMeter, HasTheInstancesOfAGpuThatIsDividedAndNothingWhereNothingIsKnown) {
  ASSERT_TRUE(load_fake_library());
  GpuMeter meter;
  const auto expected = nlohmann::json::parse(R"([
    {"uuid": "GPU-00000000-0000-0000-0000-000000000001", "name": "Whole",
     "utilization": 40.0, "decoder": 30.0, "memory_used_mib": 1000, "memory_mib": 2000},
    {"uuid": "MIG-00000000-0000-0000-0000-00000000000a", "name": "Divided MIG 1g.10gb",
     "utilization": null, "decoder": null, "memory_used_mib": 250, "memory_mib": 500},
    {"uuid": "MIG-00000000-0000-0000-0000-00000000000b", "name": "Divided MIG 2g.20gb",
     "utilization": null, "decoder": null, "memory_used_mib": 500, "memory_mib": 1000},
    {"uuid": "GPU-00000000-0000-0000-0000-000000000003", "name": "Unknown",
     "utilization": null, "decoder": null, "memory_used_mib": null, "memory_mib": null}])");
  EXPECT_EQ(to_json(read(meter)), expected);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
