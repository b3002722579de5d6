// Reads how much memory processes use, on a thread of its own: the kernel makes a reader of smaps_rollup wait for a
// process whose driver holds its address space. Such a thread is left behind; the end of this process ends it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <vector>

namespace campipe {

class MemorySampler {
 public:
  MemorySampler();   // throws std::system_error where there can be no thread
  ~MemorySampler();  // does not wait
  MemorySampler(const MemorySampler&) = delete;
  MemorySampler& operator=(const MemorySampler&) = delete;

  // Does nothing while it is still busy with the request before; what came of that, and was not taken, is forgotten.
  void request(std::vector<pid_t> pids);
  [[nodiscard]] bool busy() const;
  // What has come out since it was asked last: MiB, in the order of the request; 0 for a process that is gone.
  std::optional<std::vector<double>> take();

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace campipe
