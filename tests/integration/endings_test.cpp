// However a rig ends, nothing of it is left: no process, no shared memory with a name, no socket, no temporary file;
// and what has been recorded can be played.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/rig_waits.h"
#include "tests/unit/stop_process.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr auto promised_end = seconds(5);
const std::set<std::string> nothing;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    // The recordings' indexes are written when their first files begin, which an early end may prevent; their locks
    // stay.
    const fs::path kind = entry.path().extension();
    if (kind != ".jsonl" && kind != ".lock") names.insert(entry.path().filename());
  }
  return names;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

// Semaphores and shared memory of System V, and sockets with a path: the kernel lists them, whoever made them. Not the
// shared memory of processes that live: a rig that has ended has none.
std::set<std::string> kernel_lists() {
  std::set<std::string> all;
  std::ifstream memory("/proc/sysvipc/shm");
  for (std::string line; std::getline(memory, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() > 4 && !fs::exists("/proc/" + words[4])) all.insert("shared memory " + words[1]);
  }
  std::ifstream semaphores("/proc/sysvipc/sem");
  for (std::string line; std::getline(semaphores, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() > 1) all.insert("semaphores " + words[1]);
  }
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() > 7 && words[7].find("campipe") != std::string::npos) all.insert(words[6] + " " + words[7]);
  }
  return all;
}

// What a rig has left stays; what others have come to use meanwhile does not.
std::set<std::string> left_since(const std::set<std::string>& before,
                                 const std::function<std::set<std::string>()>& look) {
  std::set<std::string> left;
  eventually([&] {
    left.clear();
    std::ranges::set_difference(look(), before, std::inserter(left, left.end()));
    return left.empty();
  });
  return left;
}

std::string rig_of(const std::string& source_options, const std::string& more = "") {
  const std::string source = "\"test://pattern?width=320&height=240&rate=25" + source_options + "\"";
  return "defaults: {encode: {gop: 10, bitrate: 1M}}\nworkers: {count: 2}\ncameras:\n  a: {source: " + source + more +
         ", record: {path: a.mp4}}\n  b: {source: " + source + more + ", record: {path: b.mkv}}\n";
}

class Ending : public testing::Test {
 protected:
  void begin(const std::string& source_options) {
    shared_memory_ = names_in("/dev/shm");
    kernel_ = kernel_lists();
    rig_ = std::make_unique<RigRun>(rig_of(source_options));
    waits_.emplace(*rig_);
  }
  void wait_until_recording() {
    for (const std::string& name : files_) ASSERT_TRUE(rig_->wait_for_growth(name, 8000)) << rig_->log();
  }
  // Since `asked`, when the rig was asked to end, as far as it had a CPU.
  void expect_in_time(Clock::time_point asked, std::chrono::nanoseconds promised = promised_end) {
    EXPECT_LE(Clock::now() - asked, promised + waits_->so_far()) << rig_->log();
  }
  // `asked`: when the processes were told to end, or lost the others; nothing: they have.
  void expect_nothing_left(std::optional<Clock::time_point> asked = Clock::now()) {
    const auto limit = asked ? std::chrono::nanoseconds(long_time) : std::chrono::nanoseconds(0);
    EXPECT_TRUE(eventually([this] { return rig_->processes().empty(); }, limit)) << rig_->log();
    if (asked) expect_in_time(*asked);
    EXPECT_EQ(left_since(shared_memory_, [] { return names_in("/dev/shm"); }), nothing) << "in /dev/shm";
    EXPECT_EQ(left_since(kernel_, kernel_lists), nothing);
    EXPECT_EQ(names_in(rig_->temporary()), nothing);
    std::set<std::string> expected{"a.mp4", "b.mkv", "rig.yaml", "log.txt", "output.txt", "tmp"};
    std::set<std::string> found = names_in(rig_->folder());
    found.erase("report.json");
    found.erase("state");  // made where the port of HTTP was free
    EXPECT_EQ(found, expected);
  }
  void expect_playable(std::size_t at_least) {
    for (const std::string& name : files_) {
      SCOPED_TRACE(name);
      const VideoFile recording = read_video(rig_->file(name));
      EXPECT_EQ(check_pattern_recording(recording, true), "");
      EXPECT_GE(recording.pictures.size(), at_least);
    }
  }
  void expect_all_recorded() {
    EXPECT_EQ(check_accounting(rig_->report()), "");
    for (const auto& [camera, file] : {std::pair{"a", "a.mp4"}, {"b", "b.mkv"}}) {
      const auto counts = rig_->camera(camera).at("frames");
      EXPECT_EQ(counts.at("decoded"), counts.at("encoded"));
      EXPECT_EQ(counts.at("recorded"), counts.at("encoded"));
      EXPECT_EQ(read_video(rig_->file(file)).pictures.size(), counts.at("encoded").get<std::size_t>());
    }
  }

  const std::vector<std::string> files_{"a.mp4", "b.mkv"};
  std::unique_ptr<RigRun> rig_;
  std::optional<RigWaits> waits_;

 private:
  std::set<std::string> shared_memory_;
  std::set<std::string> kernel_;
};

TEST_F(Ending, ByItselfLeavesNothing) {
  begin("&frames=25");
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  expect_nothing_left({});
  expect_playable(25);
  EXPECT_EQ(rig_->report().at("exit"), "ended");
}

