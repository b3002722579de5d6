// A peer (ring_peer.cpp, link_peer.cpp) as the test that started it sees it: its channel, its journal, its death. It
// never outlives this object.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "ipc/channel.h"
#include "tests/faults/ring_peer.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {

class Peer {
 public:
  // `failpoint`: as CAMPIPE_FAILPOINT, or empty.
  Peer(std::string program, const std::vector<std::string>& arguments, const std::string& failpoint = {})
      : program_(std::move(program)),
        journal_memory_(create_shared_memory("journal", sizeof(Journal))),
        mapping_(journal_memory_.get(), Mapping::Access::read_write) {
    auto [ours, theirs] = make_channel_pair();
    channel_ = Channel(std::move(ours));
    spawn(arguments, failpoint, theirs.get());
    pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (!pidfd_) throw system_error("cannot open a pidfd", errno);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    if (!status_) kill();
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] Channel& channel() { return channel_; }
  [[nodiscard]] const Journal& journal() const {
    return *std::launder(reinterpret_cast<const Journal*>(mapping_.bytes().data()));
  }
  [[nodiscard]] std::uint64_t delivered() const { return journal().count.load(); }

  // Waits until the process is gone; the kernel still knows what it has waited for.
  [[nodiscard]] bool ends(Clock::duration time = seconds(60)) const {
    pollfd readable{pidfd_.get(), POLLIN, 0};
    return ::poll(&readable, 1, static_cast<int>(std::chrono::duration_cast<milliseconds>(time).count())) == 1;
  }
  // Waits until the process is gone, and reaps it. Returns when that was seen, in monotonic ns; nothing: it still runs.
  std::optional<std::int64_t> wait_gone(Clock::duration time = seconds(60)) {
    if (!ends(time)) return std::nullopt;
    const std::int64_t seen = now_ns();
    reap();
    return seen;
  }
  // SIGKILL, whatever it is doing; returns as wait_gone().
  std::int64_t kill() {
    ::kill(pid_, SIGKILL);
    if (const auto seen = wait_gone()) return *seen;
    reap();
    return now_ns();
  }
  // SIGSTOP, SIGCONT.
  void signal(int number) const { ::kill(pid_, number); }
  [[nodiscard]] bool was_killed() const { return status_ && WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL; }
  [[nodiscard]] bool ended_well() const { return status_ && WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0; }

  // The next message, waiting for it.
  std::optional<Message> receive() {
    const Deadline deadline = after(seconds(60));
    while (Clock::now() < deadline && !channel_.closed()) {
      if (auto message = channel_.receive()) return message;
      pollfd readable{channel_.fd(), POLLIN, 0};
      ::poll(&readable, 1, 100);
    }
    return std::nullopt;
  }

 private:
  void reap() {
    int status = 0;
    if (::waitpid(pid_, &status, 0) == pid_) status_ = status;
  }

  void spawn(const std::vector<std::string>& arguments, const std::string& failpoint, int their_socket) {
    // Copies above the numbers that they get in the child, so that no dup2 there hits another's source.
    const UniqueFd socket(::fcntl(their_socket, F_DUPFD_CLOEXEC, 100));
    const UniqueFd journal(::fcntl(journal_memory_.get(), F_DUPFD_CLOEXEC, 100));
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, socket.get(), channel_fd);
    ::posix_spawn_file_actions_adddup2(&actions, journal.get(), journal_fd);
    std::vector<std::string> words{"ring_peer", std::to_string(::getpid())};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> settings;
    for (char** each = environ; *each != nullptr; ++each) {
      if (std::strncmp(*each, "CAMPIPE_FAILPOINT=", 18) != 0) settings.emplace_back(*each);
    }
    if (!failpoint.empty()) settings.push_back("CAMPIPE_FAILPOINT=" + failpoint);
    const int error =
        ::posix_spawn(&pid_, program_.c_str(), &actions, nullptr, pointers(words).data(), pointers(settings).data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw system_error("cannot start " + program_, error);
  }

  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    for (std::string& word : words) result.push_back(word.data());
    result.push_back(nullptr);
    return result;
  }

  std::string program_;
  UniqueFd journal_memory_;
  Mapping mapping_;
  Channel channel_;
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::optional<int> status_;
};

// Survivors must go on within this, from when the death was seen; with what they and the test wait for a CPU.
inline constexpr std::chrono::nanoseconds go_on = milliseconds(250);

inline std::int64_t go_on_ns(const CpuWaits& waits) { return (go_on + waits.so_far()).count(); }

// Of the test and those peers.
inline CpuWaits waits_of(std::initializer_list<const Peer*> peers) {
  std::vector<pid_t> processes{::getpid()};
  for (const Peer* peer : peers) processes.push_back(peer->pid());
  return CpuWaits(std::move(processes));
}

// The longest time after `since` in which nothing was delivered, up to the newest delivery.
inline std::int64_t longest_gap(const Journal& journal, std::int64_t since) {
  std::int64_t longest = 0;
  std::int64_t previous = since;
  for (std::uint64_t at = 0; at < journal.count.load(); ++at) {
    const std::int64_t time = journal.entry[at].at;
    if (time <= since) continue;
    longest = std::max(longest, time - previous);
    previous = time;
  }
  return longest;
}

inline std::uint64_t first_number(const Journal& journal) { return journal.count == 0 ? 0 : journal.entry[0].number; }
inline std::uint64_t last_number(const Journal& journal) {
  const std::uint64_t count = journal.count;
  return count == 0 ? 0 : journal.entry[count - 1].number;
}

// Nothing torn, nothing twice, in order; with `complete` also nothing left out.
inline void expect_sound(const Journal& journal, bool complete, const std::string& who) {
  for (std::uint64_t at = 0; at < journal.count.load(); ++at) {
    const auto& entry = journal.entry[at];
    ASSERT_EQ(entry.torn, 0U) << who << ": " << entry.number << " is torn";
    if (at == 0) continue;
    const std::uint64_t previous = journal.entry[at - 1].number;
    ASSERT_GT(entry.number, previous) << who << ": twice, or out of order";
    if (complete) {
      ASSERT_EQ(entry.number, previous + 1) << who << ": something is missing";
    }
  }
}

inline std::string kill_at(const std::string& point, int count) {
  return point + ":" + std::to_string(count) + "=kill";
}

}  // namespace campipe::test
