// A camera's frame and sound on their way to push targets: what programs that listen there have got at the end, as
// ffprobe sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "tests/integration/rig_run.h"
#include "tests/paths.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
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
  static constexpr int seconds = 6;

  // Frame and sound of `seconds`.
  void make_source(const std::string& name, const std::string& audio) {
    Program ffmpeg({"sh", "-c",
                    "ffmpeg -v error -f lavfi -i testsrc2=size=160x120:rate=25 -f lavfi -i sine=sample_rate=8000 -t " +
                        std::to_string(seconds) + " -c:v libx264 -g 10 -bf 0 " + audio + " '" +
                        (folder_.path() / name).string() + "'"});
    ASSERT_EQ(ffmpeg.wait(), 0);
    source_ = folder_.path() / name;
  }
  [[nodiscard]] std::string rig(const std::vector<std::string>& targets) const {
    std::string yaml =
        "cameras:\n  dock:\n    source: \"" + source_.string() + "\"\n    encode: {codec: copy}\n    push:\n";
    for (const std::string& target : targets) yaml += "      - \"" + target + "\"\n";
    return yaml;
  }
  // ffmpeg that takes one connection.
  [[nodiscard]] std::unique_ptr<Program> listen(const std::vector<std::string>& input, const std::string& file) const {
    std::vector<std::string> command{"ffmpeg", "-v", "error", "-y"};
    command.insert(command.end(), input.begin(), input.end());
    command.insert(command.end(), {"-c", "copy", (folder_.path() / file).string()});
    return std::make_unique<Program>(command);
  }
  // All of them, but for what a receiver needs to find out what comes.
  void expect_pictures(const std::string& file, int may_lack) const {
    EXPECT_THAT(packets_of(folder_.path() / file, "v", "h264"), AllOf(Ge(seconds * 25 - may_lack), Le(seconds * 25)))
        << file;
  }
  void expect_sound(const std::string& file, const std::string& codec, int packets, int may_lack) const {
    EXPECT_THAT(packets_of(folder_.path() / file, "a", codec), AllOf(Ge(packets - may_lack), Le(packets))) << file;
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
  RigRun run(rig({rtsp, rtmp, local("srt", srt, "")}));
  ASSERT_EQ(run.wait(), 0) << run.log();
  EXPECT_EQ(by_rtsp->wait(), 0);
  by_rtmp->wait();  // ffmpeg takes the end of these for an error
  by_srt->wait();
  const int sounds = seconds * 48000 / 1024 + 1;
  for (const std::string file : {"rtsp.mkv", "rtmp.mkv", "srt.mkv"}) {
    expect_pictures(file, 100);
    expect_sound(file, "aac", sounds, sounds * 2 / 3);
  }
  EXPECT_THAT(run.log(), Not(HasSubstr("without audio")));
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
  RigRun run(rig({local("rtsps", rtsps, "/dock"), local("rtmps", rtmps, "/live/dock")}));
  ASSERT_EQ(run.wait(), 0) << run.log();
  by_rtsps->wait();
  by_rtmps->wait();
  const int sounds = seconds * 48000 / 1024 + 1;
  for (const std::string file : {"rtsps.mkv", "rtmps.mkv"}) {
    expect_pictures(file, 100);
    expect_sound(file, "aac", sounds, sounds * 2 / 3);
  }
}

TEST_F(Pushes, LeaveOutSoundThatTheTargetDoesNotTake) {
  make_source("a.mkv", "-c:a pcm_mulaw");
  const std::string rtsp = local("rtsp", free_port(), "/dock");
  const std::string rtmp = local("rtmp", free_port(), "/live/dock");
  const auto by_rtsp = listen({"-rtsp_flags", "listen", "-i", rtsp}, "rtsp.mkv");
  const auto by_rtmp = listen({"-listen", "1", "-i", rtmp}, "rtmp.mkv");
  RigRun run(rig({rtsp, rtmp}) + "    record: {path: dock.mkv}\n");
  ASSERT_EQ(run.wait(), 0) << run.log();
  EXPECT_EQ(by_rtsp->wait(), 0);
  by_rtmp->wait();
  expect_pictures("rtsp.mkv", 100);
  expect_pictures("rtmp.mkv", 100);
  const int recorded = packets_of(run.file("dock.mkv"), "a", "pcm_mulaw");
  EXPECT_GT(recorded, 0);
  expect_sound("rtsp.mkv", "pcm_mulaw", recorded, recorded * 2 / 3);
  expect_sound("rtmp.mkv", "pcm_mulaw", 0, 0);
  const std::string log = run.log();
  const auto told = log.find("without audio: pcm_mulaw");
  EXPECT_NE(told, std::string::npos) << log;
  EXPECT_EQ(log.find("without audio", told + 1), std::string::npos) << log;
}

}  // namespace
}  // namespace campipe::test
