// Synchronised groups in rigs: recordings of a group's cameras have the same number of frames with the same timestamps
// and key frames at the same places, whoever is killed or stopped, wherever their stages run, and whatever is done
// where a frame is missing.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "core/utc_text.h"
#include "tests/integration/clips.h"
#include "tests/integration/machine_clock.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/rig_waits.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using namespace std::chrono_literals;

// Of each frame: when it is shown, since the first, and whether it is a key frame.
std::vector<std::string> frames_of(const std::filesystem::path& file, bool with_keys = false) {
  const std::string command =
      "ffprobe -v error -select_streams v:0 -show_entries packet=pts_time,flags -of csv=p=0 '" + file.string() + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::vector<std::string> frames;
  double first = 0;
  double time = 0;
  char flag = '_';
  while (std::fscanf(pipe.get(), "%lf,%c%*[^\n]", &time, &flag) == 2) {
    if (frames.empty()) first = time;
    char text[64];
    std::snprintf(text, sizeof text, "%.4f%s", time - first, with_keys && flag == 'K' ? " key" : "");
    frames.emplace_back(text);
  }
  return frames;
}

std::string pattern(int rate, int frames = 0) {
  return "\"test://pattern?width=160&height=120&rate=" + std::to_string(rate) +
         (frames > 0 ? "&frames=" + std::to_string(frames) : "") + "\"";
}

std::string camera(const std::string& name, const std::string& source, const std::string& more = "") {
  return "  " + name + ":\n    source: " + source +
         "\n    encode: {codec: h264, gop: 400ms, options: {sc_threshold: 0}}" + "\n    record: {path: " + name +
         ".mp4}\n" + more;
}

std::string rig_of(const std::string& cameras, const std::string& group, int workers = 2) {
  return "http_address: off\nrtsp_address: off\nworkers: {count: " + std::to_string(workers) +
         "}\ndefaults: {gpu: cpu}\ncameras:\n" + cameras + "sync_groups: {stereo: " + group + "}\n";
}

// Returns how many frames each has.
std::size_t expect_in_step(const RigRun& rig, const std::vector<std::string>& cameras) {
  const auto first = frames_of(rig.file(cameras.at(0) + ".mp4"));
  for (const std::string& camera : cameras) {
    const auto frames = frames_of(rig.file(camera + ".mp4"));
    EXPECT_EQ(frames.size(), first.size()) << camera << "\n" << rig.log();
    EXPECT_TRUE(frames == first) << camera << " has other timestamps";
    const json report = rig.camera(camera);
    EXPECT_EQ(report.at("frames").at("encoded"), report.at("frames").at("recorded")) << report.dump();
  }
  EXPECT_EQ(check_accounting(rig.report()), "");
  return first.size();
}

bool grows(RigRun& rig, const std::vector<std::string>& cameras, std::uintmax_t by) {
  for (const std::string& camera : cameras) {
    const std::string file = camera + ".mp4";
    if (!rig.wait_for_growth(file, (std::filesystem::exists(rig.file(file)) ? rig.size(file) : 0) + by)) return false;
  }
  return true;
}

constexpr std::uintmax_t some = 30'000;  // bytes: more than a second

TEST(Groups, RecordTheSameFramesAtTheSameTimes) {
  RigRun rig(rig_of(camera("left", pattern(25, 60)) + camera("right", pattern(25, 60)) + camera("top", pattern(25, 60)),
                    "{cameras: [left, right, top], rate: 25}"));
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(expect_in_step(rig, {"left", "right", "top"}), 60U);
  const auto with_keys = frames_of(rig.file("left.mp4"), true);
  EXPECT_TRUE(with_keys == frames_of(rig.file("right.mp4"), true)) << "key frames lie elsewhere";
  EXPECT_GE(std::ranges::count_if(with_keys, [](const auto& frame) { return frame.ends_with("key"); }), 6);
  const json group = rig.camera("left").at("group");
  EXPECT_EQ(group.at("name"), "stereo");
  EXPECT_EQ(group.at("sets").at("encoded"), 60);
  EXPECT_EQ(group, rig.camera("right").at("group"));
  EXPECT_EQ(rig.camera("left").at("frames").at("repeated"), 0);
}

