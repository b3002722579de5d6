// Who may see and do what: passwords, how often they may be tried, permissions.
#include "app/publisher/server/access.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "app/config/password_hash.h"
#include "app/config/token_hash.h"
#include "app/publisher/server/login_limit.h"
#include "tests/unit/access_test_support.h"
#include "tests/unit/cpu_waits.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using Refusal = Access::Refusal;
using test::AccessTest;
using test::hash_of_right;
using test::home;
using test::quick_hash;
using test::user;
using test::with_users;

TEST(PasswordHash, FitsItsPasswordOnly) {
  const std::string hash = hash_password("pass word");
  EXPECT_TRUE(hash.starts_with("$argon2id$v=19$"));
  EXPECT_TRUE(is_password_hash(hash));
  EXPECT_TRUE(password_fits(hash, "pass word"));
  EXPECT_FALSE(password_fits(hash, "pass wore"));
  EXPECT_FALSE(password_fits(hash, ""));
  EXPECT_NE(hash, hash_password("pass word"));  // salted
}

TEST(PasswordHash, OtherTextsAreNone) {
  const std::vector<std::string> texts{"",
                                       "secret",
                                       "$argon2id$",
                                       "$argon2id$v=19$m=65536,t=2,p=1$c2FsdA",
                                       "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$RdescudvJCsgt3ub+b9dWA",
                                       "$2b$12$abcdefghijklmnopqrstuv"};
  for (const std::string& text : texts) {
    EXPECT_FALSE(is_password_hash(text)) << text;
    EXPECT_FALSE(password_fits(text, "secret")) << text;
  }
}

TEST(Identities, MayDoWhatTheirPermissionIncludes) {
  const auto may = [](Permission permission, std::vector<std::string> cameras, Permission wanted,
                      const std::string& camera) {
    return Identity::of(std::make_shared<UserConfig>(user("u", permission, std::move(cameras)))).may(wanted, camera);
  };
  EXPECT_TRUE(may(Permission::view, {}, Permission::view, "dock"));
  EXPECT_FALSE(may(Permission::view, {}, Permission::record, "dock"));
  EXPECT_TRUE(may(Permission::record, {}, Permission::view, "dock"));
  EXPECT_FALSE(may(Permission::record, {}, Permission::administer, "dock"));
  EXPECT_TRUE(may(Permission::administer, {}, Permission::administer, ""));
  EXPECT_TRUE(may(Permission::administer, {"dock"}, Permission::administer, "dock"));
  EXPECT_FALSE(may(Permission::administer, {"dock"}, Permission::view, "gate"));
  EXPECT_FALSE(may(Permission::administer, {"dock"}, Permission::administer, ""));
  EXPECT_TRUE(may(Permission::view, {"dock"}, Permission::view, ""));
}

TEST(Identities, NobodyMayDoNothing) {
  for (const Permission wanted : {Permission::view, Permission::record, Permission::administer}) {
    EXPECT_FALSE(Identity().may(wanted, ""));
    EXPECT_FALSE(Identity().may(wanted, "dock"));
    EXPECT_TRUE(Identity::visitor().may(wanted, "dock"));
    EXPECT_TRUE(Identity::owner().may(wanted, ""));
  }
  EXPECT_TRUE(Identity::visitor().may(Permission::view, ""));
  EXPECT_FALSE(Identity::visitor().administers());
  EXPECT_FALSE((Identity{.kind = Identity::Kind::user}.may(Permission::view, "dock")));
}

TEST_F(AccessTest, LetsInWhoKnowsThePassword) {
  const auto ann = access_.check_password("ann", "right", home);
  ASSERT_TRUE(ann.identity);
  EXPECT_EQ(ann.identity->user, "ann");
  EXPECT_TRUE(ann.identity->may(Permission::administer, ""));
  EXPECT_TRUE(access_.required());
  EXPECT_FALSE(lets_in("ann", "wrong"));
  EXPECT_FALSE(lets_in("ann", ""));
  EXPECT_FALSE(lets_in("ann", hash_of_right()));
  EXPECT_FALSE(lets_in("eve", "right"));
}

TEST_F(AccessTest, WithoutUsersEverybodyIsAVisitor) {
  access_.update({});
  EXPECT_FALSE(access_.required());
  const auto anyone = access_.check_password("eve", "anything", home);
  ASSERT_TRUE(anyone.identity);
  EXPECT_TRUE(anyone.identity->may(Permission::administer, "dock"));
  EXPECT_FALSE(anyone.identity->administers());
}

