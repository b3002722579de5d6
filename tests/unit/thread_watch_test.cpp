// When a silent thread is taken for hung: by a clock of the test's own, so that ten minutes pass at once.
#include "app/supervisor/rig/thread_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "app/control/thread_times.h"
#include "core/clock.h"

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::int64_t start = 1'000'000'000'000;
constexpr nanoseconds tick = milliseconds(50);

// A thread that beats at `start` and then is silent. `signs`: at a time since then. When it was found to hang, within
// `length`.
std::optional<nanoseconds> found_after(nanoseconds length,
                                       const std::function<void(nanoseconds at, ThreadWatch::Signs&)>& signs) {
  ThreadWatch watch(thread_hangs);
  for (nanoseconds at{0}; at <= length; at += tick) {
    ThreadWatch::Signs now{.beat = start};
    signs(at, now);
    if (watch.hung(now, start + at.count())) return at;
  }
  return std::nullopt;
}

TEST(ThreadWatch, FindsWhatSleeps) {
  const auto found = found_after(minutes(1), [](nanoseconds, ThreadWatch::Signs&) {});
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, seconds(10));
}

TEST(ThreadWatch, LeavesAloneWhatBeats) {
  const auto beats = [](nanoseconds at, ThreadWatch::Signs& signs) {
    signs.beat = start + at / seconds(9) * 9'000'000'000;
  };
  EXPECT_FALSE(found_after(minutes(20), beats));
}

