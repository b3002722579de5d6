// What wrong logins by RTSP cost whom: by a clock of the test's own, so that minutes pass at once.
#include "app/publisher/server/rtsp/logins.h"

#include <glib.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "app/config/password_hash.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr const char* home = "10.0.0.7";
constexpr const char* elsewhere = "10.0.0.8";

class RtspLoginsTest : public testing::Test {
 protected:
  RtspLoginsTest() {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  ~RtspLoginsTest() override { spdlog::set_default_logger(before_); }

  static ServerConfig config() {
    ServerConfig config;
    config.users.push_back({"ann", hash_password("pw-ann"), "ann's-secret", Permission::view, {}});
    config.users.push_back({"ben", hash_password("pw-ben"), "ben's-secret", Permission::view, {}});
    return config;
  }
  // By Basic.
  std::shared_ptr<const RtspLogin> try_to_log_in(const std::string& password, const std::string& address = home) {
    const std::string text = "ann:" + password;
    gchar* encoded = g_base64_encode(reinterpret_cast<const guchar*>(text.data()), text.size());
    const std::string message =
        "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nAuthorization: Basic " + std::string(encoded) + "\r\n\r\n";
    g_free(encoded);
    auto login = logins_.check(message, address);
    while (!login->done) std::this_thread::sleep_for(1ms);
    return login;
  }
  int wait_s() { return logins_.digest_wait_s(home, "ben"); }
  [[nodiscard]] std::string log() const { return log_.str(); }

  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream log_;
  std::atomic<Clock::time_point> time_ = Clock::now();
  Access access_{config(), [this] { return time_.load(); }};
  RtspLogins logins_{access_, [] {}, [this] { return time_.load(); }};
};

TEST_F(RtspLoginsTest, WhatIsTriedDuringAWaitChangesNothing) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(try_to_log_in("wrong")->retry_after_s, 0);
  const std::string logged = log();
  EXPECT_NE(logged, "");
  for (int i = 0; i < 1000; ++i) {
    const auto login = try_to_log_in("wrong");
    ASSERT_FALSE(login->identity);
    ASSERT_EQ(login->retry_after_s, 1) << i;
  }
  EXPECT_EQ(log(), logged);
  EXPECT_EQ(wait_s(), 1);
  EXPECT_FALSE(try_to_log_in("ann's-secret")->identity) << "it goes on unseen";
  time_ = time_.load() + 1s;
  EXPECT_EQ(wait_s(), 0);
  EXPECT_TRUE(try_to_log_in("ann's-secret")->identity);
}

// As behind one NAT: a player with an old password, and one that is right.
TEST_F(RtspLoginsTest, ADigestThatWasRightGoesOnBesideWrongLogins) {
  logins_.digest_was(true, home, "ann");
  int waits = 0;
  for (int i = 0; i < 50; ++i) {
    try_to_log_in("wrong");
    EXPECT_EQ(logins_.digest_wait_s(home, "ann"), 0) << i;
    logins_.digest_was(true, home, "ann");
    waits += wait_s() > 0 ? 1 : 0;
    time_ = time_.load() + 12s;
  }
  EXPECT_GT(waits, 30) << "for others";
}

TEST_F(RtspLoginsTest, ADigestThatWasRightIsRightForItsUserAndNetworkAndSomeMinutes) {
  logins_.digest_was(true, home, "ann");
  for (const char* address : {home, elsewhere}) {
    for (int i = 0; i < 5; ++i) logins_.digest_was(false, address, "ann");
  }
  EXPECT_EQ(logins_.digest_wait_s(home, "ann"), 0);
  EXPECT_EQ(logins_.digest_wait_s(home, "ben"), 1);
  EXPECT_EQ(logins_.digest_wait_s(elsewhere, "ann"), 1);
  time_ = time_.load() + 6min;
  logins_.digest_was(false, home, "ben");
  EXPECT_EQ(logins_.digest_wait_s(home, "ann"), 2);
}

TEST_F(RtspLoginsTest, WhoGuessesDuringAWaitGuessesFiveTimes) {
  logins_.digest_was(true, home, "ann");
  for (int i = 0; i < 5; ++i) logins_.digest_was(false, home, "ann");
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(logins_.digest_wait_s(home, "ann"), 0) << i;
    logins_.digest_was(false, home, "ann");
  }
  EXPECT_EQ(logins_.digest_wait_s(home, "ann"), 1);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
