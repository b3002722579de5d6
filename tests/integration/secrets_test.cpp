// What the processes of a rig know, as another process sees it: environments, memory, files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "core/error.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Not written in one piece anywhere in this program, which the rig's processes inherit nothing of.
std::string secret() { return std::string("lovelace") + "-of-the-dock"; }

// All that a process may write to, piece by piece: what it shares with files that nobody changes holds no secret.
bool memory_holds(pid_t pid, const std::string& text) {
  const std::string proc = "/proc/" + std::to_string(pid);
  const UniqueFd memory(::open((proc + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory) throw system_error("cannot look into process " + std::to_string(pid), errno);
  std::ifstream maps(proc + "/maps");
  std::vector<char> piece(std::size_t{1} << 20);
  for (std::string line; std::getline(maps, line);) {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::array<char, 5> rights{};
    if (std::sscanf(line.c_str(), "%zx-%zx %4s", &begin, &end, rights.data()) != 3 || rights[1] != 'w') continue;
    for (std::size_t at = begin; at < end; at += piece.size() - text.size()) {
      const ssize_t count =
          ::pread(memory.get(), piece.data(), std::min(piece.size(), end - at), static_cast<off_t>(at));
      if (count <= 0) break;  // never touched, or gone
      const auto stop = piece.begin() + count;
      if (std::search(piece.begin(), stop, text.begin(), text.end()) != stop) return true;
    }
  }
  return false;
}

std::string environment(pid_t pid) { return read_text("/proc/" + std::to_string(pid) + "/environ"); }

struct Variable {
  Variable(const char* key, const std::string& value) : name(key) { ::setenv(key, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  const char* name;
};

TEST(Secrets, ACamerasPasswordIsTheSourcesAndTheSupervisorsAlone) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer's own memory is too large to be searched";
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  const Variable password("DOCK_PASSWORD", secret());
  TestCamera camera({"--user", "ada", "--password", secret()});
  RigRun rig(
      "http_address: \"127.0.0.1:0\"\nrtsp_address: \"127.0.0.1:0\"\nworkers: {count: 1}\ncameras:\n  dock:\n    "
      "source: \"" +
      camera.url("ada:${DOCK_PASSWORD}@") +
      "\"\n    rtsp_transport: tcp\n    encode: {codec: h264}\n    record: {path: dock.mp4}\n    outputs:\n      "
      "small: {encode: {codec: "
      "copy}}\n");
  ASSERT_TRUE(rig.wait_for_growth("dock.mp4", 2000)) << rig.log();
  EXPECT_TRUE(memory_holds(rig.pid_of("source"), secret()));  // or this test would not see anything
  for (const std::string role : {"source", "master", "worker 0", "publisher"}) {
    EXPECT_THAT(environment(rig.pid_of(role)), Not(HasSubstr(secret()))) << role;
    EXPECT_THAT(environment(rig.pid_of(role)), HasSubstr("PATH=")) << role;
  }
  for (const std::string role : {"master", "worker 0", "publisher"}) {
    EXPECT_FALSE(memory_holds(rig.pid_of(role), secret())) << role;
  }
  EXPECT_THAT(rig.log(), Not(HasSubstr(secret())));
}

// Where a variable is in a push target's address, its name is shown instead of what it holds.
TEST(Secrets, APushTargetIsShownWithTheNamesOfItsVariables) {
  const Variable path("DOCK_PATH", secret());
  const std::string port = std::to_string(free_port());
  const std::string target = "rtsp://127.0.0.1:" + std::to_string(free_port()) + "/${DOCK_PATH}/in";
  RigRun rig("http_address: \"127.0.0.1:" + port +
                 "\"\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  dock:\n    source: "
                 "\"test://pattern?width=160&height=120\"\n    push: [\"" +
                 target + "\"]\n",
             {.arguments = {"--log-level", "debug"}});
  const auto get = [&](const std::string& what) -> std::string {
    try {
      return ask(static_cast<std::uint16_t>(std::stoi(port)), "GET " + what, "", "").body;
    } catch (const std::exception&) {
      return {};  // it does not listen yet
    }
  };
  ASSERT_TRUE(eventually([&] { return get("/api/v1/status").find("\"failed\"") != std::string::npos; })) << rig.log();
  const std::string status = get("/api/v1/status");
  const std::string metrics = get("/metrics");
  EXPECT_THAT(status, Not(HasSubstr(secret())));
  EXPECT_THAT(metrics, AllOf(HasSubstr("campipe_push_up"), Not(HasSubstr(secret()))));
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_THAT(rig.log(), AllOf(HasSubstr("cannot push to " + target), Not(HasSubstr(secret()))));
  EXPECT_THAT(rig.report().dump(), AllOf(HasSubstr(target), Not(HasSubstr(secret()))));
}

std::string permissions(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return "none";
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%03o", static_cast<unsigned>(status.st_mode & 0777U));
  return text.data();
}

// Soft and hard.
std::pair<rlim_t, rlim_t> core_limit(pid_t pid) {
  rlimit limit{};
  if (::prlimit(pid, RLIMIT_CORE, nullptr, &limit) != 0) throw system_error("prlimit", errno);
  return {limit.rlim_cur, limit.rlim_max};
}

constexpr const char* files_rig =
    "cameras:\n  dock:\n    source: \"test://pattern?width=320&height=240\"\n    record: {path: \"all/{camera}.mp4\"}\n"
    "    snapshot: {path: \"shown/{camera}.jpg\"}\n    filters: [motion]\n";

TEST(Secrets, FilesAreNotForOthersAndProcessesLeaveNoCores) {
  RigRun rig(files_rig);
  ASSERT_TRUE(rig.wait_for_growth("all/dock.mp4", 2000)) << rig.log();
  ASSERT_TRUE(rig.wait_for_growth("shown/dock.jpg", 100)) << rig.log();
  EXPECT_EQ(core_limit(rig.supervisor()).first, 0U);
  for (const pid_t pid : rig.processes()) EXPECT_EQ(core_limit(pid), core_limit(rig.supervisor()));
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(rig.folder())) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("dock") && name != "events.jsonl" && !entry.is_directory()) continue;
    if (entry.path() == rig.temporary()) continue;  // the test's
    ++files;
    EXPECT_EQ(permissions(entry.path()).back(), '0') << entry.path();
  }
  EXPECT_GE(files, 4);
}

TEST(Secrets, WhoWantsItOtherwiseSaysSo) {
  RigRun rig("umask: 0022\n" + std::string(files_rig));
  ASSERT_TRUE(rig.wait_for_growth("all/dock.mp4", 2000)) << rig.log();
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(permissions(rig.file("all/dock.mp4")), "644");
  EXPECT_EQ(permissions(rig.file("all")), "755");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
