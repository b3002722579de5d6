// campipe-mpi, as mpirun starts it: four ranks on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "tests/integration/rig_run.h"
#include "tests/paths.h"
#include "tests/unit/peers.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* rig = R"(
http_address: 127.0.0.1:0
rtsp_address: off
workers: {count: 1}
defaults: {record: {path: "{camera}.mp4"}}
cameras:
  a: {source: "test://pattern?width=160&height=120&rate=25"}
  b: {source: "test://pattern?width=160&height=120&rate=25"}
  c: {source: "test://pattern?width=160&height=120&rate=25"}
  d: {source: "test://pattern?width=160&height=120&rate=25"}
)";

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v mpirun > /dev/null") != 0) GTEST_SKIP() << "no mpirun here";
  }

  void start(const std::string& yaml, const std::string& options = "") {
    replace_file(folder_.path() / "rig.yaml", yaml);
    const std::string all = "-n 4 --oversubscribe --allow-run-as-root " + options;
    // Open MPI leaves memory behind, of modules that it has unloaded by then: no suppression can name them.
    // Ctrl-C counts, also where it is ignored by who runs the tests.
    run_.emplace(std::vector<std::string>{
        "bash", "-c",
        "cd '" + folder_.path().string() + "' && exec env --default-signal=INT XDG_STATE_HOME=\"$PWD/state\" TMPDIR=" +
            "\"$PWD\" LSAN_OPTIONS=detect_leaks=0 mpirun " + all + " '" + campipe_mpi_program +
            "' --config rig.yaml > output 2>&1"});
  }
  std::string output() const { return read_text(folder_.path() / "output"); }
  std::uintmax_t size(const std::string& camera) const {
    std::error_code error;
    const auto bytes = fs::file_size(folder_.path() / (camera + ".mp4"), error);
    return error ? 0 : bytes;
  }
  // All of them have more bytes than now.
  bool grow(const std::vector<std::string>& cameras) const {
    std::map<std::string, std::uintmax_t> before;
    for (const std::string& camera : cameras) before[camera] = size(camera);
    return eventually([&] {
      return std::ranges::all_of(cameras, [&](const auto& camera) { return size(camera) > before.at(camera) + 1'000; });
    });
  }
  // Of campipe's processes, which all have been given the rank's file.
  std::vector<pid_t> processes() const {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string words = read_text(entry.path() / "cmdline");
      const std::string environment = read_text(entry.path() / "environ");
      if (environment.find("TMPDIR=" + folder_.path().string()) != std::string::npos &&
          words.find("campipe") != std::string::npos && words.find("mpirun") == std::string::npos)
        found.push_back(std::stoi(entry.path().filename().string()));
    }
    return found;
  }
  // The supervisor of a rank.
  std::optional<pid_t> supervisor_of(const std::string& rank) const {
    for (const pid_t pid : processes()) {
      if (read_text("/proc/" + std::to_string(pid) + "/cmdline").find("." + rank + ".yaml") != std::string::npos)
        return pid;
    }
    return std::nullopt;
  }

  TemporaryFolder folder_;
  std::optional<Program> run_;
};

TEST_F(Mpi, RanksShareTheRigAndOutliveOneAnother) {
  // mpirun waits for that timeout before it sends SIGTERM, and again after that.
  start(rig, "--enable-recovery --mca orte_abort_on_non_zero_status 0 --mca odls_base_sigkill_timeout 4");
  ASSERT_TRUE(grow({"a", "b", "c", "d"})) << output();
  std::smatch lines;
  const std::string said = output();
  ASSERT_TRUE(std::regex_search(said, lines, std::regex("rank2 on .*: ([a-d]); HTTP at 127.0.0.1:0\n"))) << said;
  const std::string lost = lines[1];

  const auto supervisor = supervisor_of("rank2");
  ASSERT_TRUE(supervisor.has_value()) << said;
  EXPECT_THAT(read_text("/proc/" + std::to_string(*supervisor) + "/maps"),
              testing::AllOf(HasSubstr("libav"), Not(HasSubstr("libmpi"))));
  ASSERT_EQ(::kill(*supervisor, SIGKILL), 0);
  std::vector<std::string> others{"a", "b", "c", "d"};
  std::erase(others, lost);
  EXPECT_TRUE(grow(others)) << output();
  EXPECT_FALSE(supervisor_of("rank2").has_value());

  run_->signal(SIGINT);
  ASSERT_TRUE(eventually([&] { return run_->ended(); }, 30s)) << output();
  for (const std::string& camera : others) EXPECT_THAT(output(), HasSubstr(camera + ": ended, "));
  EXPECT_TRUE(eventually([&] { return processes().empty(); })) << output();
}

TEST_F(Mpi, AMistakeIsReportedOnce) {
  start(std::string(rig) + "  e: {source: 'test://pattern', recrod: {}}\n");
  ASSERT_TRUE(eventually([&] { return run_->ended(); }, 30s)) << output();
  const std::string said = output();
  const std::string mistake = "rig.yaml:11:33: cameras.e.recrod: unknown key, did you mean 'record'?";
  const std::size_t first = said.find(mistake);
  ASSERT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find(mistake, first + 1), std::string::npos) << said;
  EXPECT_EQ(run_->wait(), 2) << said;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
