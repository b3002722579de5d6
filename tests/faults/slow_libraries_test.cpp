// What the publisher asks others for: the driver how busy GPUs are, the system for a host's address, the disk for an
// index of a hundred thousand files. None of them may keep its cameras waiting, or have it taken for hung.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace {

namespace fs = std::filesystem;

const std::string camera =
    "cameras:\n  cam:\n    source: \"test://pattern?width=160&height=120&rate=25\"\n    encode: {gop: 10}\n";

// Variables of the environment, as long as it lives.
class Environment {
 public:
  explicit Environment(const std::string& name, const std::string& value) : name_(name) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() { ::unsetenv(name_.c_str()); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::string name_;
};

std::string get(int port, const std::string& path) {
  const std::string command = "curl -s -m 5 http://127.0.0.1:" + std::to_string(port) + path;
  std::string text;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, size);
  ::pclose(pipe);
  return text;
}

TEST(SlowLibraries, KeepNobodyWaiting) {
  const Environment preload("LD_PRELOAD", CAMPIPE_SLOW_LIBRARIES);
  const Environment libraries("LD_LIBRARY_PATH", fs::path(CAMPIPE_SLOW_LIBRARIES).parent_path());
  const int port = free_port();
  RigRun rig(camera + "    record: {path: cam.mp4}\nhttp_address: \"slow.test:" + std::to_string(port) +
             "\"\ninsecure: true\n");
  ASSERT_TRUE(rig.wait_for_growth("cam.mp4", 1000)) << rig.log();
  // Long after a main thread that waits would have been killed.
  ASSERT_TRUE(eventually([&] { return get(port, "/metrics").find("GPU-slow") != std::string::npos; })) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.report().at("publisher_restarts"), 0) << rig.log();
}

TEST(LargeIndex, IsReadWhileItsRecordingRuns) {
  constexpr int files = 100'000;
  const TemporaryFolder folder;
  const fs::path index = folder.path() / "cam.index.jsonl";
  std::ofstream lines(index);
  for (int i = 0; i < files; ++i) {
    const std::string file = std::to_string(i) + ".mp4";
    lines << R"({"clock":"arrival","event":"begin","file":")" << file << R"(","start":"2026-11-21T10:15:30.250Z"})"
          << '\n'
          << R"({"bytes":5,"clock":"arrival","duration_s":60.0,"end":"2026-11-21T10:16:30.250Z","event":"end","file":")"
          << file << R"(","packets":1500,"reason":"segment","start":"2026-11-21T10:15:30.250Z",)"
          << R"("written":"2026-11-21T10:16:30.250Z"})" << '\n';
  }
  lines.close();
  const auto size_before = fs::file_size(index);
  const auto begin = Clock::now();
  RigRun rig(camera + "    record: {path: \"" + (folder.path() / "{camera}.mp4").string() + "\", max_size: 1G}\n");
  ASSERT_TRUE(rig.wait_for_growth(folder.path() / "cam.mp4", 1000)) << rig.log();
  std::printf("recorded %.1f s after the start\n", std::chrono::duration<double>(Clock::now() - begin).count());
  // All of these files are gone, so that it is replaced by a short one as soon as it has been read.
  ASSERT_TRUE(eventually([&] { return fs::file_size(index) < size_before / 2; })) << rig.log();
  std::printf("read %.1f s after the start\n", std::chrono::duration<double>(Clock::now() - begin).count());
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.report().at("publisher_restarts"), 0) << rig.log();
  const auto frames = rig.camera("cam").at("frames");
  EXPECT_EQ(frames.at("recorded"), frames.at("encoded"));
  EXPECT_EQ(check_pattern_recording(read_video(folder.path() / "cam.mp4"), true), "");
}

}  // namespace
}  // namespace campipe::test
