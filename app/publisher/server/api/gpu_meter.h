// How busy this machine's GPUs are, by NVIDIA's management library, where it is there. It is a part of the driver and
// makes no use of a GPU itself; but a driver that is busy or damaged takes seconds for an answer, or gives none. So it
// is asked on a thread of its own, which is not waited for. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace campipe {

// What the driver does not report is nothing; of an instance of a GPU (MIG) that is how busy it is.
struct GpuUse {
  std::string uuid;  // "GPU-5f0c…", "MIG-5f0c…"
  std::string name;
  std::optional<double> utilization = {};  // of its cores, 0 to 1
  std::optional<double> decoder = {};
  std::optional<double> encoder = {};
  std::optional<std::uint64_t> memory_used = {};  // bytes
  std::optional<std::uint64_t> memory = {};
};

class GpuMeter {
 public:
  GpuMeter();
  ~GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  // What the library reported last; it is asked anew once a second at most. Empty without GPUs, and until it has
  // answered. For a GPU that is divided into instances, these.
  [[nodiscard]] std::vector<GpuUse> read();

 private:
  struct Reader;  // the thread has a part in it: a library that does not answer outlives this
  std::shared_ptr<Reader> reader_;
};

// As the status has it: [{"uuid", "name", "utilization", "decoder", "memory_used_mib", "memory_mib"}]; percent, MiB;
// null: not known.
nlohmann::json to_json(const std::vector<GpuUse>& gpus);

}  // namespace campipe
