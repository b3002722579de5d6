// What processes and threads of others do, as the kernel says.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace campipe::test {

// The state in `folder`/stat, /proc/PID or /proc/PID/task/TID: 'R', 'S', 'T', 'Z', … (proc(5)). 'X': it is gone.
inline char state_in(const std::filesystem::path& folder) {
  std::string stat;
  std::getline(std::ifstream(folder / "stat"), stat);
  const auto end = stat.rfind(") ");
  return end == std::string::npos || stat.size() < end + 3 ? 'X' : stat[end + 2];
}

}  // namespace campipe::test
