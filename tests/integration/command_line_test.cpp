// The program as a user meets it: options, messages, exit status, the table on a terminal.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "core/unique_handle.h"
#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/times_in.h"
#include "tests/integration/ts_frames.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;

const std::string two_cameras =
    "workers: {count: 2}\ncameras:\n  dock: {source: \"test://pattern?frames=10\", record: {path: dock.mp4}}\n"
    "  belt: {source: \"test://pattern?frames=10\"}\n";

TEST(CommandLine, TellsItsVersion) {
  const Answer answer = ask({"--version"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.output, std::string("campipe ") + CAMPIPE_VERSION + "\n");
}

TEST(CommandLine, HelpNamesEveryOption) {
  const Answer answer = ask({"--help"});
  EXPECT_EQ(answer.status, 0);
  for (const char* option : {"--config", "--check", "--plan", "--duration", "--report", "--log-level", "--devices",
                             "--json", "--schema", "--version", "Exit status"}) {
    EXPECT_THAT(answer.output, HasSubstr(option));
  }
}

TEST(CommandLine, HelpHasTheCommandsAboutCosts) {
  const std::string help = ask({"--help"}).output;
  for (const char* command : {"calibrate-costs", "capacity"}) {
    EXPECT_THAT(help, HasSubstr(command));
    const Answer answer = ask({command, "--help"});
    EXPECT_EQ(answer.status, 0);
    EXPECT_THAT(answer.output, HasSubstr("--json"));
  }
}

TEST(CommandLine, ClusterCertificatesAreWrittenOnce) {
  const TemporaryFolder folder;
  const std::string files = (folder.path() / "own").string();
  const auto make = [&](const std::string& node) { return ask({"cluster", "certificates", "--folder", files, node}); };
  const Answer made = make("east=east.example,10.0.0.1");
  EXPECT_EQ(made.status, 0) << made.errors;
  EXPECT_EQ(made.output, files + "/ca.pem\n" + files + "/ca.key\n" + files + "/east.pem\n" + files + "/east.key\n");
  EXPECT_EQ(make("east=east.example").status, 1);
  const Answer mistake = make("west=west.example:8443");
  EXPECT_EQ(mistake.status, 2);
  EXPECT_THAT(mistake.errors, HasSubstr("node west: 'west.example:8443' is no DNS name and no IP address"));
  EXPECT_THAT(ask({"cluster", "certificates", "--help"}).output, HasSubstr("NODE=HOST[,HOST...] ..."));
}

TEST(CommandLine, CapacityTellsHowManyMoreFit) {
  const std::string rig = "defaults: {gpu: cpu}\n" + two_cameras + "  gate: {source: \"rtsp://127.0.0.1/gate\"}\n";
  const Answer text = ask({"capacity", "--config", "rig.yaml", "--estimate"}, rig);
  EXPECT_EQ(text.status, 0) << text.errors;
  for (const char* words : {"costs estimated, not measured", "what the rig takes", "needs ", "how many more",
                            "pattern 1280x720 @ 25 ", "h264 1920x1080 @ 25 (assumed)"})
    EXPECT_THAT(text.output, HasSubstr(words));
  EXPECT_THAT(text.errors, HasSubstr("the CPU has not been measured"));

  const Answer answer =
      ask({"capacity", "--config", "rig.yaml", "--estimate", "--json", "--assume", "hevc:3840x2160@12.5"}, rig);
  ASSERT_EQ(answer.status, 0) << answer.errors;
  const auto found = nlohmann::json::parse(answer.output);
  EXPECT_EQ(found.at("cpu").at("measured"), "");
  EXPECT_GT(found.at("cpu").at("cores"), 0);
  ASSERT_FALSE(found.at("uses").empty());
  for (const auto& use : found.at("uses")) EXPECT_GT(use.at("has"), 0) << use;
  const auto& gate = found.at("cameras").at("gate");
  EXPECT_EQ(gate.at("codec"), "hevc");
  EXPECT_EQ(gate.at("rate"), 12.5);
  EXPECT_TRUE(gate.at("assumed"));
  EXPECT_FALSE(found.at("cameras").at("dock").at("assumed"));
  EXPECT_TRUE(gate.at("more").is_number_unsigned());
}

TEST(CommandLine, CommandsAboutCostsRefuseMisuse) {
  const std::string rig = "cameras: {dock: {source: \"test://pattern\", rate: many}}\n";
  const auto refused = [&](const std::vector<std::string>& command, const char* message) {
    const Answer answer = ask(command, rig);
    EXPECT_EQ(answer.status, 2) << answer.errors;
    EXPECT_THAT(answer.errors, HasSubstr(message));
  };
  refused({"capacity"}, "--config");
  refused({"capacity", "--config", "rig.yaml"}, "rig.yaml:1:");
  refused({"capacity", "--config", "none.yaml"}, "none.yaml");
  for (const char* stream :
       {"h264", "h264:1920x1080", "h264:1920x1080@0", "h264:0x0@25", "h264:99999x16@25", "avc:64x64@1", "@"})
    refused({"capacity", "--config", "rig.yaml", "--assume", stream},
            "expected a stream of h264, hevc or mjpeg such as h264:1920x1080@25");
  refused({"calibrate-costs", "--device", "GPU-none"}, "GPU-none");
}

TEST(CommandLine, TellsWhatTheMachineOffers) {
  const Answer answer = ask({"--devices"});
  EXPECT_EQ(answer.status, 0);
  for (const char* text : {"CPU: ", "h264", "libx264: works", "ring memory host: works", "limits: descriptors ",
                           "locked memory ", "GPU"}) {
    EXPECT_THAT(answer.output, HasSubstr(text));
  }
}

TEST(CommandLine, TellsWhatTheMachineOffersToPrograms) {
  const Answer answer = ask({"--devices", "--json"});
  EXPECT_EQ(answer.status, 0);
  const auto offered = nlohmann::json::parse(answer.output);
  EXPECT_TRUE(offered.at("cpu").at("sharing").at("host").at("works"));
  EXPECT_GT(offered.at("limits").at("memory"), 0);
  EXPECT_TRUE(offered.at("problems").is_array());
  EXPECT_EQ(offered.at("gpus").empty(), !offered.at("problem").get<std::string>().empty()) << answer.output;
}

TEST(CommandLine, AGpuThatIsNotThereIsAConditionWithItsPlace) {
  const std::string camera = "cameras:\n  dock:\n    source: \"test://pattern?frames=1\"\n";
  for (const std::string command : {"--check", "--plan", "--duration=1s"}) {
    const Answer answer =
        ask({"--config", "rig.yaml", command}, camera + "    gpu: 99\nhttp_address: off\nrtsp_address: off\n");
    EXPECT_EQ(answer.status, 0) << command;
    const std::string all = answer.output + answer.errors;
    EXPECT_THAT(all, HasSubstr("not now: rig.yaml:4:10: cameras.dock.gpu: "));
    EXPECT_THAT(all, HasSubstr("got '99'"));
  }
  EXPECT_EQ(ask({"--config", "rig.yaml", "--check"}, camera + "    gpu: auto\n    ipc_memory: host\n").status, 0);
}

// Another program at a port.
class Listener {
 public:
  Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    auto* const address = reinterpret_cast<sockaddr*>(&address_);
    if (::bind(fd_.get(), address, size) != 0 || ::listen(fd_.get(), 1) != 0 ||
        ::getsockname(fd_.get(), address, &size) != 0)
      throw std::runtime_error("cannot listen");
  }
  [[nodiscard]] int port() const { return ntohs(address_.sin_port); }

 private:
  UniqueFd fd_;
  sockaddr_in address_{};
};

