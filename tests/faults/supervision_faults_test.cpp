// What is sent, exhausted or slow ends neither the rig nor cameras: exceptions in a process, no descriptors left,
// start-up with many cameras, a log that nobody reads.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "core/error.h"
#include "ipc/frame_ring_layout.h"
#include "ipc/shared_memory.h"
#include "tests/faults/fault_rig.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace {

using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string server(int port, const std::string& more = "workers: {count: 1}\n") {
  return "http_address: 127.0.0.1:" + std::to_string(port) + "\nrtsp_address: off\n" + more +
         "defaults: {encode: {gop: 10, bitrate: 1M}}\n";
}

std::string camera(const std::string& name, const std::string& more = "", int frames = 0) {
  return "  " + name + ": {source: \"test://pattern?width=160&height=120&rate=25&frames=" + std::to_string(frames) +
         "\", record: {path: " + name + ".mp4}" + more + "}\n";
}

// Status 0: the other side closed instead of an answer, or is not there.
Reply try_request(int port, const std::string& line) {
  try {
    const bool post = line.starts_with("POST");
    return ask(static_cast<std::uint16_t>(port), line, post ? "Content-Type: application/json\r\n" : "",
               post ? "{}" : "");
  } catch (const Error&) {
    return {};
  }
}

bool wait_for_state(int port, const std::string& name, const std::string& state) {
  return eventually([&] {
    const Reply reply = try_request(port, "GET /api/v1/cameras/" + name);
    return reply.status == 200 && nlohmann::json::parse(reply.body).value("state", "") == state;
  });
}

int restarts(const nlohmann::json& report) {
  int sum = report.at("master_restarts").get<int>() + report.at("publisher_restarts").get<int>();
  for (const auto& worker : report.at("workers")) sum += worker.at("restarts").get<int>();
  return sum;
}

// The rig goes on until it is told to end, and then has lost nothing of `name`.
void expect_goes_on(RigRun& rig, const std::string& name) {
  EXPECT_TRUE(rig.wait_for_growth(name + ".mp4", rig.size(name + ".mp4"))) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  const auto camera = rig.camera(name);
  EXPECT_EQ(camera.at("state"), "ended");
  EXPECT_EQ(camera.at("frames").at("recorded"), camera.at("frames").at("encoded"));
  EXPECT_EQ(check_books(rig.report()), "");
}

TEST(Request, ToRecordADisabledCameraIsRefused) {
  const int port = free_port();
  RigRun rig(server(port) + "cameras:\n" + camera("a") + camera("b", ", enabled: false"));
  ASSERT_TRUE(wait_for_state(port, "b", "disabled")) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  EXPECT_EQ(try_request(port, "POST /api/v1/cameras/b/record").status, 409) << rig.log();
  EXPECT_EQ(try_request(port, "POST /api/v1/cameras/a/record").status, 200) << rig.log();
  expect_goes_on(rig, "a");
  EXPECT_EQ(rig.report().at("publisher_restarts"), 0);
}

TEST(Request, ToStopTheRecordingOfAnEndedCameraIsRefused) {
  const int port = free_port();
  RigRun rig(server(port) + "cameras:\n" + camera("a") + camera("b", "", 10));
  ASSERT_TRUE(wait_for_state(port, "b", "ended")) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  const pid_t before = rig.pid_of("publisher");
  ::kill(before, SIGKILL);
  rig.successor_of("publisher", before);
  ASSERT_TRUE(wait_for_state(port, "a", "running")) << rig.log();
  EXPECT_EQ(try_request(port, "POST /api/v1/cameras/b/stop-recording").status, 409) << rig.log();
  expect_goes_on(rig, "a");
  EXPECT_EQ(rig.report().at("publisher_restarts"), 1);
}

