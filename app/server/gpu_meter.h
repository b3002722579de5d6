// How busy this machine's GPUs are, by NVIDIA's management library, where it is there. It is a part of the driver and
// makes no use of a GPU itself. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/clock.h"

namespace campipe {

struct GpuUse {
  std::string uuid;  // "GPU-5f0c…"
  std::string name;
  double utilization = 0;  // of its cores, 0 to 1
  double decoder = 0;
  double encoder = 0;
  std::uint64_t memory_used = 0;  // bytes
  std::uint64_t memory = 0;
};

class GpuMeter {
 public:
  GpuMeter();
  ~GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  // At most a second old. Empty without GPUs.
  [[nodiscard]] std::vector<GpuUse> read();

 private:
  struct Library;
  std::mutex mutex_;
  std::unique_ptr<Library> library_;  // null: not looked for yet
  std::vector<GpuUse> uses_;
  Clock::time_point next_{};
};

// As the status has it: [{"uuid", "name", "utilization", "decoder", "memory_used_mib", "memory_mib"}]; percent, MiB.
nlohmann::json to_json(const std::vector<GpuUse>& gpus);

}  // namespace campipe
