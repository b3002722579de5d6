// Processes of a running rig are killed and stopped. The promise: frames flow again within two seconds, nobody else
// notices, each camera's recording stays one playable file, and every frame is accounted for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include "app/control/thread_times.h"
#include "tests/faults/fault_rig.h"
#include "tests/integration/rig_waits.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/stop_process.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double promised_recovery = 2.0 * sanitizer_slowdown;  // s

std::string worker_of(std::size_t camera) { return "worker " + std::to_string(camera % 2); }

// Waits until every file has grown `times` times.
bool all_files_grow(RigRun& rig, int times) {
  for (; times > 0; --times) {
    std::vector<std::uintmax_t> sizes;
    for (const std::string& name : fault_cameras) sizes.push_back(rig.size(name + ".mp4"));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (!rig.wait_for_growth(fault_cameras[i] + ".mp4", sizes[i])) return false;
    }
  }
  return true;
}

void expect_good_files(const RigRun& rig) {
  const auto report = rig.report();
  EXPECT_EQ(check_accounting(report), "");
  for (const std::string& name : fault_cameras) {
    SCOPED_TRACE(name);
    const auto& camera = report.at("cameras").at(name);
    const VideoFile recording = read_video(rig.file(name + ".mp4"));
    EXPECT_EQ(check_pattern_recording(recording, false), "");
    EXPECT_EQ(recording.pictures.size(), camera.at("frames").at("recorded").get<std::size_t>());
    EXPECT_EQ(camera.at("frames").at("recorded"), camera.at("frames").at("encoded"));
    EXPECT_FALSE(std::filesystem::exists(rig.file(name + "-1.mp4"))) << "the recording was broken in two";
    EXPECT_EQ(camera.at("state"), "ended");
  }
}

class Struck : public testing::TestWithParam<Blows> {};

// Policy `drop`, as with live cameras: what is captured while nobody takes it is lost, so the gap in the capture
// times of the recording is the time without frames.
TEST_P(Struck, FramesFlowAgainWithinTwoSeconds) {
  const std::vector<Blow>& blows = GetParam().blows;
  RigRun rig(fault_rig(0, "drop"));
  RigWaits all_waits(rig);
  ASSERT_TRUE(wait_until_recording(rig)) << rig.log();
  RigWaits waits(rig);
  const std::int64_t when = utc_now_ns();
  for (const Blow& blow : blows) {
    SCOPED_TRACE(blow.title);
    const double waited = waits.seconds();
    const std::int64_t struck = strike(rig, blow);
    ASSERT_TRUE(all_files_grow(rig, 1)) << rig.log();
    // Files grow by whole fragments of 0.4 s.
    EXPECT_LE(static_cast<double>(utc_now_ns() - struck) / 1e9, promised_recovery + 0.6 + waits.seconds() - waited);
    ASSERT_TRUE(all_files_grow(rig, 2)) << rig.log();
  }
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  expect_good_files(rig);
  for (std::size_t i = 0; i < fault_cameras.size(); ++i) {
    SCOPED_TRACE(fault_cameras[i]);
    const VideoFile recording = read_video(rig.file(fault_cameras[i] + ".mp4"));
    EXPECT_LE(largest_gap(recording, when), promised_recovery + waits.seconds()) << rig.log();
    const bool untouched = hits(blows, "source") == 0 && hits(blows, worker_of(i)) == 0;
    const auto camera = rig.camera(fault_cameras[i]);
    EXPECT_EQ(check_pattern_recording(recording, untouched && !was_late(camera)), "");
    EXPECT_EQ(untouched ? check_late_only(camera, 25, all_waits) : "", "");
    EXPECT_EQ(camera.at("worker_restarts"), hits(blows, worker_of(i)));
  }
  for (const std::string role : {"source", "master", "publisher"})
    EXPECT_EQ(rig.report().at(role + "_restarts"), hits(blows, role)) << role;
}

// Where the source goes on, the cameras of the other worker lose nothing.
INSTANTIATE_TEST_SUITE_P(By, Struck,
                         testing::Values(Blows{"Kills",
                                               {{"worker", {"worker 0"}},
                                                {"master", {"master"}},
                                                {"publisher", {"publisher"}},
                                                {"worker and publisher", {"worker 0", "publisher"}}}},
                                         Blows{"KillsOfAllAndTheSource",
                                               {{"all but the supervisor",
                                                 {"source", "master", "worker 0", "worker 1", "publisher"}},
                                                {"source", {"source"}}}}),
                         [](const auto& one) { return one.param.title; });