TEST(Status, DoesNotSayThatACameraRecordsWhichHasEnded) {
  const int port = free_port();
  RigRun rig(server(port) + "cameras:\n" + camera("a") + camera("b", "", 10) + camera("c", ", enabled: false"));
  ASSERT_TRUE(wait_for_state(port, "b", "ended")) << rig.log();
  ASSERT_TRUE(wait_for_state(port, "a", "running")) << rig.log();
  const Answer answer = ask({"status", "--url", "http://127.0.0.1:" + std::to_string(port)});
  EXPECT_THAT(answer.output, ContainsRegex("\na +running [^\n]* on( |\n)"));
  EXPECT_THAT(answer.output, ContainsRegex("\n[bc] +(ended|disabled) "));
  EXPECT_THAT(answer.output, Not(ContainsRegex("\n[bc] +(ended|disabled) [^\n]* on( |\n)")));
  expect_goes_on(rig, "a");
}

// A process that throws is like one that crashes: its cameras go on in the next one.
TEST(Exception, InThePublisherEndsNoCamera) {
  const int port = free_port();
  RigRun rig(server(port) + "cameras:\n" + camera("a") + camera("b"), {.failpoints = "child.message@record=throw"});
  ASSERT_TRUE(wait_for_state(port, "a", "running")) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  const pid_t before = rig.pid_of("publisher");
  try_request(port, "POST /api/v1/cameras/b/record");
  rig.successor_of("publisher", before);
  expect_goes_on(rig, "a");
  EXPECT_EQ(rig.camera("b").at("state"), "ended");
  EXPECT_EQ(rig.report().at("publisher_restarts"), 1);
}

// Each worker gets the rings of its two cameras, and then those of a new master.
TEST(Exception, InTheWorkersEndsNoCamera) {
  RigRun rig(fault_rig(0), {.failpoints = "child.message@frame_ring:3=throw"});
  ASSERT_TRUE(wait_until_recording(rig)) << rig.log();
  const pid_t master = rig.pid_of("master");
  const std::vector<pid_t> workers{rig.pid_of("worker 0"), rig.pid_of("worker 1")};
  ::kill(master, SIGKILL);
  rig.successor_of("worker 0", workers[0]);
  rig.successor_of("worker 1", workers[1]);
  for (const std::string& name : fault_cameras) {
    ASSERT_TRUE(rig.wait_for_growth(name + ".mp4", rig.size(name + ".mp4"))) << rig.log();
  }
  expect_goes_on(rig, "a");
  for (const std::string& name : fault_cameras) EXPECT_EQ(rig.camera(name).at("state"), "ended") << name;
}

TEST(Exception, InTheMasterEndsNoCamera) {
  const int port = free_port();
  RigRun rig(server(port) + "cameras:\n" + camera("a"), {.failpoints = "child.message@stop_camera=throw"});
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  const pid_t before = rig.pid_of("master");
  std::ofstream(rig.file("rig.yaml")) << server(port) + "cameras:\n" + camera("a") + camera("b");
  rig.signal(SIGHUP);  // no camera is told to stop yet
  ASSERT_TRUE(rig.wait_for_growth("b.mp4", 2000)) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << server(port) + "cameras:\n" + camera("a");
  rig.signal(SIGHUP);
  rig.successor_of("master", before);
  expect_goes_on(rig, "a");
}

// Connections that do nothing leave the rig the descriptors that it needs, also for the rings of a new worker.
TEST(Descriptors, IdleConnectionsLeaveRoomForRings) {
  const int port = free_port();
  RigRun rig(server(port) + "cameras:\n" + camera("a"), {.descriptors = 200});
  ASSERT_TRUE(wait_for_state(port, "a", "running")) << rig.log();
  std::vector<std::unique_ptr<TcpClient>> idle;
  for (int i = 0; i < 250; ++i) {
    try {
      idle.push_back(std::make_unique<TcpClient>(static_cast<std::uint16_t>(port)));
    } catch (const Error&) {
      break;
    }
  }
  EXPECT_GT(idle.size(), 50U);
  const pid_t publisher = rig.pid_of("publisher");
  for (int time = 0; time < 2; ++time) {
    const pid_t worker = rig.pid_of("worker 0");
    ::kill(worker, SIGKILL);
    rig.successor_of("worker 0", worker);
    ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  }
  EXPECT_EQ(rig.pid_of("publisher"), publisher) << rig.log();
  expect_goes_on(rig, "a");
}

