// `campipe recordings`: files of a camera that has left the configuration, and the rig that records beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/rig_run.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

// A camera without limits has recorded there, and is in no configuration now.
class Recordings : public testing::Test {
 protected:
  void SetUp() override {
    const Answer answer = ask({"--config", "rig.yaml", "--duration", "60s"}, rig_of("old", "frames=100"));
    ASSERT_EQ(answer.status, 0) << answer.errors;
    ASSERT_GE(files("old"), 2U) << answer.errors;
  }
  [[nodiscard]] std::string rig_of(const std::string& camera, const std::string& pattern) const {
    return "http_address: off\nrtsp_address: off\ncameras:\n  " + camera + ":\n    source: \"test://pattern?" +
           pattern +
           "&rate=25&width=160&height=128\"\n    drop_policy: block\n    encode: {gop: 1s}\n    record: {path: \"" +
           (folder_.path() / "{camera}" / "%H-%M-%S.mp4").string() + "\", segment_duration: 1s}\n";
  }
  [[nodiscard]] fs::path index() const { return folder_.path() / "old" / "old.index.jsonl"; }
  [[nodiscard]] std::size_t files(const std::string& camera) const {
    std::size_t found = 0;
    for (const fs::directory_entry& each : fs::directory_iterator(folder_.path() / camera)) {
      if (each.path().extension() == ".mp4") ++found;
    }
    return found;
  }
  [[nodiscard]] std::string listed() const {
    const Answer answer = ask({"recordings", "list", folder_.path()});
    EXPECT_EQ(answer.status, 0) << answer.errors;
    return answer.output;
  }
  [[nodiscard]] static std::string refused(const std::vector<std::string>& arguments, int status = 1) {
    std::vector<std::string> command{"recordings"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Answer answer = ask(command);
    EXPECT_EQ(answer.status, status) << answer.output << answer.errors;
    return answer.errors;
  }

  TemporaryFolder folder_;
};

TEST_F(Recordings, AreListedAdoptedAndForgotten) {
  EXPECT_THAT(listed(), StartsWith(index().string() + ": " + std::to_string(files("old")) + " files, "));
  EXPECT_THAT(listed(), HasSubstr(", kept for ever\n"));
  EXPECT_EQ(ask({"recordings", "adopt", index(), "--max-size", "1G", "--delete-after", "7d"}).output,
            index().string() + ": delete_after 7d, max_size 1000M\n");
  EXPECT_THAT(listed(), HasSubstr(", delete_after 7d, max_size 1000M\n"));
  EXPECT_EQ(ask({"recordings", "forget", index()}).output, index().string() + ": kept for ever\n");
  EXPECT_THAT(listed(), HasSubstr(", kept for ever\n"));
}

TEST_F(Recordings, ThatAreAdoptedAreKeptToTheirLimitsByARigBesideThem) {
  ASSERT_EQ(ask({"recordings", "adopt", index(), "--max-size", "1"}).status, 0);
  RigRun rig(rig_of("new", "frames=100000"));
  EXPECT_TRUE(eventually([&] { return files("old") == 0; })) << files("old") << " are left\n" << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_GE(files("new"), 1U);
}

TEST_F(Recordings, AreLeftAloneByWhatIsNoIndex) {
  const fs::path picture = folder_.path() / "old" / "picture.mp4";
  std::ofstream(picture) << "a film";
  const fs::path link = folder_.path() / "link.index.jsonl";
  fs::create_symlink(index(), link);
  const std::string before = read_text(index());
  EXPECT_THAT(refused({"adopt", picture, "--max-size", "1G"}), HasSubstr("is no index"));
  EXPECT_THAT(refused({"adopt", link, "--max-size", "1G"}), HasSubstr("is no index"));
  EXPECT_THAT(refused({"forget", folder_.path() / "nothing.index.jsonl"}), HasSubstr("is no index"));
  EXPECT_THAT(refused({"adopt", index()}), HasSubstr("give --delete-after, --max-size or --keep-free"));
  EXPECT_THAT(refused({"adopt", index(), "--delete-after", "5000d"}, 2), HasSubstr("at most 3650d"));
  EXPECT_THAT(refused({"adopt", index(), "--keep-free", "much"}, 2), HasSubstr("expected a size"));
  EXPECT_EQ(read_text(picture), "a film");
  EXPECT_EQ(read_text(index()), before);
}

TEST_F(Recordings, OfARigThatRunsHaveTheLimitsOfItsConfiguration) {
  const std::size_t before = files("old");
  RigRun rig(rig_of("old", "frames=100000"));
  EXPECT_TRUE(eventually([&] { return files("old") > before; })) << rig.log();
  EXPECT_THAT(refused({"adopt", index(), "--max-size", "1"}), HasSubstr("a rig records there"));
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_GT(files("old"), before);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