class EndingBy : public Ending, public testing::WithParamInterface<int> {};

TEST_P(EndingBy, SignalHandsOverWhatWasDecoded) {
  begin("");
  wait_until_recording();
  rig_->signal(GetParam());
  const auto asked = Clock::now();
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  expect_in_time(asked);
  expect_nothing_left({});
  expect_all_recorded();
  expect_playable(10);
  EXPECT_EQ(rig_->report().at("exit"), "stopped");
}

// As Ctrl-C on a terminal and service managers do it: every process of the group gets the signal.
TEST_P(EndingBy, SignalToEveryProcessIsNoDifferent) {
  begin("");
  wait_until_recording();
  const auto asked = Clock::now();
  for (const pid_t pid : rig_->processes()) ::kill(pid, GetParam());
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  expect_in_time(asked);
  expect_nothing_left({});
  expect_all_recorded();
  expect_playable(10);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EndingBy, testing::Values(SIGINT, SIGTERM));

TEST_F(Ending, ASecondSignalEndsAtOnce) {
  begin("");
  wait_until_recording();
  const pid_t worker = rig_->pid_of("worker 0");
  stop_process(worker);  // so that draining is not over before the second signal
  rig_->signal(SIGINT);
  ASSERT_TRUE(eventually([this] { return rig_->log().find("ending (stopped)") != std::string::npos; }));
  // A signal that comes again within half a second is the same one.
  EXPECT_TRUE(eventually([this] {
    rig_->signal(SIGINT);
    return rig_->log().find("stopped at once") != std::string::npos;
  }));
  const auto asked = Clock::now();
  rig_->wait();
  expect_in_time(asked, seconds(1));
  expect_nothing_left({});
  expect_playable(10);
  EXPECT_EQ(check_accounting(rig_->report()), "");
  EXPECT_EQ(rig_->report().at("exit"), "stopped at once");
}

// timeout(1) signals its child, and then the group that both are in.
TEST_F(Ending, ASignalThatComesTwiceAtOnceIsOne) {
  begin("");
  wait_until_recording();
  const pid_t worker = rig_->pid_of("worker 0");
  stop_process(worker);
  rig_->signal(SIGINT);
  rig_->signal(SIGTERM);
  ASSERT_TRUE(eventually([this] { return rig_->log().find("ending (stopped)") != std::string::npos; }));
  ::kill(worker, SIGCONT);
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  EXPECT_EQ(rig_->report().at("exit"), "stopped");
  expect_all_recorded();
}

// It is written while the rig runs, and replaced in one step.
TEST_F(Ending, KilledSupervisorLeavesAReport) {
  begin("");
  wait_until_recording();
  ASSERT_TRUE(eventually([this] { return std::filesystem::exists(rig_->file("report.json")); }));
  rig_->signal(SIGKILL);
  rig_->wait();
  expect_nothing_left();
  EXPECT_EQ(rig_->report().at("exit"), "running");
}

TEST_F(Ending, KilledSupervisorTakesTheOthersWithIt) {
  begin("");
  wait_until_recording();
  rig_->signal(SIGKILL);
  expect_nothing_left();
  expect_playable(10);
}

TEST_F(Ending, KilledSupervisorAndMaster) {
  begin("");
  wait_until_recording();
  const pid_t master = rig_->pid_of("master");
  rig_->signal(SIGKILL);
  ::kill(master, SIGKILL);
  expect_nothing_left();
  expect_playable(10);
}

TEST_F(Ending, KilledSupervisorAndSource) {
  begin("");
  wait_until_recording();
  const pid_t source = rig_->pid_of("source");
  rig_->signal(SIGKILL);
  ::kill(source, SIGKILL);
  expect_nothing_left();
  expect_playable(10);
}

TEST_F(Ending, KilledSupervisorAndWorkers) {
  begin("");
  wait_until_recording();
  const std::vector<pid_t> workers{rig_->pid_of("worker 0"), rig_->pid_of("worker 1")};
  rig_->signal(SIGKILL);
  for (const pid_t pid : workers) ::kill(pid, SIGKILL);
  expect_nothing_left();
  expect_playable(10);
}

// Then the files have what was flushed: all but the last GOP.
TEST_F(Ending, EverythingKilledAtOnce) {
  begin("");
  wait_until_recording();
  const std::vector<pid_t> all = rig_->processes();
  ASSERT_EQ(all.size(), 7U) << "with the fork server";
  for (const pid_t pid : all) ::kill(pid, SIGKILL);
  expect_nothing_left();
  expect_playable(10);
}

TEST_F(Ending, SupervisorKilledWhileItStarts) {
  begin("");
  static_cast<void>(rig_->pid_of("master"));
  const auto asked = Clock::now();
  rig_->signal(SIGKILL);
  EXPECT_TRUE(eventually([this] { return rig_->processes().empty(); })) << rig_->log();
  expect_in_time(asked);
}

TEST_F(Ending, StoppedWhileItStarts) {
  begin("");
  static_cast<void>(rig_->pid_of("master"));
  const auto asked = Clock::now();
  rig_->signal(SIGINT);
  const int status = rig_->wait();
  expect_in_time(asked);
  EXPECT_TRUE(status == 0 || status == 3) << status << rig_->log();  // whether a frame came through is chance
  EXPECT_TRUE(rig_->processes().empty());
  EXPECT_EQ(check_accounting(rig_->report()), "");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
