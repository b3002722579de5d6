// Whose a thread is, what it waits for, how much CPU time it and its codec's threads use, and who is marked when it
// crashes. With real threads; those that crash do it in a child process that shares the block with the test.
#include "app/control/thread_scope.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "app/rings/stop_signal.h"

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Uses the CPU for so long.
void work(std::chrono::nanoseconds time) {
  timespec used{};
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  } while (seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec) < time);
}

TEST(ThreadScope, BeatsAndSaysWhatItWaitsFor) {
  ThreadBlock block{};
  {
    ThreadScope scope(block, "test");
    const std::int64_t first = block.beat;
    EXPECT_GT(first, 0);
    const Deadline until = Clock::now() + seconds(5);
    {
      const ThreadWait outer(WaitsFor::source, until);
      EXPECT_EQ(block.waits_for, WaitsFor::source);
      EXPECT_EQ(block.wait_until, to_ns(until));
      {
        const ThreadWait inner(WaitsFor::encoder);
        EXPECT_EQ(block.waits_for, WaitsFor::encoder);
        EXPECT_EQ(block.wait_until, 0);
      }
      EXPECT_EQ(block.waits_for, WaitsFor::source);
      EXPECT_EQ(block.wait_until, to_ns(until));
    }
    EXPECT_EQ(block.waits_for, WaitsFor::nothing);
    EXPECT_EQ(block.wait_until, 0);
    EXPECT_GT(block.beat, first) << "the silence of a wait that is over does not count";
  }
  EXPECT_EQ(block.beat, 0);
}

TEST(ThreadScope, WaitsOfOthersAreNobodys) {
  const ThreadWait none(WaitsFor::disk);
  ThreadBlock block{};
  const ThreadScope scope(block, "test");
  std::thread([&block] {
    const ThreadWait wait(WaitsFor::disk);
    EXPECT_EQ(block.waits_for, WaitsFor::nothing);
  }).join();
}

TEST(ThreadScope, CountsTheCpuTimeOfItsCodecsThreads) {
  static constexpr std::chrono::nanoseconds some = milliseconds(50);
  ThreadBlock block{};
  const ThreadScope scope(block, "test");
  std::atomic<bool> over{false};
  const auto work_and_wait = [&over] {
    work(some);
    while (!over) std::this_thread::yield();
  };
  publish_cpu_times();
  const std::int64_t before = block.cpu_time;
  std::optional<std::jthread> codec;
  {
    const ThreadWait wait(WaitsFor::decoder);
    codec.emplace([&] { std::jthread(work_and_wait).join(); });  // a codec's threads may start others
  }
  const auto used = [&] {
    publish_cpu_times();
    return std::chrono::nanoseconds(block.cpu_time - before);
  };
  const Deadline deadline = Clock::now() + seconds(30);
  while (used() < some && Clock::now() < deadline) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_GE(used(), some);
  over = true;
  codec.reset();
  EXPECT_LT(used(), some) << "threads that have ended are not counted any more";
}

TEST(ThreadScope, DoesNotCountTheCpuTimeOfOtherThreads) {
  ThreadBlock block{};
  const ThreadScope scope(block, "test");
  publish_cpu_times();
  const std::int64_t before = block.cpu_time;  // of this thread, since the program began
  std::thread([&] {
    work(milliseconds(200));
    publish_cpu_times();
    EXPECT_LT(block.cpu_time - before, 100'000'000);
  }).join();
}

// On the one CPU that they have.
std::vector<std::jthread> spin_on_one_cpu(std::size_t threads) {
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (unsigned cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &cpus)) CPU_SET(cpu, &one);
  }
  std::vector<std::jthread> all;
  for (std::size_t i = 0; i < threads; ++i) {
    all.emplace_back([one](const std::stop_token& stop) {
      sched_setaffinity(0, sizeof one, &one);
      while (!stop.stop_requested()) work(milliseconds(0));
    });
  }
  return all;
}

constexpr std::int64_t silent = 2'000'000'000;  // ns