struct Misuse {
  std::vector<std::string> command;
  std::string message;
};

TEST(CommandLine, RefusesMisuse) {
  const std::vector<Misuse> cases{
      {{"--nonsense"}, "--nonsense"},
      {{"--config", "rig.yaml", "--duration", "soon"}, "soon"},
      {{"--config", "rig.yaml", "--log-level", "loud"}, "loud"},
      {{"--config"}, "--config"},
      {{"--check"}, "--config"},
      {{"--duration", "3s"}, "--config"},
      {{"--json"}, "--devices"},
      {{"--plan=png", "--config", "rig.yaml"}, "--plan: png not in"},
      {{"rig.yaml"}, "rig.yaml"},
      {{"--config", "missing.yaml"}, "missing.yaml"},
      {{"--config", "rig.yaml", "--report", "missing/report.json"}, "missing/report.json"},
      {{"--config", "rig.yaml", "--report", "tmp"}, "tmp"},
  };
  for (const Misuse& misuse : cases) {
    const Answer answer = ask(misuse.command, two_cameras);
    SCOPED_TRACE(testing::PrintToString(misuse.command));
    EXPECT_EQ(answer.status, 2) << answer.errors;
    EXPECT_THAT(answer.errors, HasSubstr(misuse.message));
  }
}

