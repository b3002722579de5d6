// By how much this process's memory has grown at most.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>

namespace campipe::test {

// MiB that reading from a hostile server may take; without limits it is a thousand and more.
#ifdef __SANITIZE_ADDRESS__
inline constexpr long most_memory =
    150 + 500;  // it keeps what was freed, up to 256 MiB, and as much again around small pieces
#elif defined(__SANITIZE_THREAD__)
inline constexpr long most_memory = 150 + 150;  // of each byte that is used it notes who used it
#else
inline constexpr long most_memory = 150;
#endif

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
