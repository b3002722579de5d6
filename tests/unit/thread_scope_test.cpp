// Whose a thread is, what it waits for, how much CPU time it and its codec's threads use, and who is marked when it
// crashes. With real threads; those that crash do it in a child process that shares the block with the test.
#include "app/thread_scope.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <thread>

namespace campipe {
namespace {

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

}  // namespace
}  // namespace campipe