TEST(Groups, RepeatFramesOfASlowCameraAndDropThoseOfAFastOne) {
  RigRun rig(
      rig_of(camera("left", pattern(25, 60)) + camera("slow", pattern(10, 24)) + camera("fast", pattern(50, 120)),
             "{cameras: [left, slow, fast], rate: 25}"));
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_GE(expect_in_step(rig, {"left", "slow", "fast"}), 50U);
  EXPECT_GE(rig.camera("slow").at("frames").at("repeated"), 25);
  EXPECT_NE(rig.log().find(" repeated)"), std::string::npos) << rig.log();
  EXPECT_GE(rig.camera("fast").at("frames").at("dropped").at("rate"), 45);
}

// Of a clip without some of its frames.
ClipSpec with_holes(int frames) {
  ClipSpec clip{.name = "holes.mkv", .frames = 0, .rate = 25};
  for (int i = 0; i < frames; ++i) {
    if (i % 10 == 3) continue;
    clip.times_ms.push_back(i * 40);
    ++clip.frames;
  }
  return clip;
}

class OnMissing : public testing::TestWithParam<std::string> {};

TEST_P(OnMissing, AllDoAlike) {
  const TemporaryFolder clips;
  const ClipSpec holes = with_holes(75);
  make_clip(clips.path(), holes);
  const std::string source = "\"" + (clips.path() / holes.name).string() + "\"";
  RigRun rig(rig_of(camera("left", pattern(25, 75)) + camera("holes", source),
                    "{cameras: [left, holes], rate: 25, max_wait: 1s, on_missing: " + GetParam() + "}"));
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const std::size_t frames = expect_in_step(rig, {"left", "holes"});
  const json left = rig.camera("left").at("frames");
  const json right = rig.camera("holes").at("frames");
  if (GetParam() == "drop") {
    const std::size_t dropped = left.at("dropped").at("set_incomplete");
    EXPECT_GE(dropped, 8U);  // more where the other one was late at the beginning
    EXPECT_EQ(frames, 75 - dropped);
    EXPECT_GE(rig.camera("left").at("group").at("sets").at("dropped"), dropped);
  } else {
    EXPECT_EQ(frames, 75U);
    EXPECT_GE(right.at("repeated"), 8);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, OnMissing, testing::Values("repeat", "drop", "wait"),
                         [](const auto& one) { return one.param; });

// By stage: each camera's filters in one worker, its encoder in the other.
std::string crossed(const std::string& filter, const std::string& encode) {
  return "    filters: [sharpen]\n    placement: {decode: cpu, filter: [\"cpu:" + filter +
         "\"], encode: \"cpu:" + encode + "\"}\n";
}

struct Fault {
  const char* name;
  const char* role;
  int signal;
  bool by_stage = false;
};

class AProcess : public testing::TestWithParam<Fault> {};

TEST_P(AProcess, IsKilledOrStoppedAndTheyStayInStep) {
  const Fault fault = GetParam();
  const std::vector<std::string> all{"left", "right", "top"};
  std::string cameras;
  for (std::size_t i = 0; i < all.size(); ++i) {
    cameras += camera(all[i], pattern(25),
                      "    drop_policy: drop\n" +
                          (fault.by_stage ? crossed(std::to_string(i % 2), std::to_string((i + 1) % 2)) : ""));
  }
  RigRun rig(rig_of(cameras, "{cameras: [left, right, top], rate: 25}"));
  ASSERT_TRUE(grows(rig, all, some)) << rig.log();
  const pid_t pid = rig.pid_of(fault.role);
  ::kill(pid, fault.signal);
  if (fault.signal == SIGSTOP && std::string(fault.role) != "master") {
    ASSERT_NE(rig.successor_of(fault.role, pid), pid) << rig.log();  // it was found to hang
  }
  ASSERT_TRUE(grows(rig, all, some)) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_GT(expect_in_step(rig, all), 20U);  // what grew twice by `some`
}

INSTANTIATE_TEST_SUITE_P(Each, AProcess,
                         testing::Values(Fault{"Worker0Killed", "worker 0", SIGKILL},
                                         Fault{"ByStageWorker1Killed", "worker 1", SIGKILL, true}),
                         [](const auto& one) { return one.param.name; });

TEST(GroupsOfLiveCameras, RepeatTheLastFrameOfOneThatIsAway) {
  if (const std::string missing = TestCamera::missing(); !missing.empty()) GTEST_SKIP() << missing;
  const TestCamera left;
  auto right = std::make_unique<TestCamera>();
  const int port = right->port();
  const std::string more = "    rtsp_transport: tcp\n    retry_interval: 100ms\n    retry_max: 200ms\n";
  RigRun rig(rig_of(camera("left", left.url(), more) + camera("right", right->url(), more),
                    "{cameras: [left, right], rate: 25}"));
  ASSERT_TRUE(grows(rig, {"left", "right"}, some)) << rig.log();
  right->kill();
  ASSERT_TRUE(grows(rig, {"left", "right"}, some)) << "it does not go on; " << rig.log();
  right = std::make_unique<TestCamera>(std::vector<std::string>{}, port);
  ASSERT_TRUE(eventually([&] { return right->connections() > 0; })) << rig.log();
  ASSERT_TRUE(grows(rig, {"left", "right"}, some)) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_GT(expect_in_step(rig, {"left", "right"}), 50U);
  EXPECT_GT(rig.camera("right").at("frames").at("repeated"), 5);
}

TEST(Groups, AreChangedWithoutTouchingOtherCameras) {
  const std::string cameras = camera("left", pattern(25)) + camera("right", pattern(25)) + camera("other", pattern(25));
  RigRun rig(rig_of(cameras, "{cameras: [left, right], rate: 25}"));
  ASSERT_TRUE(grows(rig, {"left", "right", "other"}, some)) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << rig_of(cameras, "{cameras: [left, right], rate: 25, on_missing: drop}");
  rig.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(rig.file("right-1.mp4")); })) << rig.log();
  ASSERT_TRUE(grows(rig, {"left-1", "right-1", "other"}, some)) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_FALSE(std::filesystem::exists(rig.file("other-1.mp4")));
  EXPECT_EQ(check_accounting(rig.report()), "");
}

