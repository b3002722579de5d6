#include "core/time_zone.h"

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string_view>

#include "core/printable.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

// "CET-1CEST,M3.5.0,M10.5.0/3", "<+0330>-3:30" (POSIX).
bool is_rule(const std::string& zone) {
  static const std::regex rule(
      R"((<[A-Za-z0-9+-]{3,16}>|[A-Za-z]{3,16})[+-]?[0-9]{1,3}(:[0-9]{2}){0,2}([A-Za-z<,].*)?)");
  return std::regex_match(zone, rule);
}

bool is_utc(std::string_view zone) { return zone == "UTC" || zone == "GMT" || zone == "UTC0" || zone == "Etc/UTC"; }

}  // namespace

std::string time_zone_problem() {
  constexpr std::size_t longest = 256;
  const char* given = std::getenv("TZ");
  std::string zone = given != nullptr ? given : "";
  if (zone.starts_with(':')) zone.erase(0, 1);
  if (zone.empty() || is_utc(zone)) return {};
  if (zone.size() <= longest && is_rule(zone)) return {};
  const char* folder = std::getenv("TZDIR");
  const fs::path file = fs::path(folder != nullptr ? folder : "/usr/share/zoneinfo") / zone;
  std::error_code ignored;  // then it is none
  if (zone.size() <= longest && fs::is_regular_file(file, ignored)) return {};
  return "the time zone '" + printable(zone.substr(0, longest)) +
         "' of TZ is not known (is tzdata installed?): local times are UTC";
}

}  // namespace campipe
