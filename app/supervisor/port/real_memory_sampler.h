// Reads how much memory processes use, on a thread of its own: the kernel makes a reader of smaps_rollup wait for a
// process whose driver holds its address space. Such a thread is left behind; the end of this process ends it.
#pragma once

#include <memory>

#include "app/supervisor/port/memory_sampler.h"

namespace campipe {

class RealMemorySampler final : public MemorySampler {
 public:
  RealMemorySampler();            // throws std::system_error where there can be no thread
  ~RealMemorySampler() override;  // does not wait
  RealMemorySampler(const RealMemorySampler&) = delete;
  RealMemorySampler& operator=(const RealMemorySampler&) = delete;

  void request(std::vector<pid_t> pids) override;
  [[nodiscard]] bool busy() const override;
  std::optional<std::vector<double>> take() override;

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace campipe
