// Sessions of users who logged in, and of walls: what opens and ends them, and what outlives the program.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "app/config/token_hash.h"
#include "tests/unit/access_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::home;
using test::quick_hash;
using test::user;

class AccessSessionsTest : public test::AccessTest {};

TEST_F(AccessSessionsTest, ASessionThatIsWatchedWithIsInUse) {
  const Access::Session session = session_of("ann");
  const Identity watcher = *access_.find_session(session.token);
  for (int i = 0; i < 4; ++i) {
    time_ += 30min;
    EXPECT_TRUE(access_.still_valid(watcher));
  }
  EXPECT_TRUE(access_.find_session(session.token));
  time_ += 61min;
  EXPECT_FALSE(access_.still_valid(watcher));
}

TEST_F(AccessSessionsTest, SessionsFindTheirUser) {
  const Access::Session session = session_of("ben");
  EXPECT_EQ(session.user, "ben");
  const auto identity = access_.find_session(session.token);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->user, "ben");
  EXPECT_FALSE(identity->may(Permission::view, "gate"));
  EXPECT_FALSE(access_.find_session(""));
  EXPECT_FALSE(access_.find_session(session.token + "A"));
  EXPECT_FALSE(access_.find_session(session.csrf));
}

TEST_F(AccessSessionsTest, TokensCannotBeGuessed) {
  std::set<std::string> tokens;
  for (int i = 0; i < 50; ++i) {
    const Access::Session session = session_of("ann");
    tokens.insert({session.token, session.csrf});
    EXPECT_EQ(session.token.size(), 43U);  // 256 bits, six a character
    EXPECT_EQ(session.csrf.size(), 43U);
  }
  EXPECT_EQ(tokens.size(), 100U);
}

TEST_F(AccessSessionsTest, TheCsrfTokenBelongsToItsSession) {
  const Access::Session one = session_of("ann");
  const Access::Session other = session_of("ann");
  EXPECT_TRUE(access_.is_csrf_token(one.token, one.csrf));
  EXPECT_EQ(access_.csrf_token(one.token), one.csrf);
  EXPECT_EQ(access_.csrf_token(""), "");
  EXPECT_FALSE(access_.is_csrf_token(one.token, other.csrf));
  EXPECT_FALSE(access_.is_csrf_token(one.token, ""));
  EXPECT_FALSE(access_.is_csrf_token("", ""));
}

TEST_F(AccessSessionsTest, SessionsEnd) {
  const Access::Session closed = session_of("ann");
  const Access::Session idle = session_of("ann");
  const Access::Session used = session_of("ann");
  access_.close_session(closed.token);
  EXPECT_FALSE(access_.find_session(closed.token));
  for (int i = 0; i < 23; ++i) {
    time_ += 30min;
    EXPECT_TRUE(access_.find_session(used.token)) << i;
  }
  EXPECT_FALSE(access_.find_session(idle.token));  // an hour without a request
  EXPECT_FALSE(access_.is_csrf_token(idle.token, idle.csrf));
  time_ += 30min;
  EXPECT_FALSE(access_.find_session(used.token));  // twelve hours, in any case
}

// Whoever has the token of a wall logs nobody's screen out.
TEST_F(AccessSessionsTest, SessionsInUseGiveWayToNoOthers) {
  std::vector<Access::Session> used;
  for (int i = 0; i < 64; ++i) used.push_back(session_of("ann"));
  const auto all_are_there = [&] {
    return std::ranges::all_of(used, [&](const auto& one) { return access_.find_session(one.token).has_value(); });
  };
  time_ += 50s;
  ASSERT_TRUE(all_are_there());
  time_ += 50s;
  EXPECT_EQ(session_of("ann").token, "");
  EXPECT_NE(session_of("ben").token, "");
  ASSERT_TRUE(all_are_there());
  time_ += 1min;
  EXPECT_NE(session_of("ann").token, "");
}

TEST_F(AccessSessionsTest, AUserHasSixtyFourSessionsAtMost) {
  const Access::Session bens = session_of("ben");
  time_ += 1s;
  const Access::Session first = session_of("ann");
  std::vector<Access::Session> later;
  for (int i = 0; i < 64; ++i) {
    time_ += 1s;
    later.push_back(session_of("ann"));
  }
  EXPECT_NE(later.back().token, "") << "the first one was used more than a minute ago";
  EXPECT_FALSE(access_.find_session(first.token));
  EXPECT_TRUE(access_.find_session(later.front().token));
  EXPECT_TRUE(access_.find_session(later.back().token));
  EXPECT_TRUE(access_.find_session(bens.token));
}

TEST_F(AccessSessionsTest, AReloadEndsSessionsOfUsersThatAreGoneOrHaveAnotherPassword) {
  config_.users.push_back(user("cat", Permission::view));
  access_.update(config_);
  const auto ann = session_of("ann");
  const auto ben = session_of("ben");
  const auto cat = session_of("cat");
  config_.users = {user("ann", Permission::view), {"ben", quick_hash("new"), "", Permission::view, {}}};
  access_.update(config_);
  ASSERT_TRUE(access_.find_session(ann.token));
  EXPECT_FALSE(access_.find_session(ann.token)->may(Permission::record, "dock"));  // what she may now
  EXPECT_FALSE(access_.find_session(ben.token));
  EXPECT_FALSE(access_.find_session(cat.token));
}

