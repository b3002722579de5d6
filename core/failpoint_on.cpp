#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <list>
#include <string>

#include "core/failpoint.h"

namespace campipe {
namespace {

struct Point {
  std::string name;
  std::string subject;
  std::atomic<long> countdown{1};
  int signal = SIGKILL;  // 0: gpu_fault
};

int signal_of(const std::string& action) {
  if (action == "segv") return SIGSEGV;
  if (action == "stop") return SIGSTOP;
  return action == "gpu_fault" ? 0 : SIGKILL;
}

void act(const Point& point) {
  if (point.signal != 0) {
    raise(point.signal);
  } else if (gpu_fault != nullptr) {
    gpu_fault();
  } else {
    std::abort();  // the test asks the wrong program
  }
}

// NAME[@SUBJECT][:COUNT]=ACTION
void parse(const std::string& text, std::list<Point>& points) {
  const auto equals = text.rfind('=');
  if (equals == std::string::npos) return;
  Point& point = points.emplace_back();
  point.signal = signal_of(text.substr(equals + 1));
  std::string place = text.substr(0, equals);
  if (const auto colon = place.rfind(':'); colon != std::string::npos) {
    point.countdown = std::strtol(place.c_str() + colon + 1, nullptr, 10);
    place.resize(colon);
  }
  if (const auto at = place.find('@'); at != std::string::npos) {
    point.subject = place.substr(at + 1);
    place.resize(at);
  }
  point.name = place;
}

std::list<Point> parse_environment() {
  std::list<Point> points;
  const char* variable = std::getenv("CAMPIPE_FAILPOINT");
  std::string rest = variable ? variable : "";
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    parse(rest.substr(0, comma), points);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return points;
}

}  // namespace

void failpoint(std::string_view name, std::string_view subject) {
  static std::list<Point> points = parse_environment();
  for (Point& point : points) {
    if (point.name != name || (!point.subject.empty() && point.subject != subject)) continue;
    if (point.countdown.fetch_sub(1) == 1) act(point);
  }
}

}  // namespace campipe