TEST_F(AccessTest, WhatIsTakenBackDoesNotHoldAnyMore) {
  const auto found = [&](const std::string& name) {
    const auto result = access_.check_password(name, "right", home);
    return result.identity.value_or(Identity());
  };
  const Access::Session session = session_of("ann");
  const Identity by_session = *access_.find_session(session.token);
  const Identity ann = found("ann");
  const Identity ben = found("ben");
  for (const Identity& one : {by_session, ann, ben}) EXPECT_TRUE(access_.still_valid(one));
  EXPECT_FALSE(access_.still_valid({}));
  EXPECT_FALSE(access_.still_valid(Identity::visitor())) << "there are users";
  EXPECT_TRUE(access_.still_may(ben, Permission::view, "dock"));
  EXPECT_FALSE(access_.still_may(ben, Permission::view, "gate"));

  access_.close_session(session.token);
  EXPECT_FALSE(access_.still_valid(by_session));
  EXPECT_TRUE(access_.still_valid(ann)) << "she did not log out where she gave a password";

  config_.users = {user("ann", Permission::view), {"ben", quick_hash("new"), "", Permission::view, {"dock"}}};
  access_.update(config_);
  EXPECT_TRUE(access_.still_may(ann, Permission::view, "dock"));
  EXPECT_FALSE(access_.still_may(ann, Permission::administer, "dock")) << "what she may now";
  EXPECT_FALSE(access_.still_valid(ben)) << "another password";
  config_.users[0].rtsp_secret = "another secret";
  access_.update(config_);
  EXPECT_FALSE(access_.still_valid(ann));
  const Identity again = found("ann");
  config_.users = {user("eve", Permission::view)};
  access_.update(config_);
  EXPECT_FALSE(access_.still_valid(again)) << "gone";
}

TEST_F(AccessTest, AfterFiveFailuresEachFurtherOneCostsAWait) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(access_.check_password("ann", "wrong", home).refusal, Refusal::wrong);
  const auto refused = access_.check_password("ann", "right", home);
  EXPECT_FALSE(refused.identity);
  EXPECT_EQ(refused.refusal, Refusal::too_many);
  EXPECT_EQ(refused.retry_after_s, 1);
  EXPECT_TRUE(lets_in("ann", "right", "10.0.0.6"));  // others are not held up
  time_ += 1s;
  EXPECT_EQ(access_.check_password("ann", "wrong", home).refusal, Refusal::wrong);
  EXPECT_EQ(access_.check_password("ben", "right", home).retry_after_s, 2);
  time_ += 2s;
  EXPECT_TRUE(lets_in("ann", "right"));
}

TEST_F(AccessTest, WhoIsRememberedComesInFromWhereOthersGuess) {
  EXPECT_TRUE(lets_in("ann", "right"));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(lets_in("eve", "wrong"));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(lets_in("ann", "right"));
  EXPECT_FALSE(lets_in("ben", "right")) << "is not remembered";
}

// What costs nothing to look up must not be a faster way to find a password.
TEST_F(AccessTest, WhoGuessesIsNotToldWhatIsRemembered) {
  EXPECT_TRUE(lets_in("ann", "right"));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(lets_in("ann", "wrong"));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(lets_in("ann", "guess"));
  EXPECT_FALSE(lets_in("ann", "right"));
  EXPECT_TRUE(lets_in("ann", "right", "10.0.0.6"));
  time_ += 1s;
  EXPECT_TRUE(lets_in("ann", "right"));
}

TEST(LoginLimits, WaitsDoubleUpToAMinuteAndAreForgotten) {
  LoginLimit limit;
  auto time = Clock::now();
  std::vector<int> waits;
  for (int i = 0; i < 13; ++i) {
    limit.failed(home, time);
    waits.push_back(limit.wait_s(home, time));
    time += std::chrono::seconds(waits.back());
  }
  EXPECT_THAT(waits, ::testing::ElementsAre(0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60));
  time += 16min;
  limit.failed(home, time);
  EXPECT_EQ(limit.wait_s(home, time), 0);
}

TEST(LoginLimits, AHousesAddressesCountAsOne) {
  LoginLimit limit;
  const auto time = Clock::now();
  for (int i = 0; i < 5; ++i) limit.failed("2001:db8:1:2::" + std::to_string(i), time);
  EXPECT_EQ(limit.wait_s("2001:db8:1:2:ffff::1", time), 1);
  EXPECT_EQ(limit.wait_s("2001:db8:1:3::1", time), 0);
  for (int i = 0; i < 5; ++i) limit.failed("::ffff:10.0.0.1", time);
  EXPECT_EQ(limit.wait_s("10.0.0.1", time), 1);
  EXPECT_EQ(limit.wait_s("::ffff:10.0.0.2", time), 0);
}

TEST_F(AccessTest, RightPasswordsAreRememberedForAMinute) {
  // The processor's time, which does not depend on what else runs.
  const auto cost = [&] {
    const auto begin = test::thread_cpu_time();
    EXPECT_TRUE(lets_in("ann", "right"));
    return test::thread_cpu_time() - begin;
  };
  const auto first = cost();  // with what is there for the first time, such as memory
  const auto remembered = cost();
  EXPECT_LT(remembered, first / 5);
  time_ += 61s;
  EXPECT_GT(cost(), 5 * remembered);
  // Another password makes it worthless at once.
  config_.users[0].password = quick_hash("other");
  access_.update(config_);
  EXPECT_FALSE(lets_in("ann", "right"));
  EXPECT_TRUE(lets_in("ann", "other"));
}