TEST(CommandLine, RolesAreNotForPeople) {
  for (const char* role : {"source", "master", "publisher", "worker", "probe", "probe-peer"}) {
    const Answer answer = ask({role});
    EXPECT_EQ(answer.status, 2);
    EXPECT_THAT(answer.errors, HasSubstr("campipe --config FILE"));
  }
}

TEST(CommandLine, CheckStartsNothing) {
  RigOptions options;
  options.command = {"--config", "rig.yaml", "--check"};
  RigRun run("http_address: off\nrtsp_address: off\n" + two_cameras, options);
  EXPECT_EQ(run.wait(), 0) << run.log();
  EXPECT_EQ(run.log(), "");
  EXPECT_FALSE(std::filesystem::exists(run.file("dock.mp4")));
}

TEST(CommandLine, CheckNamesTheCamerasThatTheOverlayChanges) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "rig.yaml";
  std::ofstream(file) << two_cameras;
  std::ofstream(folder.path() / "rig.api.yaml") << "cameras: {dock: ~}\n";
  const Answer answer = ask({"--config", file, "--check"});
  EXPECT_EQ(answer.status, 0) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("rig.api.yaml changes " + file + ": dock removed"));
}

TEST(CommandLine, CheckLooksAtFilesFramesAndAddresses) {
  const auto check = [](const std::string& yaml) { return ask({"--config", "rig.yaml", "--check"}, yaml); };
  const std::string off = "http_address: off\nrtsp_address: off\n";
  EXPECT_THAT(check(off + two_cameras).output,
              testing::EndsWith(
                  "dock: test://pattern?frames=10: pattern, 1280x720, 25 fps; encoded as h264\n"
                  "belt: test://pattern?frames=10: pattern, 1280x720, 25 fps; encoded as h264\nfine: 2 cameras\n"));
  const Answer crop = check(off +
                            "cameras: {dock: {source: \"test://pattern?width=320&height=240\", filters: [{crop: "
                            "{x: 300, y: 0, width: 200, height: 200}}]}}\n");
  EXPECT_EQ(crop.status, 2);
  EXPECT_THAT(crop.errors,
              HasSubstr("rig.yaml:3:76: cameras.dock.filters[0].crop: for frames of 320x240: crop: 200x200 at "
                        "300, 0 does not lie in the frame"));

  const Answer no_video = check(off + "cameras: {dock: {source: rig.yaml}}\n");
  EXPECT_EQ(no_video.status, 0) << "the configuration is right";
  EXPECT_THAT(no_video.output, HasSubstr("not now: rig.yaml:3:26: cameras.dock.source: cannot open 'rig.yaml'"));

  const Answer pipe = check(off + "events: /dev/null\n" + two_cameras);
  EXPECT_EQ(pipe.status, 2);
  EXPECT_THAT(pipe.errors, HasSubstr("events: '/dev/null' is there and is not a regular file"));

  const Listener busy;
  const Answer taken = check("rtsp_address: off\nhttp_address: \"127.0.0.1:" + std::to_string(busy.port()) +
                             "\"\ncameras: {dock: {source: \"test://pattern\"}}\n");
  EXPECT_EQ(taken.status, 0) << "it may be this rig";
  EXPECT_THAT(taken.output, HasSubstr("note: http_address: "));
}

