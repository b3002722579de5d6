// What `cmake --install` puts where, and what systemd thinks of the service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "tests/integration/rig_run.h"
#include "tests/paths.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;

class Installation : public testing::Test {
 protected:
  void SetUp() override {
    const Result result = run({cmake_program, "--install", build_folder, "--prefix", prefix_});
    ASSERT_EQ(result.status, 0) << result.output;
  }

  struct Result {
    int status = 0;
    std::string output;
  };
  [[nodiscard]] Result run(const std::vector<std::string>& command) const {
    const fs::path file = folder_.path() / "output";
    std::string line;
    for (const std::string& word : command) line += "'" + word + "' ";
    const int status = Program({"sh", "-c", line + "> '" + file.string() + "' 2>&1"}).wait();
    return {status, read_text(file)};
  }
  // The unit as it is installed, with the path of the installed program: systemd looks for programs in its own places.
  [[nodiscard]] std::string unit() const {
    const std::string text = read_text(prefix_ / "lib/systemd/system/campipe.service");
    const std::string program = "ExecStart=" + (prefix_ / "bin/campipe").string() + " --config";
    const fs::path file = folder_.path() / "campipe.service";
    std::ofstream(file) << std::regex_replace(text, std::regex("ExecStart=campipe --config"), program);
    return file;
  }
  [[nodiscard]] bool has_systemd() const {
    const std::string version = run({"systemd-analyze", "--version"}).output;  // "systemd 252 (…"
    return version.starts_with("systemd 2") && std::stoi("0" + version.substr(8, 3)) >= 250;
  }

  TemporaryFolder folder_;
  fs::path prefix_ = folder_.path() / "prefix";
};

TEST_F(Installation, HasTheProgramTheServiceAndRigs) {
  const Result version = run({prefix_ / "bin/campipe", "--version"});
  EXPECT_EQ(version.output, std::string("campipe ") + CAMPIPE_VERSION + "\n");
  for (const char* file : {"lib/systemd/system/campipe.service", "lib/sysusers.d/campipe.conf",
                           "share/campipe/demo.yaml", "share/campipe/rtsp.yaml"}) {
    EXPECT_TRUE(fs::is_regular_file(prefix_ / file)) << file;
  }
}

TEST_F(Installation, HasAServiceThatSystemdUnderstands) {
  if (!has_systemd()) GTEST_SKIP() << "there is no systemd-analyze of version 250 or later";
  const Result verified = run({"systemd-analyze", "verify", "--man=no", unit()});
  EXPECT_EQ(verified.status, 0);
  EXPECT_EQ(verified.output, "");
}

TEST_F(Installation, HasAServiceThatIsLockedIn) {
  if (!has_systemd()) GTEST_SKIP() << "there is no systemd-analyze of version 250 or later";
  const Result result = run({"systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit()});
  EXPECT_EQ(result.status, 0) << "an exposure of 2.0 or more\n" << result.output;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
