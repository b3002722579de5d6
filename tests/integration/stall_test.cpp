// Cameras that fall silent for a while, by every transport, decoded and copied: shorter and longer than read_timeout
// and than what makes a thread suspicious. Silence costs the camera itself its frames, and nobody anything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

constexpr std::uintmax_t some = 10'000;  // bytes of a recording

// A camera that can be paused.
class Camera {
 public:
  virtual ~Camera() = default;
  [[nodiscard]] virtual std::string url() const = 0;
  virtual void pause() = 0;
  virtual void go_on() = 0;
};

class RtspCamera final : public Camera {
 public:
  std::string url() const override { return camera_.url(); }
  void pause() override { camera_.pause(); }
  void go_on() override { camera_.go_on(); }

 private:
  TestCamera camera_;
};

// ffmpeg offers a stream to one receiver; when that one has left, another ffmpeg does.
class FfmpegCamera final : public Camera {
 public:
  // `output`: how ffmpeg is told, `source`: how the rig is; with %d for the port.
  FfmpegCamera(std::vector<std::string> output, const std::string& source, int kind)
      : output_(std::move(output)), url_(with_port(source, kind)) {
    for (std::string& word : output_) word = fill(word);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  std::string url() const override { return url_; }
  void pause() override { signal(SIGSTOP); }
  void go_on() override { signal(SIGCONT); }

 private:
  std::string with_port(const std::string& text, int kind) {
    port_ = free_port(kind);
    return fill(text);
  }
  [[nodiscard]] std::string fill(std::string text) const {
    if (const auto at = text.find("%d"); at != std::string::npos) text.replace(at, 2, std::to_string(port_));
    return text;
  }

  void run(const std::stop_token& stop) {
    std::vector<std::string> words{"ffmpeg", "-loglevel",   "fatal",    "-re",
                                   "-f",     "lavfi",       "-i",       "testsrc=size=160x120:rate=25",
                                   "-c:v",   "libx264",     "-preset",  "ultrafast",
                                   "-tune",  "zerolatency", "-threads", "1",
                                   "-g",     "25",          "-b:v",     "200k",
                                   "-f",     "mpegts"};
    words.insert(words.end(), output_.begin(), output_.end());
    while (!stop.stop_requested()) {
      {
        const std::lock_guard lock(mutex_);
        if (!program_ || program_->ended()) program_ = std::make_unique<Program>(words);
        if (paused_) program_->signal(SIGSTOP);
      }
      std::this_thread::sleep_for(milliseconds(20));
    }
  }

  void signal(int number) {
    const std::lock_guard lock(mutex_);
    paused_ = number == SIGSTOP;
    if (program_) program_->signal(number);
  }

  int port_ = 0;
  std::vector<std::string> output_;
  std::string url_;
  std::mutex mutex_;
  std::unique_ptr<Program> program_;
  bool paused_ = false;
  std::jthread thread_;
};

struct Transport {
  std::string name;
  std::string keys;  // of the camera, lines
  std::function<std::unique_ptr<Camera>()> make;
};

std::unique_ptr<Camera> http() {
  return std::make_unique<FfmpegCamera>(std::vector<std::string>{"-listen", "1", "http://127.0.0.1:%d/cam"},
                                        "http://127.0.0.1:%d/cam", SOCK_STREAM);
}
std::unique_ptr<Camera> udp() {
  return std::make_unique<FfmpegCamera>(std::vector<std::string>{"udp://127.0.0.1:%d?pkt_size=1316"},
                                        "udp://127.0.0.1:%d", SOCK_DGRAM);
}
std::unique_ptr<Camera> srt() {
  return std::make_unique<FfmpegCamera>(std::vector<std::string>{"srt://127.0.0.1:%d?mode=listener"},
                                        "srt://127.0.0.1:%d?mode=caller", SOCK_DGRAM);
}
std::unique_ptr<Camera> rtsp() { return std::make_unique<RtspCamera>(); }

// Two cameras of each kind, one decoded and one copied, and a test pattern that must never suffer.
class Stall : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = TestCamera::missing(); !reason.empty()) GTEST_SKIP() << reason;
  }

  void begin(const std::vector<Transport>& transports, const std::string& defaults = "") {
    std::string yaml =
        "http_address: \"127.0.0.1:" + std::to_string(port_) + "\"\nrtsp_address: off\n" +
        "defaults:\n  encode: {gop: 10, bitrate: 500k}\n" + defaults + "workers: {count: 2}\ncameras:\n" +
        "  steady: {source: \"test://pattern?width=160&height=120&rate=25\", record: {path: steady.mp4}}\n";
    for (const Transport& transport : transports) {
      for (const std::string way : {"decoded", "copied"}) {
        cameras_.push_back(transport.make());
        names_.push_back(transport.name + "-" + way);
        yaml += "  " + names_.back() + ":\n    source: \"" + cameras_.back()->url() +
                "\"\n    record: {path: " + names_.back() + ".mp4}\n" + transport.keys;
        if (way == "copied") yaml += "    encode: {codec: copy}\n";
      }
    }
    rig_ = std::make_unique<RigRun>(yaml);
  }

  void wait_for_more() {
    std::map<std::string, std::uintmax_t> before;
    for (const std::string& name : names_) before[name] = rig_->size(name + ".mp4");
    for (const std::string& name : names_) {
      ASSERT_TRUE(rig_->wait_for_growth(name + ".mp4", before[name] + some)) << name << "\n" << rig_->log();
    }
    newest_status_.clear();
    ASSERT_TRUE(eventually([&] { return caught_up(); })) << rig_->log();
  }

  // What an earlier stall held up has all been read: else the next one would begin later for the rig than here.
  [[nodiscard]] bool caught_up() {
    const Reply reply = ask(static_cast<std::uint16_t>(port_), "GET /api/v1/status");
    if (reply.status != 200) return false;
    const json status = json::parse(reply.body);
    // One may be a second old.
    const std::string before = std::exchange(newest_status_, status.at("time_utc"));
    if (before.empty() || before == newest_status_) return false;
    return std::ranges::all_of(names_, [&](const std::string& name) {
      const json& camera = status.at("cameras").at(name);
      return camera.at("state") == "running" && camera.at("source_health").at("lag_ms") < 200;
    });
  }

  void stall(std::chrono::nanoseconds length) {
    for (const auto& camera : cameras_) camera->pause();
    std::this_thread::sleep_for(length);  // the length of the stall is what is tested
    for (const auto& camera : cameras_) camera->go_on();
  }

  // Nobody was killed, nobody was quarantined, nobody lost anything for another's silence.
  void end_well() {
    rig_->signal(SIGTERM);
    EXPECT_EQ(rig_->wait(), 0) << rig_->log();
    const json report = rig_->report();
    EXPECT_EQ(check_accounting(report), "");
    EXPECT_EQ(report.at("master_restarts"), 0) << rig_->log();
    EXPECT_EQ(report.at("publisher_restarts"), 0) << rig_->log();
    for (const json& worker : report.at("workers")) EXPECT_EQ(worker.at("restarts"), 0) << rig_->log();
    for (const std::string& name : names_) EXPECT_EQ(report.at("cameras").at(name).at("state"), "ended") << name;
    EXPECT_TRUE(report.at("cameras").at("steady").at("frames").at("dropped").empty()) << report.dump(2);
    EXPECT_EQ(check_pattern_recording(read_video(rig_->file("steady.mp4")), true), "");
  }

  [[nodiscard]] json reconnects(const std::string& name) const { return rig_->camera(name).at("reconnects"); }

  std::vector<std::string> names_;
  const int port_ = free_port();
  std::string newest_status_;
  std::list<std::unique_ptr<Camera>> cameras_;
  std::unique_ptr<RigRun> rig_;
};