// Of all cameras and outputs, in the order of the file.
TEST(CommandLine, CheckTellsAllThatDoesNotFitAtOnce) {
  const std::string crop = "filters: [sharpen, {crop: {x: 0, y: 0, width: 2000, height: 2000}}]";
  const Answer answer = ask({"--config", "rig.yaml", "--check"},
                            "http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n"
                            "  dock:\n    source: \"test://pattern\"\n    " +
                                crop + "\n    outputs: {small: {" + crop +
                                "}}\n    placement: {filter: [\"cpu:1\", \"cpu:7\"], encode: \"cpu:9\"}\n"
                                "  belt:\n    source: \"test://pattern\"\n    filters: [sharpen]\n"
                                "    placement: {tiles: 4}\n");
  EXPECT_EQ(answer.status, 2);
  std::vector<std::string> lines;
  std::istringstream errors(answer.errors);
  for (std::string line; std::getline(errors, line);) lines.push_back(line);
  EXPECT_THAT(lines,
              testing::ElementsAre(
                  HasSubstr("rig.yaml:7:25: cameras.dock.filters[1].crop: for frames of 1280x720: crop: 2000x2000 at"),
                  HasSubstr("rig.yaml:9:25: cameras.dock.placement.filter: cpu:7 takes 8 workers on the CPU "
                            "(workers.count: 2); raise `workers.count`, or name another one"),
                  HasSubstr("rig.yaml:9:53: cameras.dock.placement.encode: cpu:9 takes 10 workers"),
                  HasSubstr("rig.yaml:13:24: cameras.belt.placement.tiles: tiles take 4 workers on the CPU "
                            "(workers.count: 2); raise `workers.count`, or use fewer tiles")));
}

TEST(CommandLine, CheckAndPlanNameMosaicsAndGroups) {
  const std::string yaml =
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {gpu: cpu}\ncameras:\n"
      "  left: {source: \"test://pattern\"}\n  right: {source: \"test://pattern\"}\n"
      "mosaics: {wall: {gpu: cpu}}\n"
      "sync_groups: {stereo: {cameras: [left, right], rate: 25, tolerance: 5ms, on_missing: drop}}\n";
  const std::string group =
      "group stereo: left, right; 25 sets a second, of frames up to 5 ms apart; a set that lacks a frame after 200 ms "
      "is "
      "dropped\n";
  const Answer check = ask({"--config", "rig.yaml", "--check"}, yaml);
  EXPECT_EQ(check.status, 0) << check.errors;
  EXPECT_THAT(check.output, HasSubstr(group));
  EXPECT_THAT(check.output, testing::EndsWith("fine: 2 cameras, 1 mosaic, 1 group\n"));
  EXPECT_THAT(ask({"--config", "rig.yaml", "--plan"}, yaml).output, HasSubstr("groups\n  " + group));
  const auto plan = nlohmann::json::parse(ask({"--config", "rig.yaml", "--plan=json"}, yaml).output);
  EXPECT_EQ(plan.at("groups"), (nlohmann::json{{{"name", "stereo"},
                                                {"cameras", {"left", "right"}},
                                                {"rate", 25.0},
                                                {"tolerance_ms", 5.0},
                                                {"max_wait_ms", 200.0},
                                                {"on_missing", "drop"}}}));
}

