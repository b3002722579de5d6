#include "tests/sim/virtual_time.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "core/clock.h"
#include "ipc/futex.h"
#include "tests/sim/world.h"

namespace campipe {
namespace sim {
namespace {

World* world = nullptr;
std::uint64_t looks = 0;  // at the clock since time passed

constexpr std::uint64_t most_looks = 5'000'000;
constexpr auto utc_at_start = std::chrono::seconds(1'900'000'000);

// Nothing would end the wait, so that this is the end of the run.
[[noreturn]] void refuse(const char* what) {
  std::fprintf(stderr, "simulation: %s, %.6f s after the beginning, while no time can pass\n", what,
               world->seconds_run());
  for (const std::string& line : world->traced()) std::fprintf(stderr, "%s\n", line.c_str());
  std::abort();
}

}  // namespace

World* current_world() { return world; }

void show_world(World* shown) {
  world = shown;
  looks = 0;
}

void time_has_passed() { looks = 0; }

}  // namespace sim

Clock::time_point Clock::now() noexcept {
  if (sim::world == nullptr) return std::chrono::steady_clock::now();
  if (++sim::looks > sim::most_looks) sim::refuse("something waits for time to pass by looking at the clock");
  return sim::world->now();
}

std::chrono::system_clock::time_point utc_now() noexcept {
  if (sim::world == nullptr) return std::chrono::system_clock::now();
  return std::chrono::system_clock::time_point(sim::world->now().time_since_epoch() + sim::utc_at_start);
}

// In a program that simulates there is one process, so that nobody can be woken.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Deadline deadline) {
  if (word.load() != expected || Clock::now() >= deadline) return;
  if (sim::world != nullptr) sim::refuse("something waits for a word of shared memory");
}

void futex_wake_all(const std::atomic<std::uint32_t>&) {}

}  // namespace campipe

// What std::this_thread::sleep_for() calls. The C library's names.
extern "C" int nanosleep(const timespec* request, timespec* remaining) {
  if (campipe::sim::current_world() != nullptr) campipe::sim::refuse("something sleeps");
  return ::clock_nanosleep(CLOCK_REALTIME, 0, request, remaining);
}
