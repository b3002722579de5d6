// A camera's frame and sound on their way to push targets: what programs that listen there have got at the end, as
// ffprobe sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <memory>

#include "tests/integration/rig_run.h"
#include "tests/paths.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// Packets of the first track of "v" or "a" with that codec; 0: there is none.
int packets_of(const fs::path& file, const std::string& track, const std::string& codec) {
  const std::string command = "ffprobe -v error -select_streams " + track +
                              ":0 -count_packets -show_entries stream=codec_name,nb_read_packets -of csv=p=0 '" +
                              file.string() + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 32> name{};
  int packets = 0;
  const bool found = std::fscanf(pipe.get(), "%31[^,],%d", name.data(), &packets) == 2;
  return found && codec == name.data() ? packets : 0;
}

class Pushes : public testing::Test {
 protected:
  // Frame and sound of six seconds, which come again and again.
  void make_source(const std::string& name, const std::string& audio) {
    Program ffmpeg({"sh", "-c",
                    "ffmpeg -v error -f lavfi -i testsrc2=size=160x120:rate=25 -f lavfi -i sine=sample_rate=8000 -t 6"
                    " -c:v libx264 -g 10 -bf 0 " +
                        audio + " '" + (folder_.path() / name).string() + "'"});
    ASSERT_EQ(ffmpeg.wait(), 0);
    source_ = folder_.path() / name;
  }
  [[nodiscard]] std::string rig(const std::vector<std::string>& targets) const {
    std::string yaml = "cameras:\n  dock:\n    source: \"" + source_.string() +
                       "\"\n    loop: true\n    encode: {codec: copy}\n    push:\n";
    for (const std::string& target : targets) yaml += "      - \"" + target + "\"\n";
    return yaml;
  }
  // ffmpeg that takes one connection.
  [[nodiscard]] std::unique_ptr<Program> listen(const std::vector<std::string>& input, const std::string& file) const {
    std::vector<std::string> command{"ffmpeg", "-v", "error", "-y"};
    command.insert(command.end(), input.begin(), input.end());
    command.insert(command.end(), {"-c", "copy", "-flush_packets", "1", (folder_.path() / file).string()});
    return std::make_unique<Program>(command);
  }
  // Until each of the files has got two seconds, about.
  void run(RigRun& rig, const std::vector<std::string>& files) const {
    const std::uintmax_t enough = fs::file_size(source_) / 3;
    for (const std::string& file : files) {
      std::error_code none_yet;
      ASSERT_TRUE(eventually([&] {
        const std::uintmax_t size = fs::file_size(folder_.path() / file, none_yet);
        return !none_yet && size > enough;
      })) << file
          << rig.log();
    }
    rig.signal(SIGTERM);
    ASSERT_EQ(rig.wait(), 0) << rig.log();
  }
  // How many packets of sound come with a picture, nearly: one of them may begin, or end, a second before the other.
  static void expect_sound(const fs::path& file, const std::string& codec, double for_each_picture) {
    const int pictures = packets_of(file, "v", "h264");
    ASSERT_GE(pictures, 25) << file;
    EXPECT_NEAR(packets_of(file, "a", codec), for_each_picture * pictures, for_each_picture * 25) << file;
  }

  TemporaryFolder folder_;
  fs::path source_;
};

std::string local(const std::string& scheme, int port, const std::string& rest) {
  return scheme + "://127.0.0.1:" + std::to_string(port) + rest;
}

