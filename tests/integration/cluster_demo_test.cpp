// tools/cluster-demo, as a user starts and ends it, with the program that is tested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/integration/etcd_members.h"
#include "tests/integration/rig_run.h"
#include "tests/paths.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

// Of processes that have this folder as their TMPDIR.
std::size_t processes_in(const fs::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string environment = read_text(entry.path() / "environ");
    count += environment.find("TMPDIR=" + folder.string()) != std::string::npos ? 1 : 0;
  }
  return count;
}

TEST(ClusterDemo, StartsThreeNodesAndLeavesNothingBehind) {
  if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
  const TemporaryFolder folder;
  const fs::path output = folder.path() / "output";
  const fs::path temporary = folder.path() / "tmp";
  fs::create_directory(temporary);
  // Ctrl-C counts, also where it is ignored by who runs the tests.
  const std::string command = "exec env --default-signal=INT TMPDIR='" + temporary.string() + "' CAMPIPE='" +
                              campipe_program + "' " + source_folder + "/tools/cluster-demo > '" + output.string() +
                              "' 2>&1";
  Program demo({"bash", "-c", command});
  const auto is_up = [&] { return demo.ended() || read_text(output).find("Ctrl-C ends") != std::string::npos; };
  ASSERT_TRUE(eventually(is_up, 95s)) << read_text(output);  // the script's own patience ends before
  const std::string said = read_text(output);
  ASSERT_FALSE(demo.ended()) << said;
  const std::regex page("(north|east|west) +http://127\\.0\\.0\\.1:(\\d+)/");
  int pages = 0;
  for (std::sregex_iterator at(said.begin(), said.end(), page), end; at != end; ++at, ++pages) {
    const auto port = static_cast<std::uint16_t>(std::stoi((*at)[2]));
    EXPECT_THAT(ask(port, "GET /api/v1/cluster").body, HasSubstr("\"node\":\"" + (*at)[1].str() + "\""));
  }
  EXPECT_EQ(pages, 3) << said;
  EXPECT_GT(processes_in(temporary), 10U);
  demo.signal(SIGINT);
  ASSERT_TRUE(eventually([&] { return demo.ended(); })) << read_text(output);
  EXPECT_EQ(demo.wait(), 0) << read_text(output);
  EXPECT_EQ(processes_in(temporary), 0U) << read_text(output);
  EXPECT_TRUE(fs::is_empty(temporary));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
