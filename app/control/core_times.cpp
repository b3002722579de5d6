#include "app/control/core_times.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

namespace campipe {

// A line for each core: "cpu7 user nice system idle iowait …", in ticks.
CoreTimes parse_idle_times(std::string_view stat, double ticks_per_second, bool nice_gives_way) {
  CoreTimes times;
  std::istringstream lines{std::string(stat)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    double user = 0;
    double nice = 0;
    double system = 0;
    double idle = 0;
    double disk = 0;
    if (!(fields >> name >> user >> nice >> system >> idle >> disk) || !name.starts_with("cpu")) continue;
    unsigned core = 0;
    const char* const end = name.data() + name.size();
    const auto [parsed, error] = std::from_chars(name.data() + 3, end, core);
    if (error != std::errc() || parsed != end) continue;  // the sum of all
    times[core] = (idle + disk + (nice_gives_way ? nice : 0)) / ticks_per_second;
  }
  return times;
}

CoreTimes read_idle_times() {
  std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  const bool is_nice = ::getpriority(PRIO_PROCESS, 0) > 0;  // then so are the workers
  return parse_idle_times(text.str(), static_cast<double>(::sysconf(_SC_CLK_TCK)), !is_nice);
}

double cpu_seconds_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  // What follows the name in parentheses, in which anything may stand: the 3rd field and so on.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace campipe