TEST(CommandLine, LogsAreJsonWhereThatIsAskedFor) {
  RigOptions options;
  options.command = {"--config", "rig.yaml", "--log-format", "json"};
  RigRun rig("http_address: \"127.0.0.1:0\"\n" + two_cameras, options);  // which the publisher logs
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  std::istringstream lines(rig.log());
  std::set<std::string> processes;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    for (const char* key : {"time", "level", "message"}) EXPECT_FALSE(json.at(key).get<std::string>().empty()) << line;
    processes.insert(json.at("process"));
  }
  EXPECT_THAT(processes, testing::IsSupersetOf({"supervisor", "publisher"}));
}

TEST(CommandLine, CheckTellsEveryMistakeWithItsPlace) {
  const Answer answer = ask({"--config", "rig.yaml", "--check"},
                            "cameras:\n  dock:\n    source: \"test://pattern\"\n    filters:\n"
                            "      - resize: {widht: 64, height: 64}\n    encode: {preset: warp}\n  belt: {}\n");
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.errors,
              HasSubstr("rig.yaml:5:18: cameras.dock.filters[0].resize.widht: unknown key, did you mean 'width'?"));
  EXPECT_THAT(answer.errors, HasSubstr("rig.yaml:6:22: cameras.dock.encode.preset: "));
  EXPECT_THAT(answer.errors, HasSubstr("rig.yaml:7:3: cameras.belt: missing key 'source'"));
  EXPECT_EQ(answer.status, ask({"--config", "rig.yaml"}, "cameras: {}").status);
}

TEST(CommandLine, PlanShowsThePlacement) {
  const Answer answer = ask({"--config", "rig.yaml", "--plan"}, two_cameras);
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(
      answer.output,
      MatchesRegex("source .*\nmaster .*\nworker 0 .*\n  dock: .*\nworker 1 .*\n  belt: .*\npublisher .*\nrings\n.*"));
}

TEST(CommandLine, DurationEndsARun) {
  const auto begin = Clock::now();
  RigRun rig("cameras: {cam: {source: \"test://pattern?width=320&height=240\", record: {path: cam.mp4}}}",
             {.arguments = {"--duration", "1500ms"}});
  const int status = rig.wait();
  EXPECT_TRUE(status == 0 || status == 3) << status << rig.log();  // a busy machine may have no frame by then
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(1500));
  EXPECT_EQ(rig.report().at("exit"), "duration");
  if (status == 3) return;
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("cam.mp4")), true), "");
}

// Three cameras: text instead of a video, a video that is cut in its midst, and a good one.
TEST(Cameras, ThatCannotBeReadFailAlone) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "good.mp4", .frames = 40});
  make_clip(clips.path(), {.name = "whole.mkv", .frames = 40});
  const std::string folder = clips.path().string() + "/";
  std::filesystem::resize_file(folder + "whole.mkv", std::filesystem::file_size(folder + "whole.mkv") / 2);
  std::ofstream(folder + "text.mp4") << "this is not a video\n";
  std::ofstream(folder + "empty.mp4");
  std::string yaml = "defaults: {pace: fast, record: {path: \"{camera}.mp4\"}}\ncameras:\n";
  for (const std::string name : {"text.mp4", "empty.mp4", "whole.mkv", "good.mp4"}) {
    yaml += "  " + name.substr(0, name.find('.')) + ": {source: \"" + folder + name + "\"}\n";
  }
  RigRun rig(yaml);
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  for (const std::string name : {"text", "empty"}) {
    EXPECT_EQ(rig.camera(name).at("state"), "failed");
    EXPECT_THAT(rig.log(), HasSubstr(name + ": cannot "));
    EXPECT_FALSE(std::filesystem::exists(rig.file(name + ".mp4")));
  }
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("good.mp4")), true), "");
  EXPECT_EQ(rig.camera("good").at("frames").at("recorded"), 40);
  EXPECT_EQ(rig.camera("whole").at("state"), "ended");
  EXPECT_GE(rig.camera("whole").at("frames").at("recorded"), 5);
}