// A master that waits for a worker (policy `block`, which must not be stuck for ever) dies meanwhile.
TEST(Killed, MasterThatWaitsForASlowWorker) {
  RigRun rig(
      "cameras:\n  cam:\n    source: \"test://pattern?width=320&height=240&frames=120\"\n    pace: fast\n"
      "    encode: {latency: normal, gop: 10}\n    record: {path: cam.mp4}\n",
      {.failpoints = "stage.frame@cam:1+=wait50ms"});
  ASSERT_TRUE(rig.wait_for_growth("cam.mp4", 2000)) << rig.log();
  strike(rig, {"", {"master"}});
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  const VideoFile recording = read_video(rig.file("cam.mp4"));
  EXPECT_EQ(check_pattern_recording(recording, true), "");
  EXPECT_EQ(recording.pictures.size(), 120U);
}

// The waits that the log tells for a process that dies again and again; whole lines only, the last may be half written.
std::vector<double> waits_in(const std::string& log, const std::string& role) {
  std::vector<double> waits;
  const std::string died = role + " died";
  const std::string again = "; restarted ";
  for (auto at = log.find(died); at != std::string::npos; at = log.find(died, at + 1)) {
    const auto end = log.find('\n', at);
    const auto told = log.find(again, at);
    if (end == std::string::npos || told > end) break;
    const std::string wait = log.substr(told + again.size(), end - told - again.size());
    waits.push_back(wait.starts_with("in ") ? std::stod(wait.substr(3)) : 0);
  }
  return waits;
}

// While it lives, the threads of a process have a CPU that others use, and yield it to all of them.
class Starved {
 public:
  explicit Starved(pid_t process) : process_(process) {
    cpu_set_t allowed;
    ::sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&cpu_);
    for (unsigned cpu = 0; CPU_COUNT(&cpu_) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &cpu_);
    }
    for (int i = 0; i < 8; ++i) {
      others_.emplace_back([this](const std::stop_token& stop) {
        ::sched_setaffinity(0, sizeof cpu_, &cpu_);
        while (!stop.stop_requested()) ++spins_;
      });
    }
    for (int again = 0; again < 3; ++again) yield_all();  // threads may start others meanwhile, which do alike
  }

  // Its main thread has wanted a CPU for longer than a heartbeat may take, and got none.
  bool hungers() {
    const auto times = read_thread_times(process_, process_);
    if (!times) return false;
    if (!times->runnable || times->used != used_) since_ = Clock::now();
    used_ = times->used;
    return Clock::now() - since_ > milliseconds(1500);
  }

 private:
  void yield_all() const {
    const sched_param none{};
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process_) + "/task", gone)) {
      const pid_t id = std::stoi(task.path().filename());
      ::sched_setaffinity(id, sizeof cpu_, &cpu_);
      ::sched_setscheduler(id, SCHED_IDLE, &none);
    }
  }

  const pid_t process_;
  cpu_set_t cpu_{};
  std::atomic<std::uint64_t> spins_ = 0;
  std::int64_t used_ = -1;
  Clock::time_point since_ = Clock::now();
  std::vector<std::jthread> others_;
};

// Longer than the main thread of a process, or the thread of a camera, may be silent.
TEST(Starving, WorkerIsLeftAlone) {
  RigRun rig(fault_rig(0, "drop"));
  ASSERT_TRUE(wait_until_recording(rig)) << rig.log();
  const pid_t worker = rig.pid_of("worker 0");
  bool hungered = false;
  {
    Starved starved(worker);
    EXPECT_FALSE(eventually(
        [&] {
          hungered = hungered || starved.hungers();
          return rig.find("worker 0") != worker;
        },
        seconds(13)))
        << rig.log();
  }
  EXPECT_EQ(rig.find("worker 0"), worker);
  EXPECT_THAT(rig.log(), testing::Not(testing::ContainsRegex("(does|did) not answer")));
  if (!hungered) GTEST_SKIP() << "there were CPUs enough";
}

// What it needs to die, too, it gets late.
TEST(Starving, WorkerThatHangsIsKilledOnce) {
  RigRun rig(fault_rig(0, "drop"));
  ASSERT_TRUE(wait_until_recording(rig)) << rig.log();
  const pid_t worker = rig.pid_of("worker 0");
  {
    stop_process(worker);
    const Starved starved(worker);
    ASSERT_TRUE(eventually([&] { return rig.find("worker 0") != worker; })) << rig.log();
  }
  rig.successor_of("worker 0", worker);
  const std::string log = rig.log();
  const auto first = log.find("worker 0 does not answer");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("worker 0 does not answer", first + 1), std::string::npos) << log;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
