// Preloaded into a rig, so that a test can set the clock of its machine: what it reads as UTC is off by the ns that
// stand in $TMPDIR/clock_offset, for all its processes at once. Monotonic clocks are left alone, as they are by a real
// step.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

namespace {

constexpr std::int64_t second = 1'000'000'000;

using Offset = std::atomic<std::int64_t>;

// Before main: later a process may be permitted to open nothing.
const Offset* map_offset() {
  const char* folder = std::getenv("TMPDIR");
  if (folder == nullptr) return nullptr;
  const int fd = ::open((std::string(folder) + "/clock_offset").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(Offset)) != 0) return nullptr;
  void* const memory = ::mmap(nullptr, sizeof(Offset), PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<const Offset*>(memory);
}

const Offset* offset = nullptr;

[[gnu::constructor]] void begin() { offset = map_offset(); }

std::int64_t now(clockid_t clock) {
  timespec time{};
  ::syscall(SYS_clock_gettime, clock, &time);
  return time.tv_sec * second + time.tv_nsec + (offset == nullptr ? 0 : offset->load());
}

}  // namespace

extern "C" {
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) {
    return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  }
  const std::int64_t utc = now(clock);
  *time = {utc / second, utc % second};
  return 0;
}

int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  const std::int64_t utc = now(CLOCK_REALTIME);
  *time = {utc / second, utc % second / 1000};
  return 0;
}

time_t time(time_t* out) noexcept {
  const time_t utc = now(CLOCK_REALTIME) / second;
  if (out != nullptr) *out = utc;
  return utc;
}
}
