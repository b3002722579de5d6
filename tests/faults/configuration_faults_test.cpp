// A configuration that cannot be read, or that names an encoder whose library crashes or hangs, is refused: at the
// start, at --check, and while the rig runs, where nobody waits for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "tests/integration/environment.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/paths.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* crashes = "666k";
constexpr const char* hangs = "667k";
constexpr const char* waits = "668k";  // for a file called `opened`

// Of every program that the test starts.
struct BrokenCodecs {
  Environment preload{"LD_PRELOAD", broken_codecs_library};
};

std::string camera(const std::string& name, const std::string& bitrate = "1M") {
  return "  " + name +
         ": {source: \"test://pattern?width=160&height=120&rate=25\", encode: {gop: 10, bitrate: " + bitrate +
         "}, record: {path: " + name + ".mp4}}\n";
}

class Configuration : public testing::Test {
 protected:
  void begin() {
    rig_ = std::make_unique<RigRun>(head_ + "cameras:\n" + camera("a"));
    ASSERT_TRUE(rig_->wait_for_growth("a.mp4", 2000)) << rig_->log();
  }
  void write(const std::string& yaml) const { std::ofstream(rig_->file("rig.yaml")) << yaml; }
  [[nodiscard]] bool told(const std::string& what) const {
    return eventually([&] { return rig_->log().find(what) != std::string::npos; });
  }
  // A file on it is like a pipe that nobody writes into.
  void reload_from_a_disk_that_does_not_answer() {
    ASSERT_EQ(::mkfifo(rig_->file("rig.crt").c_str(), 0600), 0);
    write(head_ + "tls: {certificate: rig.crt, key: rig.crt}\ncameras:\n" + camera("a"));
    rig_->signal(SIGHUP);
    ASSERT_TRUE(told("reading rig.yaml again")) << rig_->log();
  }
  // The supervisor looks after its processes, and takes the next configuration. Nobody has died.
  void expect_goes_on() {
    write(head_ + "cameras:\n" + camera("a") + camera("b"));
    rig_->signal(SIGHUP);
    EXPECT_TRUE(rig_->wait_for_growth("b.mp4", 2000)) << rig_->log();
    rig_->signal(SIGTERM);
    EXPECT_EQ(rig_->wait(), 0) << rig_->log();
    EXPECT_EQ(check_accounting(rig_->report()), "");
    EXPECT_EQ(rig_->report().at("publisher_restarts"), 0);
    EXPECT_EQ(rig_->report().at("master_restarts"), 0);
    EXPECT_EQ(check_pattern_recording(read_video(rig_->file("a.mp4")), !worker_died_), "");
  }

  const int port_ = free_port();
  const std::string head_ =
      "http_address: 127.0.0.1:" + std::to_string(port_) + "\nrtsp_address: off\nworkers: {count: 1}\n";
  std::unique_ptr<RigRun> rig_;
  bool worker_died_ = false;
};

// A signal that comes while the configuration is read for the first time.
class FirstReading : public Configuration {
 protected:
  void begin_reading() {
    rig_ = std::make_unique<RigRun>(head_ + "cameras:\n" + camera("a", waits));
    ASSERT_TRUE(eventually([this] { return std::filesystem::exists(rig_->file("opening")); })) << rig_->log();
  }

  const BrokenCodecs codecs_;
};

TEST_F(FirstReading, IsReadAgainAfterSighup) {
  begin_reading();
  write(head_ + "cameras:\n" + camera("a", waits) + camera("b"));
  rig_->signal(SIGHUP);
  std::ofstream(rig_->file("opened")) << "";
  EXPECT_TRUE(rig_->wait_for_growth("b.mp4", 2000)) << rig_->log();
  rig_->signal(SIGTERM);
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  EXPECT_EQ(check_accounting(rig_->report()), "");
  EXPECT_EQ(check_pattern_recording(read_video(rig_->file("a.mp4")), true), "");
}

TEST_F(FirstReading, EndsAtOnceWithSigintAndSigterm) {
  for (const int signal : {SIGINT, SIGTERM}) {
    SCOPED_TRACE(signal);
    begin_reading();
    rig_->signal(signal);
    EXPECT_EQ(rig_->wait(), 0) << rig_->log();
    EXPECT_TRUE(eventually([this] { return rig_->processes().empty(); }));
    EXPECT_THAT(rig_->log(), HasSubstr("stopped before the rig was started"));
    EXPECT_THAT(rig_->log(), testing::Not(HasSubstr("took longer"))) << "it was not waited for";
    EXPECT_FALSE(std::filesystem::exists(rig_->file("a.mp4")));
  }
}