TEST_F(AccessTest, ReadsBasicAndBearer) {
  const auto user_of = [&](const std::string& header) {
    const auto result = access_.check_authorization(header, home);
    return result.identity ? result.identity->user : "";
  };
  EXPECT_EQ(user_of("Basic YW5uOnJpZ2h0"), "ann");  // ann:right
  EXPECT_EQ(user_of("basic  YW5uOnJpZ2h0"), "ann");
  EXPECT_EQ(user_of("Bearer YW5uOnJpZ2h0"), "ann");
  const std::vector<std::string> bad{
      "", "Basic", "Basic ", "Basic !", "Basic YW5u", "Digest YW5uOnJpZ2h0", "YW5uOnJpZ2h0"};
  for (const std::string& header : bad) EXPECT_EQ(user_of(header), "") << header;
  // Padding may be there or not; colons belong to the password.
  config_.users[0].password = quick_hash("a:b?>c");
  access_.update(config_);
  EXPECT_EQ(user_of("Basic YW5uOmE6Yj8+Yw=="), "ann");
  EXPECT_EQ(user_of("Basic YW5uOmE6Yj8+Yw"), "ann");
  EXPECT_EQ(user_of("Bearer YW5uOmE6Yj8-Yw"), "ann");
}

TEST_F(AccessTest, TheRigsTokenMakesItsOwner) {
  const std::string token = "0123456789abcdef";
  for (const ServerConfig& config : {config_, ServerConfig()}) {
    Access access(config, [this] { return time_; });
    access.set_owner_token(token);
    const auto kind_of = [&](const std::string& header) {
      return access.check_authorization(header, home).identity.value_or(Identity()).kind;
    };
    EXPECT_EQ(kind_of("Bearer " + token), Identity::Kind::owner);
    EXPECT_NE(kind_of("Bearer " + token + "0"), Identity::Kind::owner);
    EXPECT_NE(kind_of("Bearer 0"), Identity::Kind::owner);
    EXPECT_NE(kind_of("Basic " + token), Identity::Kind::owner);
    EXPECT_TRUE(access.still_valid(Identity::owner()));
  }
  EXPECT_NE(access_.check_authorization("Bearer ", home).identity.value_or(Identity()).kind, Identity::Kind::owner);
}

TEST_F(AccessTest, WithTokensAloneNoPasswordIsRight) {
  Access access(with_users({{"lobby", "", "", Permission::view, {}, hash_token(std::string(43, 'a'))}}));
  EXPECT_TRUE(access.required());
  EXPECT_FALSE(access.check_password("lobby", "", home).identity);
  EXPECT_FALSE(access.check_password("nobody", "x", home).identity);
}

TEST_F(AccessTest, RtspSecretsAreOfThoseWhoHaveOne) {
  EXPECT_EQ(access_.rtsp_secret("ann"), std::nullopt);
  config_.users[0].rtsp_secret = "for digest";
  access_.update(config_);
  EXPECT_EQ(access_.rtsp_secret("ann"), "for digest");
  EXPECT_EQ(access_.rtsp_secret("eve"), std::nullopt);
  EXPECT_FALSE(lets_in("ann", "for digest"));
  EXPECT_FALSE(access_.identity_of("eve"));
}

TEST_F(AccessTest, KnowsAtOnceWhatNeedsNoCheck) {
  EXPECT_FALSE(access_.check_quickly("ann", "right", home));
  const auto before = test::thread_cpu_time();
  ASSERT_TRUE(lets_in("ann", "right"));
  const auto begin = test::thread_cpu_time();
  ASSERT_TRUE(access_.check_quickly("ann", "right", home));
  EXPECT_EQ(access_.check_quickly("ann", "right", home)->identity->user, "ann");
  EXPECT_FALSE(access_.check_quickly("ann", "wrong", home));
  EXPECT_FALSE(access_.check_quickly("ben", "right", home));
  EXPECT_LT(test::thread_cpu_time() - begin, begin - before);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(lets_in("ann", "wrong"));
  ASSERT_TRUE(access_.check_quickly("ben", "right", home));
  EXPECT_EQ(access_.check_quickly("ben", "right", home)->refusal, Refusal::too_many);
}

TEST_F(AccessTest, ManyAtOnceAreNotTakenForGuesses) {
  std::vector<std::thread> threads;
  std::atomic<int> in = 0;
  for (int i = 0; i < 12; ++i) threads.emplace_back([&] { in += lets_in("ann", "right") ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(in, 12);
}

TEST_F(AccessTest, ManyGuessesAtOnceAreFiveAtMost) {
  std::vector<std::thread> threads;
  std::atomic<int> seen = 0;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] {
      if (access_.check_password("ann", "wrong", home).refusal == Refusal::wrong) ++seen;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, 5);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
