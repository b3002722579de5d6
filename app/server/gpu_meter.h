// How busy this machine's GPUs are, by NVIDIA's management library, where it is there. It is a part of the driver and
// makes no use of a GPU itself; but a driver that is busy or damaged takes seconds for an answer, or gives none. So it
// is asked on a thread of its own, for which nobody waits. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

  // What the library said last; it is asked anew once a second at most. Empty without GPUs, and until it has answered.
  [[nodiscard]] std::vector<GpuUse> read();

 private:
  struct Reader;  // the thread has a part in it: a library that does not answer outlives this
  std::shared_ptr<Reader> reader_;
};

// As the status has it: [{"uuid", "name", "utilization", "decoder", "memory_used_mib", "memory_mib"}]; percent, MiB.
nlohmann::json to_json(const std::vector<GpuUse>& gpus);

}  // namespace campipe