// More cameras than there are descriptors for: some fail, with the reason; the others are recorded, and no process
// dies.
TEST(Descriptors, CamerasWithoutFailAlone) {
  constexpr int cameras = 24;
  std::string yaml =
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {encode: {gop: 5}}\ncameras:\n";
  for (int i = 0; i < cameras; ++i) yaml += camera("c" + std::to_string(i), "", 50);
  RigRun rig(yaml, {.descriptors = 72});
  EXPECT_EQ(rig.wait(2 * long_time), 3) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(check_books(report), "");
  int good = 0;
  for (const auto& [name, one] : report.at("cameras").items()) {
    if (one.at("state") == "failed") {
      EXPECT_NE(one.value("reason", ""), "") << name;
    } else {
      EXPECT_EQ(one.at("frames").at("decoded"), 50) << name;
      ++good;
    }
  }
  EXPECT_GT(good, 0) << rig.log();
  EXPECT_LT(good, cameras) << "the limit was not low enough for this test";
  EXPECT_EQ(restarts(rig.report()), 0) << rig.log();
}

TEST(Descriptors, TheCheckSaysWhatTheRigNeeds) {
  const std::string yaml = "http_address: off\nrtsp_address: off\ncameras:\n" + camera("a") + camera("b");
  RigRun enough(yaml, {.command = {"--config", "rig.yaml", "--check"}});
  EXPECT_EQ(enough.wait(), 0);
  EXPECT_THAT(enough.output(), HasSubstr("descriptors"));
  EXPECT_EQ(enough.log(), "");
  RigRun few(yaml, {.descriptors = 40, .command = {"--config", "rig.yaml", "--check"}});
  EXPECT_EQ(few.wait(), 0);
  EXPECT_THAT(few.log(), HasSubstr("LimitNOFILE"));
}

// What there is no room for is refused before anything is changed, also where only a camera is enabled.
TEST(Descriptors, ACameraThatFindsNoneIsNotEnabled) {
  const int port = free_port();
  constexpr int cameras = 24;
  std::string yaml = server(port) + "cameras:\n" + camera("a");
  for (int i = 0; i < cameras; ++i) yaml += camera("c" + std::to_string(i), ", enabled: false");
  RigRun rig(yaml, {.descriptors = 110});
  ASSERT_TRUE(wait_for_state(port, "a", "running")) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  int refused = 0;
  for (int i = 0; i < cameras && refused == 0; ++i) {
    const Reply reply = try_request(port, "POST /api/v1/cameras/c" + std::to_string(i) + "/enable");
    EXPECT_TRUE(reply.status == 200 || reply.status == 409) << reply.status << reply.body;
    if (reply.status == 409) {
      ++refused;
      EXPECT_THAT(reply.body, HasSubstr("descriptors"));
      EXPECT_TRUE(wait_for_state(port, "c" + std::to_string(i), "disabled"));
    }
  }
  EXPECT_EQ(refused, 1) << "the limit was not low enough for this test";
  expect_goes_on(rig, "a");
}

TEST(Change, ThatCannotBeMadeLeavesItsCameraAsFailed) {
  const int port = free_port();
  const std::string others = server(port) + "cameras:\n" + camera("a");
  RigRun rig(others + camera("b"), {.failpoints = "supervisor.placing@b=throw"});
  ASSERT_TRUE(wait_for_state(port, "b", "running")) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << others + camera("b", ", queue_size: 21");
  rig.signal(SIGHUP);
  ASSERT_TRUE(wait_for_state(port, "b", "failed")) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << others + camera("b", ", queue_size: 22");
  rig.signal(SIGHUP);
  ASSERT_TRUE(wait_for_state(port, "b", "running")) << rig.log();
  expect_goes_on(rig, "a");
}