// Checking a password takes long enough for that.
TEST_F(AccessSessionsTest, APasswordThatWasChangedSinceItWasCheckedOpensNoSession) {
  const auto checked = access_.check_password("ann", "right", home);
  ASSERT_TRUE(checked.identity);
  config_.users[0].password = quick_hash("other");
  access_.update(config_);
  const auto session = access_.open_session(*checked.identity);
  EXPECT_FALSE(access_.find_session(session.token));
  Identity now = *access_.identity_of("ann");
  now.session = "none";
  EXPECT_FALSE(access_.still_valid(now));
  const auto good = access_.open_session(*access_.identity_of("ann"));
  EXPECT_TRUE(access_.find_session(good.token));
}

TEST_F(AccessSessionsTest, SessionsLastAsLongAsIsConfigured) {
  config_.sessions = {.idle = 10min, .longest = 20min};
  access_.update(config_);
  const auto idle = session_of("ann");
  const auto used = session_of("ann");
  EXPECT_EQ(used.longest, 20min);
  time_ += 9min;
  EXPECT_TRUE(access_.find_session(used.token));
  time_ += 9min;
  EXPECT_TRUE(access_.find_session(used.token));
  EXPECT_FALSE(access_.find_session(idle.token));
  time_ += 2min;
  EXPECT_FALSE(access_.find_session(used.token));
}

TEST_F(AccessSessionsTest, SessionsOutliveTheProgram) {
  const auto ann = session_of("ann");
  const auto ben = session_of("ben");
  const auto closed = session_of("ben");
  access_.close_session(closed.token);
  time_ += 30min;
  const auto kept = access_.kept_sessions();
  ASSERT_EQ(kept.size(), 2U);
  for (const KeptSession& one : kept) {  // none of what is kept lets anybody in
    for (const std::string& text : {one.id, one.proof}) EXPECT_FALSE(access_.find_session(text));
    for (const auto& session : {ann, ben}) {
      EXPECT_NE(one.id, session.token);
      EXPECT_NE(one.id, session.csrf);
    }
  }

  time_ = {};  // another boot of the machine
  config_.users[1].password = quick_hash("new");
  Access next(config_, [this] { return time_; });
  EXPECT_FALSE(next.find_session(ann.token));
  next.restore_sessions(kept);
  ASSERT_TRUE(next.find_session(ann.token));
  EXPECT_EQ(next.find_session(ann.token)->user, "ann");
  EXPECT_TRUE(next.is_csrf_token(ann.token, ann.csrf));
  EXPECT_FALSE(next.find_session(ben.token)) << "the password is another one";
  EXPECT_FALSE(next.find_session(closed.token));
  for (int i = 0; i < 22; ++i, time_ += 30min) EXPECT_TRUE(next.find_session(ann.token)) << i;
  time_ += 30min;
  EXPECT_FALSE(next.find_session(ann.token)) << "half an hour of its twelve had passed";
}

TEST_F(AccessSessionsTest, AnotherTokenEndsWallsAndNobodyElse) {
  const std::string token(43, 'a');
  config_.users.front().token = hash_token(token);
  access_.update(config_);
  const Identity by_password = *access_.identity_of(config_.users.front().name);
  const Identity by_login = *access_.find_session(session_of(by_password.user).token);
  const Identity wall = *access_.find_session(access_.open_session(by_password, SessionKind::wall).token);
  config_.users.front().token = hash_token(std::string(43, 'b'));
  access_.update(config_);
  EXPECT_TRUE(access_.still_valid(by_password));
  EXPECT_TRUE(access_.still_valid(by_login));
  EXPECT_FALSE(access_.still_valid(wall));
}

TEST_F(AccessSessionsTest, ATokenLogsAWallInForAsLongAsItIsTheUsers) {
  const std::string token(43, 'a');
  config_.users.push_back({"lobby", "", "", Permission::view, {"dock"}, hash_token(token)});
  access_.update(config_);
  EXPECT_FALSE(access_.check_token(""));
  EXPECT_FALSE(access_.check_token(hash_token(token)));
  EXPECT_FALSE(access_.check_token(std::string(43, 'b')));
  const auto lobby = access_.check_token(token);
  ASSERT_TRUE(lobby);
  EXPECT_EQ(lobby->user, "lobby");
  EXPECT_FALSE(lets_in("lobby", ""));
  EXPECT_FALSE(lets_in("lobby", token));

  const auto wall = access_.open_session(*lobby, SessionKind::wall);
  const auto cookies_of_a_wall = session_of("lobby");  // of a login, which this user cannot have
  EXPECT_FALSE(access_.find_session(cookies_of_a_wall.token));
  time_ += 29 * 24h;
  ASSERT_TRUE(access_.find_session(wall.token));
  const Identity watcher = *access_.find_session(wall.token);
  EXPECT_TRUE(access_.still_may(watcher, Permission::view, "dock"));
  EXPECT_FALSE(access_.still_may(watcher, Permission::view, "gate"));
  EXPECT_FALSE(access_.still_may(watcher, Permission::record, "dock"));

  Access next(config_, [this] { return time_; });
  next.restore_sessions(access_.kept_sessions());
  EXPECT_TRUE(next.find_session(wall.token));
  config_.users.back().token = hash_token(std::string(43, 'c'));
  access_.update(config_);
  EXPECT_FALSE(access_.find_session(wall.token));
  EXPECT_FALSE(access_.still_valid(watcher));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