TEST(ThreadScope, CountsForHowLongCodecsThreadsWaitForACpuWhenItIsSilent) {
  const auto others = spin_on_one_cpu(3);
  ThreadBlock block{};
  const ThreadScope scope(block, "test");
  const ThreadWait wait(WaitsFor::encoder);
  const auto own = spin_on_one_cpu(1);
  for (int i = 0; i < 10; ++i) {
    block.beat = now_ns();
    publish_cpu_times();
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(block.cpu_waited, 0);
  block.beat = now_ns() - silent;
  const Deadline deadline = Clock::now() + seconds(30);
  while (block.cpu_waited < 100'000'000 && Clock::now() < deadline) {
    publish_cpu_times();
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_GE(block.cpu_waited, 100'000'000);
}

// One of them waits at any time, as each runs for a part of it only.
TEST(ThreadScope, CodecsThreadsThatWorkDoNotWait) {
  ThreadBlock block{};
  const ThreadScope scope(block, "test");
  const ThreadWait wait(WaitsFor::encoder);
  const auto own = spin_on_one_cpu(4);
  block.beat = now_ns() - silent;
  std::int64_t last = now_ns();
  publish_cpu_times();
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    const std::int64_t used_before = block.cpu_time;
    const std::int64_t waited_before = block.cpu_waited;
    const std::int64_t begin = now_ns();
    publish_cpu_times();
    const std::int64_t idle = now_ns() - last - (block.cpu_time - used_before);
    last = begin;
    EXPECT_LE(block.cpu_waited - waited_before, std::max<std::int64_t>(idle, 0));
  }
}

// In memory that is shared with the child process that crashes.
class Crash : public testing::Test {
 protected:
  Crash() : memory_(mmap(nullptr, sizeof(ThreadBlock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    block_ = new (memory_) ThreadBlock{};
  }
  ~Crash() override { munmap(memory_, sizeof(ThreadBlock)); }

  // The signal that the block is marked with when the child has crashed.
  int marked_by(const std::function<void()>& crash) {
    const pid_t child = fork();
    if (child == 0) {
      install_crash_handler();
      std::thread([&] {
        const ThreadScope scope(*block_, "test");
        crash();
      }).join();
      std::_Exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it did not crash";
    return static_cast<int>(block_->fault.load());
  }

  void* memory_;
  ThreadBlock* block_ = nullptr;
};

// The result is needed behind the call, so that each call has a frame of its own.
int overflow(int depth) {
  volatile char frame[1024];
  if (depth < 0) return 0;
  frame[0] = static_cast<char>(depth);
  return overflow(depth % 2 + 1) + frame[0];
}

TEST_F(Crash, IsMarked) {
  EXPECT_EQ(marked_by([] { raise(SIGSEGV); }), SIGSEGV);
}

TEST_F(Crash, OfAThreadThatItStartedIsMarked) {
  EXPECT_EQ(marked_by([] { std::thread([] { std::abort(); }).join(); }), SIGABRT);
}

TEST_F(Crash, OfAThreadThatThatOneStartedIsMarked) {
  EXPECT_EQ(marked_by([] { std::thread([] { std::thread([] { raise(SIGBUS); }).join(); }).join(); }), SIGBUS);
}

TEST_F(Crash, ByAnOverflowOfTheStackIsMarked) {
  EXPECT_EQ(marked_by([] { static_cast<void>(overflow(0)); }), SIGSEGV);
}

TEST_F(Crash, ByAnOverflowOfTheStackOfAThreadThatItStartedIsMarked) {
  EXPECT_EQ(marked_by([] { std::thread([] { static_cast<void>(overflow(0)); }).join(); }), SIGSEGV);
}

TEST_F(Crash, OfAThreadOfNobodyMarksNobody) {
  const pid_t child = fork();
  if (child == 0) {
    install_crash_handler();
    std::thread([&] { const ThreadScope scope(*block_, "test"); }).join();
    raise(SIGSEGV);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(block_->fault, 0U);
}

TEST(StopSignal, GivesUpAtOnceWhereNobodyWantsWhatIsDecoded) {
  StopSignal stop;
  EXPECT_FALSE(stop.stopped() || stop.given_up());
  stop.stop();
  EXPECT_TRUE(stop.stopped());
  stop.give_up();
  EXPECT_TRUE(stop.stopped() && stop.given_up());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