TEST(Rig, RunsFromAFileWhoseNameIsNotUtf8) {
  const int port = free_port();
  RigRun rig(server(port) + "cameras:\n" + camera("a"), {.config = "caf\xe9.yaml"});
  ASSERT_TRUE(wait_for_state(port, "a", "running")) << rig.log();
  rig.signal(SIGHUP);
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  expect_goes_on(rig, "a");
  EXPECT_EQ(restarts(rig.report()), 0) << rig.log();
}

TEST(Rig, DoesNotWaitForTheMemoryOfAProcess) {
  RigRun rig("http_address: off\nrtsp_address: off\ncameras:\n" + camera("a", "", 50),
             {.failpoints = "memory.sampling=wait100"});
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.camera("a").at("frames").at("recorded"), 50);
}

TEST(Rig, DoesNotWaitForAReaderOfItsLog) {
  std::string yaml = "http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n";
  for (int i = 0; i < 8; ++i) yaml += camera("c" + std::to_string(i), "", 50);
  RigRun rig(yaml, {.arguments = {"--log-level", "trace"}, .unread = true});
  EXPECT_EQ(rig.wait(), 0);
  const auto report = rig.report();
  EXPECT_EQ(restarts(report), 0);
  for (const auto& [name, one] : report.at("cameras").items()) EXPECT_EQ(one.at("frames").at("recorded"), 50) << name;
}

TEST(Rig, DoesNotWaitForTheDiskOfItsReport) {
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" + camera("a"),
             {.failpoints = "report.writing=wait100"});
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  const pid_t worker = rig.pid_of("worker 0");
  ::kill(worker, SIGKILL);
  rig.successor_of("worker 0", worker);
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(seconds(20)), 1) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("the report 'report.json' is not written"));
}

TEST(Rig, DoesNotStartWhereTheDiskOfItsReportDoesNotAnswer) {
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" + camera("a"),
             {.failpoints = "report.opening=hang"});
  EXPECT_EQ(rig.wait(seconds(20)), 2) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("--report: cannot write 'report.json': its disk does not answer"));
}

// The others do not wait for it at the barrier.
TEST(Start, OfAProcessThatCannotBeStartedHoldsUpNobody) {
  std::string failpoints;
  for (int i = 0; i < 12; ++i) failpoints += "supervisor.starting@worker 1=throw,";  // one after the other
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n" + camera("a") + camera("b"),
             {.failpoints = failpoints});
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000, seconds(20))) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("tried again"));
  EXPECT_FALSE(rig.find("worker 1"));
  rig.signal(SIGTERM);
  rig.wait();
}

// The kernel's buffer between two processes holds the messages of some ninety cameras.
TEST(Start, OfManyCamerasInSlowProcesses) {
  constexpr int cameras = 256;
  std::string yaml =
      "http_address: off\nrtsp_address: off\nworkers: {count: 2}\ndefaults:\n  encode: {codec: mjpeg}\n"
      "  source: \"test://pattern?width=160&height=120&rate=1&frames=2\"\n  record: {path: "
      "\"{camera}.mp4\"}\ncameras:\n";
  for (int i = 0; i < cameras; ++i) yaml += "  c" + std::to_string(i) + ": {}\n";
  RigRun rig(yaml, {.failpoints = "child.starting=wait10"});
  EXPECT_EQ(rig.wait(2 * long_time), 0) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(restarts(report), 0) << rig.log();
  for (const auto& [name, one] : report.at("cameras").items()) {
    EXPECT_EQ(one.at("frames").at("recorded"), 2) << name;
  }
}

