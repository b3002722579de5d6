// By how much this process's memory has grown at most.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>

namespace campipe::test {

class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5\n";  // the peak is what it is now
    before_ = kib("VmHWM:");
  }
  [[nodiscard]] long mib() const { return (kib("VmHWM:") - before_) / 1024; }

 private:
  static long kib(const std::string& name) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      long value = 0;
      if (word == name && status >> value) return value;
    }
    return 0;
  }
  long before_ = 0;
};

}  // namespace campipe::test