TEST_F(Stall, CostsOnlyTheCameraItself) {
  std::vector<Transport> transports{{"rtsp-tcp", "    rtsp_transport: tcp\n", rtsp},
                                    {"rtsp-udp", "    rtsp_transport: udp\n", rtsp},
                                    {"http", "", http},
                                    {"srt", "", srt}};
  // ThreadSanitizer ends the master where UDP is closed.
  if (udp_is_closed) transports.push_back({"udp", "", udp});
  begin(transports, "  read_timeout: 1s\n  retry_interval: 100ms\n  retry_max: 300ms\n");
  for (const int length : {100, 400, 800, 1000, 1200, 2000, 4000}) {
    SCOPED_TRACE(length);
    wait_for_more();
    if (HasFatalFailure()) return;
    stall(milliseconds(length));
  }
  wait_for_more();
  end_well();
  // The last two are far longer than read_timeout.
  for (const std::string& name : names_) EXPECT_GE(reconnects(name), 2) << name << rig_->log();
}

// With what is set where nothing is, a camera is given up after 10 s, as is documented, and comes back.
TEST_F(Stall, IsWaitedForAsLongAsIsConfigured) {
  begin({{"default", "    rtsp_transport: tcp\n", rtsp},
         {"patient", "    rtsp_transport: tcp\n    read_timeout: 30s\n", rtsp}});
  wait_for_more();
  stall(milliseconds(11'500));
  wait_for_more();
  end_well();
  for (const std::string& name : names_)
    EXPECT_EQ(reconnects(name), name.starts_with("default") ? 1 : 0) << name << rig_->log();
  for (const char* patient : {"patient-decoded: away", "patient-copied: away"})
    EXPECT_THAT(rig_->log(), Not(HasSubstr(patient)));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