// From MPEG-TS, where each packet of AAC has a header and the stream has none.
TEST_F(Pushes, CarryTheCamerasSound) {
  make_source("a.ts", "-c:a aac -ar 48000");
  const std::string rtsp = local("rtsp", free_port(), "/dock");
  const std::string rtmp = local("rtmp", free_port(), "/live/dock");
  const int srt = free_port(SOCK_DGRAM);
  const auto by_rtsp = listen({"-rtsp_flags", "listen", "-i", rtsp}, "rtsp.mkv");
  const auto by_rtmp = listen({"-listen", "1", "-i", rtmp}, "rtmp.mkv");
  const auto by_srt = listen({"-i", local("srt", srt, "?mode=listener")}, "srt.mkv");
  RigRun pushing(rig({rtsp, rtmp, local("srt", srt, "")}));
  ASSERT_NO_FATAL_FAILURE(run(pushing, {"rtsp.mkv", "rtmp.mkv", "srt.mkv"}));
  EXPECT_EQ(by_rtsp->wait(), 0);
  by_rtmp->wait();  // ffmpeg takes the end of these for an error
  by_srt->wait();
  for (const std::string file : {"rtsp.mkv", "rtmp.mkv", "srt.mkv"})
    expect_sound(folder_.path() / file, "aac", 48000.0 / 1024 / 25);
  EXPECT_THAT(pushing.log(), Not(HasSubstr("without audio")));
}

TEST_F(Pushes, GoThroughTls) {
  make_source("a.mkv", "-c:a aac -ar 48000");
  const std::string key = folder_.path() / "key.pem";
  const std::string certificate = folder_.path() / "certificate.pem";
  Program openssl({"sh", "-c",
                   "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
                   "/CN=localhost -keyout '" +
                       key + "' -out '" + certificate + "' 2>&1"});
  ASSERT_EQ(openssl.wait(), 0);
  const auto relay = [&](int port, int target) {
    auto program = std::make_unique<Program>(
        std::vector<std::string>{"python3", std::string(source_folder) + "/tests/integration/tls_relay.py", certificate,
                                 key, std::to_string(port), std::to_string(target)});
    EXPECT_EQ(program->first_line(), "ready");
    return program;
  };
  const int rtsps = free_port();
  const int rtsp = free_port();
  const auto first = relay(rtsps, rtsp);
  const int rtmps = free_port();
  const int rtmp = free_port();
  const auto second = relay(rtmps, rtmp);
  const auto by_rtsps = listen({"-rtsp_flags", "listen", "-i", local("rtsp", rtsp, "/dock")}, "rtsps.mkv");
  const auto by_rtmps = listen({"-listen", "1", "-i", local("rtmp", rtmp, "/live/dock")}, "rtmps.mkv");
  RigRun pushing(rig({local("rtsps", rtsps, "/dock"), local("rtmps", rtmps, "/live/dock")}));
  ASSERT_NO_FATAL_FAILURE(run(pushing, {"rtsps.mkv", "rtmps.mkv"}));
  by_rtsps->wait();
  by_rtmps->wait();
  for (const std::string file : {"rtsps.mkv", "rtmps.mkv"})
    expect_sound(folder_.path() / file, "aac", 48000.0 / 1024 / 25);
}

TEST_F(Pushes, LeaveOutSoundThatTheTargetDoesNotTake) {
  make_source("a.mkv", "-c:a pcm_mulaw");
  const std::string rtsp = local("rtsp", free_port(), "/dock");
  const std::string rtmp = local("rtmp", free_port(), "/live/dock");
  const auto by_rtsp = listen({"-rtsp_flags", "listen", "-i", rtsp}, "rtsp.mkv");
  const auto by_rtmp = listen({"-listen", "1", "-i", rtmp}, "rtmp.mkv");
  RigRun pushing(rig({rtsp, rtmp}) + "    record: {path: dock.mkv}\n");
  ASSERT_NO_FATAL_FAILURE(run(pushing, {"rtsp.mkv", "rtmp.mkv"}));
  EXPECT_EQ(by_rtsp->wait(), 0);
  by_rtmp->wait();
  const fs::path recording = pushing.file("dock.mkv");
  const int recorded = packets_of(recording, "a", "pcm_mulaw");
  EXPECT_GT(recorded, 0);
  expect_sound(folder_.path() / "rtsp.mkv", "pcm_mulaw",
               static_cast<double>(recorded) / packets_of(recording, "v", "h264"));
  expect_sound(folder_.path() / "rtmp.mkv", "pcm_mulaw", 0);
  const std::string log = pushing.log();
  const auto told = log.find("without audio: pcm_mulaw");
  EXPECT_NE(told, std::string::npos) << log;
  EXPECT_EQ(log.find("without audio", told + 1), std::string::npos) << log;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