// What lies in the packet rings is written, although the publisher would have waited for longer than the rig may take.
TEST(Ending, StartsAProcessThatWaitsForItsRestart) {
  RigRun rig(
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {encode: {gop: 10, bitrate: 1M}}\n"
      "cameras:\n" +
      camera("a"));
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  pid_t publisher = rig.pid_of("publisher");
  const auto waits = [&] {
    return rig.log().find("publisher died") != std::string::npos &&
           rig.log().find("it starts again in 4.00 s") != std::string::npos;
  };
  while (!waits()) {
    ::kill(publisher, SIGKILL);
    const bool next = eventually([&] { return waits() || rig.find("publisher").value_or(publisher) != publisher; });
    ASSERT_TRUE(next) << rig.log();
    publisher = rig.find("publisher").value_or(publisher);
  }
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  const auto frames = rig.camera("a").at("frames");
  EXPECT_EQ(frames.at("recorded"), frames.at("encoded")) << rig.log();
}

// The failpoint says so each time that the worker tries, which is once a second.
TEST(Ring, ThatWaitsForGpuMemoryGoesWithItsCamera) {
  std::string failpoints;
  for (int i = 2; i < 40; ++i) failpoints += "worker.opening_ring:" + std::to_string(i) + "=gpu_full,";
  const std::string quiet = "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n";
  RigRun rig(quiet + camera("a"), {.failpoints = failpoints});
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  std::ofstream(rig.file("rig.yaml")) << quiet + camera("a") + camera("b", ", drop_policy: drop");
  rig.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return rig.log().find("cannot be used yet") != std::string::npos; })) << rig.log();
  const pid_t worker = rig.pid_of("worker 0");
  std::ofstream(rig.file("rig.yaml")) << quiet + camera("a");
  rig.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return rig.log().find("b: gone") != std::string::npos; })) << rig.log();
  // Long enough for a further try.
  for (int growth = 0; growth < 3; ++growth) ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  EXPECT_EQ(rig.pid_of("worker 0"), worker) << rig.log();
  expect_goes_on(rig, "a");
}

// Of all frame rings that the supervisor knows.
void for_each_ring(const RigRun& rig, const std::function<void(ring::Header& header)>& look) {
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(rig.supervisor()) + "/fd", error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.find("campipe frame ring (") == std::string::npos) continue;
    const UniqueFd fd(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
    if (!fd) continue;
    const Mapping memory(fd.get(), Mapping::Access::read_write);
    look(*reinterpret_cast<ring::Header*>(memory.bytes().data()));
  }
}

// The most places for readers that are not empty.
std::size_t most_places_taken(const RigRun& rig) {
  std::size_t most = 0;
  for_each_ring(rig, [&](const ring::Header& header) {
    const auto taken =
        std::ranges::count_if(header.readers, [](const auto& r) { return r.state.load() != ReaderState::empty; });
    most = std::max(most, static_cast<std::size_t>(taken));
  });
  return most;
}

// As if so many workers had died that no place is left. A writer that lives frees them again with its next frame.
void take_all_places(const RigRun& rig) {
  for_each_ring(rig, [](ring::Header& header) {
    for (auto& reader : header.readers) {
      ReaderState empty = ReaderState::empty;
      reader.state.compare_exchange_strong(empty, ReaderState::gone);
    }
  });
}

// Nobody would ever free a place in it again: each worker that dies would take one, and there are sixteen.
TEST(Ring, OfADeadMasterIsOfferedToNobody) {
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  TestCamera away;
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" +
             camera("a", ", drop_policy: drop") + "  b: {source: \"" + away.url() +
             "\", encode: {codec: h264}, record: {path: b.mp4}}\n");
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("b.mp4", 2000)) << rig.log();
  away.kill();
  const pid_t master = rig.pid_of("master");
  ::kill(master, SIGKILL);
  rig.successor_of("master", master);
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  for (int time = 0; time < 3; ++time) {
    const pid_t worker = rig.pid_of("worker 0");
    ::kill(worker, SIGKILL);
    rig.successor_of("worker 0", worker);
    ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  }
  EXPECT_EQ(most_places_taken(rig), 1U) << "that of the worker which died first";
  take_all_places(rig);
  const pid_t worker = rig.pid_of("worker 0");
  ::kill(worker, SIGKILL);
  rig.successor_of("worker 0", worker);
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  EXPECT_THAT(rig.log(), Not(HasSubstr("cannot "))) << "a step of the supervisor failed";
  EXPECT_THAT(rig.log(), Not(HasSubstr("no reader has a place"))) << "nobody would have made a place there";
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
}

