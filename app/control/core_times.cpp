#include "app/control/core_times.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace campipe {
namespace {

// The number that `text` begins with, behind spaces; both are taken off it. Nothing: it begins with none.
std::optional<double> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t number = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [parsed, error] = std::from_chars(begin, end, number);
  if (error != std::errc()) return std::nullopt;
  text = {parsed, end};
  return static_cast<double>(number);
}

}  // namespace

// A line for each core: "cpu7 user nice system idle iowait …", in ticks.
CoreTimes parse_idle_times(std::string_view stat, double ticks_per_second, bool nice_gives_way) {
  CoreTimes times;
  while (stat.starts_with("cpu")) {  // other lines follow
    const std::string_view line = stat.substr(0, stat.find('\n'));
    stat.remove_prefix(std::min(line.size() + 1, stat.size()));
    std::string_view fields = line.substr(3);
    if (fields.starts_with(' ')) continue;  // the sum of all
    const auto core = take_number(fields);
    if (!core || !fields.starts_with(' ')) continue;
    std::array<double, 5> ticks{};
    const bool complete = std::ranges::all_of(ticks, [&](double& of) {
      const auto number = take_number(fields);
      of = number.value_or(0);
      return number.has_value();
    });
    if (!complete) continue;
    const auto& [user, nice, system, idle, disk] = ticks;
    times[static_cast<unsigned>(*core)] = (idle + disk + (nice_gives_way ? nice : 0)) / ticks_per_second;
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
  std::string_view fields(text);
  fields.remove_prefix(std::min(name_end + 2, fields.size()));
  for (int field = 3; field < 14; ++field) fields.remove_prefix(std::min(fields.find(' ') + 1, fields.size()));
  const double user = take_number(fields).value_or(0);
  const double system = take_number(fields).value_or(0);
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace campipe
