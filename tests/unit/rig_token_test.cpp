// The rig's token lies where only its account can read and replace it, or there is none.
#include "core/rig_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "core/error.h"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint16_t port = 8080;
constexpr uid_t stranger = 12345;

class RigTokenTest : public testing::Test {
 protected:
  RigTokenTest() {
    std::string name = fs::temp_directory_path() / "campipe-token-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw system_error("mkdtemp", errno);
    runtime_ = name;
    ::setenv("XDG_RUNTIME_DIR", name.c_str(), 1);
  }
  ~RigTokenTest() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    fs::remove_all(runtime_);
  }
  [[nodiscard]] fs::path folder() const { return runtime_ / "campipe"; }
  // What the token's file is refused with; empty: it is there.
  static std::string refusal() {
    try {
      const RigToken token(port);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

 private:
  fs::path runtime_;
};

TEST_F(RigTokenTest, LiesInAFolderOfItsOwn) {
  const RigToken token(port);
  EXPECT_EQ(token.file(), folder() / "token-8080");
  EXPECT_EQ(read_token(token.file()), token.text());
  struct stat info {};
  ASSERT_EQ(::stat(folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(token.file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(RigTokenTest, TakesAFolderThatIsThere) {
  fs::create_directory(folder());
  EXPECT_EQ(refusal(), "");
}

TEST_F(RigTokenTest, RefusesAFolderOfAnotherAccount) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  fs::create_directory(folder());
  ASSERT_EQ(::chown(folder().c_str(), stranger, stranger), 0);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(folder().string()), HasSubstr("belongs to another account"),
                               HasSubstr("12345"), HasSubstr("chown")));
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(RigTokenTest, RefusesASymbolicLink) {
  const fs::path elsewhere = folder().parent_path() / "elsewhere";
  fs::create_directory(elsewhere);
  fs::create_directory_symlink(elsewhere, folder());
  if (::geteuid() == 0) {
    ASSERT_EQ(::lchown(folder().c_str(), stranger, stranger), 0);
  }
  EXPECT_THAT(refusal(), AllOf(HasSubstr(folder().string()), HasSubstr("symbolic link"), HasSubstr("in its place")));
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(RigTokenTest, FollowsALinkOfTheAdministrator) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  const fs::path elsewhere = folder().parent_path() / "elsewhere";
  fs::create_directory(elsewhere);
  fs::create_directory_symlink(elsewhere, folder());
  EXPECT_EQ(refusal(), "");
  ASSERT_EQ(::chown(elsewhere.c_str(), stranger, stranger), 0);
  EXPECT_THAT(refusal(), HasSubstr("belongs to another account"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