TEST(Groups, AMemberIsSwitchedOffAndOn) {
  const auto rig_with = [](const std::string& right) {
    return rig_of(camera("left", pattern(25)) + camera("right", pattern(25), right),
                  "{cameras: [left, right], rate: 25}");
  };
  RigRun rig(rig_with(""));
  ASSERT_TRUE(grows(rig, {"left", "right"}, 3 * some)) << rig.log();
  const auto reload = [&](const std::string& right) {
    std::ofstream(rig.file("rig.yaml")) << rig_with(right);
    rig.signal(SIGHUP);
  };
  reload("    enabled: false\n");
  ASSERT_TRUE(eventually([&] { return rig.log().find("right: disabled") != std::string::npos; })) << rig.log();
  ASSERT_TRUE(grows(rig, {"left"}, 3 * some)) << rig.log();
  reload("");
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(rig.file("right-1.mp4")); })) << rig.log();
  ASSERT_TRUE(grows(rig, {"left", "right-1"}, 2 * some)) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_FALSE(std::filesystem::exists(rig.file("left-1.mp4")));
  for (const std::string name : {"left", "right"}) {
    EXPECT_EQ(rig.camera(name).at("frames").at("dropped").value("out_of_step", 0), 0) << name << " " << rig.log();
  }
  const std::size_t together = frames_of(rig.file("right-1.mp4")).size();
  EXPECT_GT(together, 15U) << rig.log();
  EXPECT_LT(rig.camera("right").at("frames").at("repeated"), together)
      << "its own frames are not in step; " << rig.log();
  const json sets = rig.camera("left").at("group").at("sets");
  EXPECT_EQ(sets.at("encoded").get<std::uint64_t>() + sets.at("dropped").get<std::uint64_t>(),
            rig.camera("left").at("frames").at("encoded").get<std::uint64_t>())
      << "sets of before count, too: " << sets;
  EXPECT_EQ(check_accounting(rig.report()), "");
}

// How many frames of a member were its own: in time for its sets, and neither repeated nor lost.
std::int64_t own_frames(const json& camera) {
  const json& frames = camera.at("frames");
  return frames.at("encoded").get<std::int64_t>() - frames.at("repeated").get<std::int64_t>();
}