// Whoever reads a ring can write its writer's word, too. The supervisor forgets the pixels of a ring that was closed.
TEST(Ring, ThatWasSaidToBeClosedIsReplaced) {
  RigRun rig("http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n" +
             camera("a", ", drop_policy: drop"));
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 2000)) << rig.log();
  const pid_t worker = rig.pid_of("worker 0");
  ::kill(worker, SIGSTOP);  // it would take the ring for finished
  const auto pixels = [&] {
    int found = 0;
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(rig.supervisor()) + "/fd", error)) {
      const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
      found += target.find("campipe frame ring pixels") == std::string::npos ? 0 : 1;
    }
    return found;
  };
  ASSERT_EQ(pixels(), 1);
  // Again and again: the writer puts it right.
  ASSERT_TRUE(eventually([&] {
    for_each_ring(rig, [](ring::Header& header) { header.writer = WriterState::closed; });
    return pixels() == 0;
  }));
  for_each_ring(rig, [](ring::Header& header) { header.writer = WriterState::open; });
  ::kill(worker, SIGKILL);
  const pid_t successor = rig.successor_of("worker 0", worker);
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", rig.size("a.mp4"))) << rig.log();
  EXPECT_EQ(rig.pid_of("worker 0"), successor) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("was said to be closed"));
  expect_goes_on(rig, "a");
}

// A packet that brings down whoever reads it is not given to one publisher after the other.
TEST(Poison, ThatBringsDownThePublisherGoesWithItsCamera) {
  const int port = free_port();
  RigRun rig(server(port) + "cameras:\n" + camera("a") + camera("b"), {.failpoints = "publisher.live@a=segv"});
  ASSERT_TRUE(eventually([&] { return rig.log().find("a: quarantined") != std::string::npos; })) << rig.log();
  ASSERT_TRUE(wait_for_state(port, "a", "failed")) << rig.log();
  const pid_t publisher = rig.pid_of("publisher");
  ASSERT_TRUE(rig.wait_for_growth("b.mp4", rig.size("b.mp4") + 2000)) << rig.log();
  EXPECT_EQ(rig.pid_of("publisher"), publisher);
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(check_books(report), "");
  EXPECT_EQ(report.at("publisher_restarts"), 4) << rig.log();
  EXPECT_EQ(rig.camera("b").at("frames").at("recorded"), rig.camera("b").at("frames").at("encoded"));
  const auto frames = rig.camera("a").at("frames");
  EXPECT_EQ(frames.at("recorded").get<int>() + frames.at("unrecorded").get<int>(), frames.at("encoded"))
      << "what nobody took is counted";
}

// More packets than its ring holds: its camera waits for nobody who would take them.
TEST(Poison, OfAnOutputLeavesItsCameraAlone) {
  const int port = free_port();
  constexpr int frames = 5000;
  RigRun rig(server(port) + "cameras:\n  a:\n    source: \"test://pattern?width=160&height=120&rate=500&frames=" +
                 std::to_string(frames) +
                 "\"\n    drop_policy: block\n    record: {path: a.mp4}\n    outputs:\n"
                 "      small: {encode: {codec: mjpeg}, record: {path: small.mp4}}\n",
             {.failpoints = "publisher.live@a/small=segv"});
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  const auto camera = rig.camera("a");
  EXPECT_EQ(camera.at("state"), "ended") << rig.log();
  EXPECT_EQ(camera.at("frames").at("recorded"), frames);
  EXPECT_EQ(camera.at("outputs").at("small").at("state"), "failed");
  EXPECT_EQ(rig.report().at("publisher_restarts"), 4) << rig.log();
}

}  // namespace
}  // namespace campipe::test
