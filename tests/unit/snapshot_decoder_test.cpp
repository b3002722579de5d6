// The process that decodes a picture for a snapshot: it can reach nobody, is ended with the rig, and its failure is
// known.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <thread>

#include "app/publisher/server/http/snapshots.h"
#include "app/publisher/server/live/feed.h"
#include "app/publisher/server/snapshot_decoder.h"
#include "core/clock.h"
#include "core/error.h"
#include "tests/unit/encoded_clip.h"
#include "tests/unit/sanitized.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::Clip;
using testing::HasSubstr;

const Clip& clip() {
  static const Clip all = test::encode(Latency::low, test::steady(40));  // key frames 0, 10, 20, 30
  return all;
}

// As the publisher starts it, but it waits for more to read.
class WaitingDecoder {
 public:
  WaitingDecoder() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("pipe", errno);
    const UniqueFd read_end(ends[0]);
    input_.reset(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    std::string name = "campipe";
    std::string role = snapshot_role;
    std::array<char*, 3> words{name.data(), role.data(), nullptr};
    const int code = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (code != 0) throw system_error("posix_spawn", code);
  }
  ~WaitingDecoder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  WaitingDecoder(const WaitingDecoder&) = delete;
  WaitingDecoder& operator=(const WaitingDecoder&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string status() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  pid_t pid_ = -1;
  UniqueFd input_;
};

TEST(SnapshotDecoder, CanReachNobody) {
  if (test::is_sanitized) GTEST_SKIP() << "sanitizers need files and threads";
  const WaitingDecoder decoder;
  const auto deadline = Clock::now() + 60s;
  while (decoder.status().find("Seccomp:\t2") == std::string::npos && Clock::now() < deadline) {
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_THAT(decoder.status(), HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(decoder.status(), HasSubstr("NoNewPrivs:\t1"));
  for (const auto resource : {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CORE}) {
    rlimit limit{1, 1};
    ASSERT_EQ(::prlimit(decoder.pid(), resource, nullptr, &limit), 0);
    EXPECT_EQ(limit.rlim_max, 0U) << resource;
  }
}

std::vector<LivePiece> group_of(std::size_t pictures) {
  auto header = std::make_shared<LiveHeader>();
  header->stream = clip().parameters;
  std::vector<LivePiece> group(pictures);
  for (std::size_t i = 0; i < pictures; ++i) {
    group[i].header = header;
    group[i].bytes = std::make_shared<std::vector<std::uint8_t>>(clip().packets.at(i % 10).data);
    group[i].key = i == 0;
  }
  return group;
}

TEST(SnapshotDecoder, IsNotWaitedForAtTheEnd) {
  const auto group = group_of(20'000);
  DecodingStop stop;
  const std::jthread end([&] { stop.close(); });
  EXPECT_THROW(decode_apart(group, stop), Error);
}

// Pages that processes touched which this one started, and which have ended: each touches some.
long faults_of_children() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  return used.ru_minflt;
}

TEST(SnapshotDecoder, ThatItFailedIsRemembered) {
  const auto stream = std::make_shared<LiveStream>();
  auto parameters = clip().parameters;
  test::Packet packet = clip().packets.front();
  parameters.codec = "no such codec";
  stream->offer(packet.view(), parameters);
  ASSERT_FALSE(stream->newest_group().empty());
  HttpSnapshots snapshots;
  EXPECT_THROW(snapshots.take("dock", *stream), Error);
  const long before = faults_of_children();
  for (int i = 0; i < 1000; ++i) EXPECT_THROW(snapshots.take("dock", *stream), Error);
  EXPECT_EQ(faults_of_children(), before) << "no process was started for it";
}

// And not newer ones that cannot be decoded.
TEST(SnapshotDecoder, SaysWhichPacketHoldsTheFrame) {
  auto group = group_of(8);
  EXPECT_EQ(decode_apart(group).packet, 7U);
  for (std::size_t i = 5; i < group.size(); ++i) group[i].bytes = std::make_shared<std::vector<std::uint8_t>>();
  EXPECT_EQ(decode_apart(group).packet, 4U);
}

TEST(SnapshotDecoder, WhatCannotBeDecodedIsAnError) {
  auto header = std::make_shared<LiveHeader>();
  header->stream = clip().parameters;
  LivePiece piece;
  piece.header = header;
  piece.bytes = std::make_shared<std::vector<std::uint8_t>>(5000, std::uint8_t{0x5a});
  EXPECT_THROW(decode_apart({piece}), Error);
  header->stream.codec = "no such codec";
  EXPECT_THROW(decode_apart({piece}), Error);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
