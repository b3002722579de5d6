#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/failpoint.h"
#include "core/gpu.h"
#include "core/pretended_gpus.h"

namespace campipe {
namespace {

using Action = void (*)();

// The result is needed behind the call, so that each call has a frame of its own.
int overflow(int depth) {
  std::array<volatile char, 1024> frame{};
  if (depth < 0) return 0;
  frame[0] = static_cast<char>(depth);
  return overflow(depth % 2 + 1) + frame[0];
}

void burn(std::chrono::milliseconds time) {
  const auto used = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  const auto end = used() + time;
  while (used() < end) continue;
}

// A thread that nobody takes for hung, and that needs little of a CPU to be one, also where many want it.
void work_while(const std::function<bool()>& condition) {
  while (condition()) {
    burn(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void work() {
  const auto end = Clock::now() + std::chrono::seconds(12);
  work_while([end] { return Clock::now() < end; });
}

void hang() {
  for (;;) ::pause();
}

[[noreturn]] void throw_error() { throw std::runtime_error("a failpoint threw this"); }

[[noreturn]] void lack_gpu_memory() {
  throw GpuError("a failpoint: the GPU has no memory", GpuError::Kind::out_of_memory);
}

[[noreturn]] void lose_gpu() { throw GpuError("a failpoint: the GPU is lost", GpuError::Kind::broken); }

void fault_gpu() {
  if (gpu_fault == nullptr) std::abort();  // the test asks the wrong program
  gpu_fault();
}

const std::map<std::string, Action> actions{
    {"kill", [] { raise(SIGKILL); }},
    {"segv", [] { raise(SIGSEGV); }},
    {"stop", [] { raise(SIGSTOP); }},
    {"overflow", [] { static_cast<void>(overflow(0)); }},
    {"hang", hang},
    {"work", work},
    {"gpu_fault", fault_gpu},
    {"throw", throw_error},
    {"gpu_full", lack_gpu_memory},
    {"gpu_lost", lose_gpu},
};

struct Point {
  std::string name;
  std::string subject;
  std::atomic<long> countdown{1};
  bool goes_on = false;  // each later time, too
  std::function<void()> act;
};

// Throws std::out_of_range for what no failpoint does.
std::function<void()> action_of(const std::string& text) {
  constexpr std::string_view wait = "wait";
  if (const auto slash = text.find('/'); slash != std::string::npos) {
    constexpr std::string_view once = "_once";
    const std::string file = text.substr(slash);
    std::string action = text.substr(0, slash);
    const bool is_once = action.ends_with(once);
    if (is_once) action.resize(action.size() - once.size());
    if (action == "hold") {
      return [file] {
        std::error_code none;
        work_while([&] { return std::filesystem::exists(file, none); });
      };
    }
    return [act = action_of(action), file, is_once] {
      std::error_code none;
      if (is_once ? std::filesystem::remove(file, none) : std::filesystem::exists(file, none)) act();
    };
  }
  constexpr std::string_view burns = "burn";
  if (text.starts_with(burns)) {
    const std::chrono::milliseconds time(std::strtol(text.c_str() + burns.size(), nullptr, 10));
    return [time] { burn(time); };
  }
  if (!text.starts_with(wait)) return actions.at(text);
  const std::chrono::milliseconds unit = text.ends_with("ms") ? std::chrono::milliseconds(1) : std::chrono::seconds(1);
  return [time = std::strtol(text.c_str() + wait.size(), nullptr, 10) * unit] { std::this_thread::sleep_for(time); };
}

// NAME[@SUBJECT][:COUNT[+]]=ACTION
void parse(const std::string& text, std::list<Point>& points) {
  const auto equals = text.rfind('=');
  if (equals == std::string::npos) return;
  Point& point = points.emplace_back();
  point.act = action_of(text.substr(equals + 1));
  std::string place = text.substr(0, equals);
  if (const auto colon = place.rfind(':'); colon != std::string::npos) {
    point.countdown = std::strtol(place.c_str() + colon + 1, nullptr, 10);
    point.goes_on = place.ends_with('+');
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

unsigned pretended_gpus() {
  static const unsigned number = [] {
    const char* variable = std::getenv("CAMPIPE_PRETENDED_GPUS");
    return variable != nullptr ? static_cast<unsigned>(std::strtoul(variable, nullptr, 10)) : 0U;
  }();
  return number;
}

bool are_pretended_integrated() {
  const char* variable = std::getenv("CAMPIPE_PRETENDED_GPUS");
  return variable != nullptr && std::string_view(variable).ends_with(" integrated");
}

void failpoint(std::string_view name, std::string_view subject) {
  static std::list<Point> points = parse_environment();
  for (Point& point : points) {
    if (point.name != name || (!point.subject.empty() && point.subject != subject)) continue;
    const long left = point.countdown.fetch_sub(1);
    if (left == 1 || (point.goes_on && left < 1)) point.act();
  }
}

}  // namespace campipe