// What is paced never catches up by itself: each frame of it would be late.
TEST(ALateBeginner, IsInStepOnceItHasCaughtUp) {
  constexpr int rate = 10;
  RigRun rig(rig_of(camera("left", pattern(rate)) + camera("right", pattern(rate)),
                    "{cameras: [left, right], rate: 10, on_missing: drop}"),
             {.failpoints = "source.passed@right=wait1"});
  RigWaits waits(rig);
  ASSERT_TRUE(grows(rig, {"left", "right"}, 3 * some)) << rig.log();
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  expect_in_step(rig, {"left", "right"});
  const json right = rig.camera("right");
  EXPECT_GT(own_frames(right), 2 * rate) << right.at("frames");
  // Not more than came in that second.
  const auto late = right.at("frames").at("dropped").value("late", 0);
  EXPECT_LE(late, rate * (1 + waits.seconds()) + 2) << right.at("frames");
}

// With B-frames they are decoded in another order, and files begin at other times than 0.
TEST(Groups, CountFramesInTheOrderOfShowing) {
  const TemporaryFolder clips;
  const std::vector<ClipSpec> files{{.name = "plain.mp4", .frames = 75},
                                    {.name = "b.mp4", .frames = 75, .b_frames = 3},
                                    {.name = "b.ts", .frames = 75, .b_frames = 2}};
  std::string cameras;
  std::vector<std::string> all;
  for (const ClipSpec& file : files) {
    make_clip(clips.path(), file);
    all.push_back("from" + std::to_string(all.size()));
    cameras += camera(all.back(), "\"" + (clips.path() / file.name).string() + "\"");
  }
  RigRun rig(rig_of(cameras, "{cameras: [from0, from1, from2], rate: 25, max_wait: 1s}"));
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(expect_in_step(rig, all), 75U);
  std::vector<std::int64_t> numbers(75);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (const std::string& name : all) {
    EXPECT_EQ(numbers_of(read_video(rig.file(name + ".mp4"))), numbers) << name;
    EXPECT_EQ(rig.camera(name).at("group").at("skew_ms").at("p99"), 0) << name;
  }
}

// What the group goes by: the cameras' own clocks, or the arrivals by this machine's; of patterns, neither.
enum class GoesBy { cameras, arrivals, pattern };

// What the events say of them, in whole seconds.
std::vector<double> clock_jumps(const RigRun& rig) {
  std::vector<double> jumps;
  std::istringstream lines(read_text(rig.file("events.jsonl")));
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line);
    EXPECT_EQ(event.at("event"), "clock_jump");
    jumps.push_back(std::round(event.at("seconds").get<double>()));
  }
  return jumps;
}

std::size_t files_of(const RigRun& rig, const std::string& camera) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(rig.folder())) {
    const std::string name = entry.path().filename().string();
    files += name.starts_with(camera) && name.ends_with(".mp4") ? 1 : 0;
  }
  return files;
}

// Each file begins at the time that the clock then showed, and ends as long after that as it lasts; `off`: s, by which
// frames may come late.
void expect_new_times(const RigRun& rig, const std::string& camera, const std::vector<std::chrono::seconds>& offs,
                      double off) {
  std::vector<json> files;
  std::istringstream lines(read_text(rig.file(camera + ".index.jsonl")));
  for (std::string line; std::getline(lines, line);) {
    if (const json entry = json::parse(line); entry.at("event") == "end") files.push_back(entry);
  }
  ASSERT_EQ(files.size(), offs.size() + 1);
  const auto time_of = [&](std::size_t file, const char* of) {
    return static_cast<double>(utc_from_text(files.at(file).at(of)).value_or(0)) / 1e9;
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    EXPECT_NEAR(time_of(i, "end") - time_of(i, "start"), files[i].at("duration_s").get<double>(), off) << files[i];
    if (i == 0) continue;
    const auto jumped = static_cast<double>((offs[i - 1] - (i == 1 ? 0s : offs[i - 2])).count());
    EXPECT_NEAR(time_of(i, "start") - time_of(i - 1, "end"), jumped, off) << files[i];
  }
}