TEST(ThreadWatch, FindsWhatClaimsToBeatInTheFuture) {
  for (const std::int64_t later : {std::int64_t{60'000'000'000}, INT64_MAX - start}) {
    const auto found = found_after(minutes(1), [&](nanoseconds at, ThreadWatch::Signs& signs) {
      if (at >= seconds(1)) signs.beat = start + later;
    });
    ASSERT_TRUE(found) << later;
    EXPECT_LE(*found, seconds(later < 100'000'000'000 ? 10 : 11));
  }
}

TEST(ThreadWatch, LeavesAloneWhereNoThreadRuns) {
  EXPECT_FALSE(found_after(minutes(20), [](nanoseconds, ThreadWatch::Signs& signs) { signs.beat = 0; }));
}

// Stalls of every length around every time-out: a source is silent, its thread says until when it may be, and beats
// when the source goes on or is given up.
TEST(ThreadWatch, SilenceOfASourceIsNoHang) {
  constexpr auto lookup = seconds(60);
  for (const nanoseconds read_timeout :
       {nanoseconds(milliseconds(100)), nanoseconds(seconds(1)), nanoseconds(seconds(10)), nanoseconds(seconds(30)),
        nanoseconds(minutes(10))}) {
    for (nanoseconds stall = milliseconds(100); stall <= minutes(10); stall += stall / 4) {
      const nanoseconds silent = std::min(stall, read_timeout);
      const auto found = found_after(stall + seconds(5), [&](nanoseconds at, ThreadWatch::Signs& signs) {
        if (at < silent) {
          signs.wait_until = start + (read_timeout + lookup).count();
        } else {
          signs.beat = start + at.count();
        }
      });
      EXPECT_FALSE(found) << "read_timeout " << read_timeout.count() << ", stall " << stall.count();
    }
  }
}

TEST(ThreadWatch, AFileMayBeSilentForEver) {
  const auto waits = [](nanoseconds, ThreadWatch::Signs& signs) { signs.wait_until = INT64_MAX; };
  EXPECT_FALSE(found_after(minutes(60), waits));
}

TEST(ThreadWatch, FindsWhatWaitsLongerThanItSaid) {
  const auto found = found_after(minutes(2), [](nanoseconds, ThreadWatch::Signs& signs) {
    signs.wait_until = start + nanoseconds(seconds(30)).count();
  });
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, seconds(40));
}

// As an encoder on a machine that has no time for it: one part in fifty of a core.
TEST(ThreadWatch, WhatUsesALittleCpuTimeIsNoHang) {
  const auto works = [](nanoseconds at, ThreadWatch::Signs& signs) {
    signs.cpu_time = 5'000'000'000 + at.count() / 50;
  };
  EXPECT_FALSE(found_after(minutes(9), works));
}

TEST(ThreadWatch, FindsWhatWorksAndGetsNowhere) {
  const auto spins = [](nanoseconds at, ThreadWatch::Signs& signs) { signs.cpu_time = at.count(); };
  const auto found = found_after(minutes(2), spins);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, seconds(60));
  const auto waits = found_after(minutes(2), [&](nanoseconds at, ThreadWatch::Signs& signs) {
    spins(at, signs);
    signs.wait_until = INT64_MAX;  // no source needs a core for a minute
  });
  EXPECT_EQ(waits, found);
}

// Sixty seconds of CPU time are four of a pool of sixteen threads.
TEST(ThreadWatch, ManyThreadsMayUseMuchCpuTime) {
  const auto works = [](nanoseconds at, ThreadWatch::Signs& signs) { signs.cpu_time = at.count() * 16; };
  EXPECT_EQ(found_after(minutes(2), works), seconds(60));
}

TEST(ThreadWatch, FindsWhatLooksAgainAndAgainForNothing) {
  const auto polls = [](nanoseconds at, ThreadWatch::Signs& signs) { signs.cpu_time = at.count() / 500; };
  EXPECT_EQ(found_after(minutes(20), polls), minutes(10));
}

TEST(ThreadWatch, FindsWhatStopsWorking) {
  const auto found = found_after(minutes(2), [](nanoseconds at, ThreadWatch::Signs& signs) {
    signs.cpu_time = std::min<nanoseconds>(at, seconds(20)).count();
  });
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, seconds(30));
}

// The CPU time before the last heartbeat proves nothing.
TEST(ThreadWatch, CountsCpuTimeSinceTheHeartbeat) {
  ThreadWatch watch(thread_hangs);
  const std::int64_t hour = 3'600'000'000'000;
  EXPECT_FALSE(watch.hung({.beat = start, .cpu_time = 0}, start));
  EXPECT_FALSE(watch.hung({.beat = start + hour, .cpu_time = hour}, start + hour));
  EXPECT_FALSE(watch.hung({.beat = start + hour, .cpu_time = hour}, start + hour + 9'000'000'000));
  EXPECT_TRUE(watch.hung({.beat = start + hour, .cpu_time = hour}, start + hour + 10'000'000'000));
}

// The memory belongs to a process that may have been taken over.
TEST(ThreadWatch, TakesWhateverStandsThere) {
  ThreadWatch watch(thread_hangs);
  for (const std::int64_t value : {INT64_MIN, std::int64_t{-1}, std::int64_t{1}, INT64_MAX}) {
    for (const std::int64_t other : {INT64_MAX, INT64_MIN, std::int64_t{7}}) {
      static_cast<void>(watch.hung({value, other, other}, start));
      static_cast<void>(watch.hung({value, value, value}, start));
      static_cast<void>(watch.hung({start, other, value}, start));
    }
  }
}

// On a busy machine, for as long as that takes: neither the main thread of a process nor a camera's.
TEST(ThreadWatch, WaitingForACpuIsNoSilence) {
  for (const HangLimits& limits : {process_hangs, thread_hangs}) {
    ThreadWatch watch(limits);
    const auto waits_until = nanoseconds(minutes(20)).count();
    std::optional<std::int64_t> found;
    for (std::int64_t at = 0; !found && at < 2 * waits_until; at += tick.count()) {
      const ThreadWatch::Signs signs{.beat = start, .cpu_waited = 7'000'000'000 + std::min(at, waits_until)};
      if (watch.hung(signs, start + at)) found = at;
    }
    ASSERT_TRUE(found) << "it has a CPU now, and sleeps";
    EXPECT_EQ(*found - waits_until, limits.idle.count());
  }
}

TEST(ThreadWatch, WaitingForACpuBehindANamedWaitIsNoSilence) {
  const nanoseconds named = seconds(30);
  const auto waits = [&](nanoseconds at, ThreadWatch::Signs& signs) {
    signs.wait_until = start + named.count();
    signs.cpu_waited = std::max(at - named, nanoseconds(0)).count();
  };
  EXPECT_FALSE(found_after(minutes(20), waits));
}

// It shares a core with another: each has half of the time.
TEST(ThreadWatch, FindsWhatWorksAndGetsNowhereOnABusyMachine) {
  const auto found = found_after(minutes(5), [](nanoseconds at, ThreadWatch::Signs& signs) {
    signs.cpu_time = signs.cpu_waited = at.count() / 2;
  });
  EXPECT_EQ(found, minutes(2));
}

// No more than the time that has passed is believed.
TEST(ThreadWatch, OneThatClaimsToHaveWaitedForEverIsFound) {
  const auto claims = [](nanoseconds at, ThreadWatch::Signs& signs) {
    signs.cpu_waited = at > seconds(5) ? INT64_MAX : 0;
  };
  EXPECT_EQ(found_after(minutes(1), claims), seconds(10) + tick);
}

// As the kernel tells it: a wait counts once it is over, and only the state tells of one that goes on.
TEST(CpuWait, CountsAWaitThatGoesOnAndOnce) {
  CpuWait wait;
  const std::int64_t second = 1'000'000'000;
  EXPECT_EQ(wait.look({.used = 5 * second, .waited = 3 * second, .runnable = true}, start), 0);
  EXPECT_EQ(wait.look({.used = 5 * second, .waited = 3 * second, .runnable = true}, start + second), second);
  EXPECT_EQ(wait.look({.used = 5 * second, .waited = 3 * second, .runnable = true}, start + 3 * second), 2 * second);
  EXPECT_EQ(wait.look({.used = 5 * second, .waited = 6 * second, .runnable = false}, start + 3 * second + 5), 5);
  EXPECT_EQ(wait.look({.used = 5 * second, .waited = 6 * second, .runnable = false}, start + 9 * second), 0);
}

TEST(CpuWait, RunningIsNoWait) {
  CpuWait wait;
  wait.look({.used = 0, .runnable = true}, start);
  EXPECT_EQ(wait.look({.used = 900, .waited = 0, .runnable = true}, start + 1000), 100);
  EXPECT_EQ(wait.look({.used = 1900, .waited = 0, .runnable = true}, start + 2000), 0);
}

TEST(ThreadTimes, AreReadBehindAnyName) {
  const auto times = parse_thread_times("17 4 2\n", "12 (a) S (b) R 1 12 12 0");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->used, 17);
  EXPECT_EQ(times->waited, 4);
  EXPECT_TRUE(times->runnable);
  EXPECT_FALSE(parse_thread_times("17 4 2\n", "12 (R) S 1")->runnable);
  EXPECT_FALSE(parse_thread_times("", "12 (R) S 1"));
  EXPECT_FALSE(parse_thread_times("17 4 2\n", ""));
}

// A process that waits, and does it with another thread that computes.
TEST(ThreadTimes, FindTheOneThatRuns) {
  for (const bool computes : {false, true}) {
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      std::thread other([&] {
        char one = 1;
        static_cast<void>(::write(ready[1], &one, 1) > 0);
        std::atomic<int> sum = 0;
        while (computes) ++sum;
        ::pause();
      });
      other.join();
      ::_exit(0);
    }
    char one = 0;
    EXPECT_EQ(::read(ready[0], &one, 1), 1);
    const Deadline deadline = Clock::now() + std::chrono::seconds(20);
    while (any_thread_runs(child) != computes && Clock::now() < deadline) std::this_thread::yield();
    EXPECT_EQ(any_thread_runs(child), computes);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_FALSE(any_thread_runs(child));
    ::close(ready[0]);
    ::close(ready[1]);
  }
}

TEST(ThreadWatch, AMainThreadIsFoundInASecond) {
  ThreadWatch watch(process_hangs);
  EXPECT_FALSE(watch.hung({.beat = start}, start));
  EXPECT_FALSE(watch.hung({.beat = start}, start + 990'000'000));
  EXPECT_TRUE(watch.hung({.beat = start}, start + 1'000'000'000));
}

TEST(ThreadWatch, AMainThreadMayWorkForSomeSeconds) {
  ThreadWatch watch(process_hangs);
  for (std::int64_t at = 0; at < 10'000'000'000; at += tick.count()) {
    ASSERT_FALSE(watch.hung({.beat = start, .cpu_time = at / 10}, start + at)) << at;
  }
  EXPECT_TRUE(watch.hung({.beat = start, .cpu_time = 1'000'000'000}, start + 10'000'000'000));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
