// Reads how much memory processes use, which may take long: a request, and later its answer.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

namespace campipe {

class MemorySampler {
 public:
  MemorySampler() = default;
  MemorySampler(const MemorySampler&) = delete;
  MemorySampler& operator=(const MemorySampler&) = delete;
  virtual ~MemorySampler() = default;

  // Does nothing while it is busy with the request before. Forgets an answer that was not taken.
  virtual void request(std::vector<pid_t> pids) = 0;
  [[nodiscard]] virtual bool busy() const = 0;
  // The answer, once: MiB, in the order of the request; 0 for a process that is gone.
  virtual std::optional<std::vector<double>> take() = 0;
};

}  // namespace campipe
