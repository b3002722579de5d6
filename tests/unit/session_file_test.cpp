// Sessions survive a restart of what serves them, and nothing that ended them is undone by one.
#include "app/publisher/server/session_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "app/config/token_hash.h"
#include "core/replace_file.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint16_t port = 8080;

ServerConfig lobby_and_hall(const std::string& lobbys = "a") {
  ServerConfig config;
  config.users = {{"lobby", "", "", Permission::view, {}, hash_token(lobbys)},
                  {"hall", "", "", Permission::view, {}, hash_token("b")}};
  return config;
}

class SessionFileTest : public testing::Test {
 protected:
  SessionFileTest() { ::setenv("XDG_STATE_HOME", folder_.path().c_str(), 1); }
  ~SessionFileTest() override { ::unsetenv("XDG_STATE_HOME"); }

  struct Run {  // of a publisher
    explicit Run(const ServerConfig& config = lobby_and_hall()) : access(config), file(access) { file.open(port); }
    [[nodiscard]] std::string log_in(const std::string& user) {
      const std::string token = access.open_session(*access.identity_of(user), SessionKind::wall).token;
      file.tick();
      return token;
    }
    Access access;
    SessionFile file;
  };
  [[nodiscard]] fs::path file() const { return folder_.path() / "campipe" / "sessions-8080"; }

  TemporaryFolder folder_;
};

TEST_F(SessionFileTest, ARestartLogsNobodyOut) {
  std::string lobby;
  std::string hall;
  {
    Run first;
    lobby = first.log_in("lobby");
    hall = first.log_in("hall");
  }
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  std::ifstream in(file());
  const std::string text(std::istreambuf_iterator<char>(in), {});
  for (const std::string& token : {lobby, hall, Sessions::csrf_of(lobby)})
    EXPECT_EQ(text.find(token), std::string::npos);

  Run next(lobby_and_hall("another"));
  EXPECT_FALSE(next.access.find_session(lobby)) << "its token is another one";
  EXPECT_TRUE(next.access.find_session(hall));
}

// The file is right when the answer to the logout is sent: a kill then changes nothing.
TEST_F(SessionFileTest, ALogoutHoldsOverAKill) {
  Run killed;
  const std::string lobby = killed.log_in("lobby");
  const std::string hall = killed.log_in("hall");
  killed.access.close_session(lobby);
  Run next;
  EXPECT_FALSE(next.access.find_session(lobby));
  EXPECT_TRUE(next.access.find_session(hall));
}

TEST_F(SessionFileTest, WhatIsNoneOfOursLetsNobodyInAndHarmsNobody) {
  fs::create_directories(file().parent_path());
  fs::permissions(file().parent_path(), fs::perms::owner_all);
  for (const char* text :
       {"", "{", "[]", R"({"schema":2,"sessions":[]})", R"({"schema":1,"sessions":7})",
        R"({"schema":1,"sessions":[1,{"id":7},{"id":"x","kind":"king","opened_utc":1,"used_utc":1}]})",
        R"({"schema":1,"sessions":[{"id":"x","user":"lobby","proof":"","kind":"wall",
                              "opened_utc":18446744073709551615,"used_utc":-1}]})"}) {
    replace_file(file(), text);
    Run run;
    EXPECT_THAT(run.access.kept_sessions(), IsEmpty()) << text;
    EXPECT_TRUE(run.access.find_session(run.log_in("hall"))) << text;
  }
}

TEST_F(SessionFileTest, WhereItCannotBeSessionsLastAsLongAsTheProgram) {
  fs::create_directories(file());  // a folder in the file's place
  fs::permissions(file().parent_path(), fs::perms::owner_all);
  Run run;
  const std::string hall = run.log_in("hall");
  EXPECT_TRUE(run.access.find_session(hall));
  run.access.close_session(hall);
  EXPECT_FALSE(run.access.find_session(hall));
}

TEST(SessionText, KeepsTimesByTheWallClock) {
  const std::int64_t now = 1'800'000'000;
  const std::vector<KeptSession> sessions{{"id", "ann", "proof", SessionKind::login, 2h, 5min},
                                          {"other", "lobby", "proof", SessionKind::wall, 240h, 0s}};
  EXPECT_EQ(sessions_in(session_text(sessions, now), now), sessions);
  auto later = sessions;
  for (auto& one : later) {
    one.opened_ago += 1h;
    one.used_ago += 1h;
  }
  EXPECT_EQ(sessions_in(session_text(sessions, now), now + 3600), later);
  // A clock that was set back makes nothing younger than new.
  for (const auto& one : sessions_in(session_text(sessions, now), now - 365 * 86'400)) {
    EXPECT_EQ(one.opened_ago, 0s);
    EXPECT_EQ(one.used_ago, 0s);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