// What runs no rig is ended as any program is: nobody must believe that the file was looked at.
TEST_F(FirstReading, OfACheckIsEndedByTheSignalItself) {
  RigRun::Options options;
  options.command = {"--config", "rig.yaml", "--check"};
  rig_ = std::make_unique<RigRun>(head_ + "cameras:\n" + camera("a", waits), options);
  ASSERT_TRUE(eventually([this] { return std::filesystem::exists(rig_->file("opening")); })) << rig_->log();
  rig_->signal(SIGTERM);
  EXPECT_EQ(rig_->wait(), 128 + SIGTERM) << rig_->log();
}

// What it names may be there later: the rig starts, and takes changes.
TEST_F(Configuration, NamesFilesOnADiskThatDoesNotAnswer) {
  const TemporaryFolder disk;
  const std::string file = (disk.path() / "rig.crt").string();
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  const std::string head = head_ + "tls: {certificate: " + file + ", key: " + file + "}\ncameras:\n";
  rig_ = std::make_unique<RigRun>(head + camera("a"));
  ASSERT_TRUE(rig_->wait_for_growth("a.mp4", 2000)) << rig_->log();
  EXPECT_THAT(rig_->log(), HasSubstr("not now: rig.yaml:4:20: tls.certificate: the file '" + file +
                                     "' is on a disk that does not answer"));
  for (const std::string added : {"b", "c"}) {  // while the process that looked there before waits still
    write(head + camera("a") + camera(added));
    rig_->signal(SIGHUP);
    EXPECT_TRUE(rig_->wait_for_growth(added + ".mp4", 2000)) << rig_->log();
  }
  rig_->signal(SIGTERM);
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  EXPECT_TRUE(eventually([this] { return rig_->processes().empty(); })) << "one is left behind";
}

// Neither for a file that has become a pipe.
TEST_F(Configuration, WithADiskThatDoesNotAnswerIsWaitedForByNobody) {
  begin();
  ASSERT_NO_FATAL_FAILURE(reload_from_a_disk_that_does_not_answer());
  const pid_t worker = rig_->pid_of("worker 0");
  ::kill(worker, SIGKILL);
  worker_died_ = true;
  rig_->successor_of("worker 0", worker);
  ASSERT_TRUE(rig_->wait_for_growth("a.mp4", rig_->size("a.mp4"))) << rig_->log();
  EXPECT_TRUE(told("not reloaded: 'tls' cannot be changed while the rig runs")) << rig_->log();
  const std::string log = rig_->log();
  EXPECT_LT(log.find("worker 0 died"), log.find("not reloaded")) << "its restart waited\n" << log;
  std::filesystem::remove(rig_->file("rig.yaml"));
  ASSERT_EQ(::mkfifo(rig_->file("rig.yaml").c_str(), 0600), 0);
  rig_->signal(SIGHUP);
  EXPECT_TRUE(told("not reloaded: rig.yaml: is a pipe, expected a regular file")) << rig_->log();
  std::filesystem::remove(rig_->file("rig.yaml"));
  expect_goes_on();
}

// What is asked for meanwhile is answered: what is read waits until the answer was there.
TEST_F(Configuration, IsReadWhileTheApiAnswers) {
  const BrokenCodecs codecs;
  begin();
  write(head_ + "cameras:\n" + camera("a") + camera("b", waits));
  rig_->signal(SIGHUP);
  ASSERT_TRUE(eventually([this] { return std::filesystem::exists(rig_->file("opening")); })) << rig_->log();
  const auto port = static_cast<std::uint16_t>(port_);
  EXPECT_EQ(ask(port, "POST /api/v1/cameras/a/stop-recording", "Content-Type: application/json\r\n", "{}").status, 200);
  EXPECT_THAT(rig_->log(), testing::Not(HasSubstr("took longer"))) << "it was answered once the encoder was given up";
  std::ofstream(rig_->file("opened")) << "";
  EXPECT_TRUE(rig_->wait_for_growth("b.mp4", 2000)) << rig_->log();
  rig_->signal(SIGTERM);
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
}

TEST_F(Configuration, WithAnEncoderThatCrashesIsRefusedAtTheStart) {
  if (is_sanitized) GTEST_SKIP() << answers_signals;
  const BrokenCodecs codecs;
  const std::string yaml = "http_address: off\nrtsp_address: off\ncameras:\n" + camera("a", crashes);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"--config", "rig.yaml"}, {"--config", "rig.yaml", "--check"}}) {
    const Answer answer = ask(command, yaml);
    EXPECT_EQ(answer.status, 2);
    EXPECT_THAT(answer.errors,
                AllOf(HasSubstr("rig.yaml:4:"), HasSubstr("cameras.a.encode: opening an encoder of h264"),
                      HasSubstr("Segmentation fault")));
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