// Noise in the midst of a file costs the frames that it hits, and not the camera.
TEST(Cameras, SurviveDamagedFiles) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "a.ts", .frames = 100, .b_frames = 2});
  const std::string file = (clips.path() / "a.ts").string();
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file) / 3));
    std::uint32_t random = 7;
    for (int i = 0; i < 20'000; ++i) out.put(static_cast<char>((random = random * 1664525 + 1013904223) >> 24));
  }
  for (const int threads : {1, 4}) {
    RigRun rig("cameras: {cam: {source: \"" + file + "\", pace: fast, decode: {threads: " + std::to_string(threads) +
               "}, encode: {codec: h264}, record: {path: cam.mp4}}}");
    EXPECT_EQ(rig.wait(), 0) << rig.log();
    EXPECT_EQ(check_accounting(rig.report()), "");
    EXPECT_EQ(rig.report().at("master_restarts"), 0);
    const VideoFile recording = read_video(rig.file("cam.mp4"));
    EXPECT_GT(recording.pictures.size(), 50U);
    EXPECT_EQ(recording.complaints, 0) << recording.text;
  }
}

const std::string endless =
    "http_address: off\nrtsp_address: off\n"
    "cameras: {cam: {source: \"test://pattern?width=320&height=240\", record: {path: cam.mp4}}}";

TEST(Status, IsATableOnATerminal) {
  RigRun rig(endless, {.terminal = true});
  const auto count = [&](const std::string& text) { return static_cast<int>(times_in(rig.log(), text)); };
  // Three lines: head, camera, running time; each drawing goes back over the one before.
  ASSERT_TRUE(eventually([&] { return count("\x1b[3A\x1b[J") >= 3; })) << rig.log();
  EXPECT_GE(count("camera "), 3);
  EXPECT_GE(count("running 0:00:0"), 3);
  EXPECT_TRUE(eventually([&] { return count("cam: recording to cam.mp4") == 1; })) << rig.log();
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 0);
  EXPECT_TRUE(eventually([&] { return rig.log().rfind("ended") != std::string::npos; }));
}

TEST(Status, IsALineForEachChangeElsewhere) {
  const auto begin = Clock::now();
  RigRun rig(endless);
  ASSERT_TRUE(eventually([&] { return rig.log().find("fps in") != std::string::npos; })) << rig.log();
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(8500)) << "every 10 s, not more often";
  EXPECT_THAT(rig.log(), ContainsRegex("cam: running, [1-9][0-9.]* fps in, [1-9]"));
  EXPECT_EQ(rig.log().find('\x1b'), std::string::npos);
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 0);
}

// What passed before the first frame is no part of it.
TEST(Status, TheFirstLineHasTheRateOfTheFrames) {
  const TemporaryFolder folder;
  constexpr unsigned video_pid = 256;
  make_clip(folder.path(), {.name = "clip.ts", .frames = 400, .gop = 25});
  const std::vector<std::string> parts = ts_frames(read_text(folder.path() / "clip.ts"), video_pid);
  const Server sender([&](int fd, const std::atomic<bool>& over) {
    auto due = std::chrono::steady_clock::now() + std::chrono::seconds(4);
    for (const std::string& part : parts) {
      std::this_thread::sleep_until(due);
      if (over || !send_all(fd, part)) return;
      due += std::chrono::milliseconds(40);
    }
  });
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras: {cam: {source: \"tcp://127.0.0.1:" +
             std::to_string(sender.port()) + "\", encode: {codec: copy}, record: {path: cam.mkv}}}\n");
  ASSERT_TRUE(eventually([&] { return rig.log().find(" fps in") != std::string::npos; })) << rig.log();
  const std::string log = rig.log();
  const auto end = log.find(" fps in");
  const auto begin = log.rfind(' ', end - 1) + 1;
  EXPECT_NEAR(std::stod(log.substr(begin, end - begin)), 25, 2.5) << log;
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 0);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