// The files of a camera become one.
void join_files(const RigRun& rig, const std::string& camera) {
  const std::string first = rig.file(camera).string();
  std::ofstream list(first + ".list");
  list << "file '" << first << ".mp4'\n";
  for (int i = 1; std::filesystem::exists(first + "-" + std::to_string(i) + ".mp4"); ++i)
    list << "file '" << first << '-' << i << ".mp4'\n";
  list.close();
  const std::string joined = first + ".joined.mp4";
  const std::string command = "ffmpeg -v error -f concat -safe 0 -i '" + first + ".list' -c copy '" + joined + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::filesystem::rename(joined, first + ".mp4");
}

class TheMachinesClock : public testing::TestWithParam<GoesBy> {};

TEST_P(TheMachinesClock, IsSetAndTheyStayInStep) {
  if (is_sanitized) GTEST_SKIP() << "the sanitizer's library has to be loaded first";
  const bool live = GetParam() != GoesBy::pattern;
  if (const std::string missing = TestCamera::missing(); live && !missing.empty()) GTEST_SKIP() << missing;
  std::vector<std::unique_ptr<TestCamera>> sources;
  const std::vector<std::string> all{"left", "right"};
  std::string cameras;
  for (const std::string& name : all) {
    if (live) sources.push_back(std::make_unique<TestCamera>());
    const std::string by_arrival = GetParam() == GoesBy::arrivals ? "    use_absolute_timestamp: false\n" : "";
    cameras += live ? camera(name, sources.back()->url(), "    rtsp_transport: tcp\n" + by_arrival)
                    : camera(name, pattern(25));
  }
  const MachineClock clock;
  RigRun rig("events: events.jsonl\n" + rig_of(cameras, "{cameras: [left, right], rate: 25}"));
  RigWaits waits(rig);
  const std::uintmax_t bytes = live ? some / 4 : some;  // their frames are smaller
  ASSERT_TRUE(grows(rig, all, bytes)) << rig.log();
  const std::vector<std::chrono::seconds> offs{3s, -3s, 0s, -3600s, 3600s};
  std::vector<std::string> newest = all;
  for (std::size_t i = 0; i < offs.size(); ++i) {
    clock.set_off(rig, offs[i]);
    newest = {"left-" + std::to_string(i + 1), "right-" + std::to_string(i + 1)};  // each jump begins a file
    ASSERT_TRUE(grows(rig, newest, bytes)) << offs[i].count() << " s off, they do not go on; " << rig.log();
  }
  for (const char* role : {"source", "master"}) {  // the successor has to take over its time, not the clock's
    ::kill(rig.pid_of(role), SIGKILL);
    ASSERT_TRUE(grows(rig, newest, bytes)) << role << rig.log();
  }
  rig.signal(SIGINT);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(clock_jumps(rig), (std::vector<double>{3, -6, 3, -3600, 7200})) << rig.log();
  for (const std::string& name : all) {
    EXPECT_EQ(files_of(rig, name), 1 + offs.size()) << rig.log();
    if (GetParam() != GoesBy::cameras) expect_new_times(rig, name, offs, 0.5 + waits.seconds());
    join_files(rig, name);
  }
  EXPECT_GT(expect_in_step(rig, all), 100U);
  const auto frames = frames_of(rig.file("left.mp4"));
  for (std::size_t i = 1; i < frames.size(); ++i) {
    ASSERT_LT(std::stod(frames[i]) - std::stod(frames[i - 1]), 3 + waits.seconds())
        << "the recording has a hole; " << rig.log();
  }
  for (const std::string& name : all) {
    EXPECT_EQ(rig.camera(name).at("frames").at("dropped").value("out_of_step", 0), 0) << name << " " << rig.log();
  }
  tm ended{};
  ::strptime(rig.camera("left").at("since_utc").get<std::string>().c_str(), "%Y-%m-%dT%H:%M:%S", &ended);
  EXPECT_GT(::timegm(&ended), std::time(nullptr) + 3000) << "its clock was not set";
}

INSTANTIATE_TEST_SUITE_P(By, TheMachinesClock, testing::Values(GoesBy::cameras, GoesBy::arrivals, GoesBy::pattern),
                         [](const auto& one) {
                           return one.param == GoesBy::cameras    ? "Cameras"
                                  : one.param == GoesBy::arrivals ? "Arrivals"
                                                                  : "Pattern";
                         });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
