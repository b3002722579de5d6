// Sessions of pages over what ends the processes that serve them, and the token of a wall.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <memory>
#include <regex>

#include "core/error.h"
#include "tests/integration/rig_run.h"
#include "tests/paths.h"
#include "tests/unit/command_output.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

struct Token {
  Token() {
    const std::string printed = output_of(std::string(campipe_program) + " make-token");
    std::smatch parts;
    if (!std::regex_search(printed, parts, std::regex("token=([^&]+)&[^]* ([0-9a-f]{64})\n")))
      throw Error("make-token printed " + printed);
    text = parts[1];
    hash = parts[2];
  }
  std::string text;
  std::string hash;
};

class WallSessions : public testing::Test {
 protected:
  void start() {
    rig_ = std::make_unique<RigRun>(yaml(), RigOptions{.report = false, .state = state_.path()});
    ASSERT_TRUE(eventually([&] { return answers(); })) << rig_->log();
  }
  [[nodiscard]] std::string yaml() const {
    return "http_address: \"127.0.0.1:" + std::to_string(port_) +
           "\"\nrtsp_address: off\nworkers: {count: 1}\nusers: {lobby: {token: " + token_.hash +
           ", password: "
           "'$argon2id$v=19$m=8192,t=1,p=1$j5Jqca6CfWjn2YBeUc14IQ$WqqfGov3SJrVn7xzww+8j9iTz0qXyfgVxPehGfpf2kg'" +
           "}}\ncameras: {dock: {source: \"test://pattern?width=160&height=120&rate=5\"}}\n";
  }
  [[nodiscard]] bool answers() const {
    try {
      return call("GET /readyz").status == 200;
    } catch (const Error&) {
      return false;  // it does not listen yet
    }
  }
  [[nodiscard]] Reply call(const std::string& line, const std::string& headers = "") const {
    return ask(static_cast<std::uint16_t>(port_), line, headers);
  }
  // "Cookie: …"; empty: there is none.
  [[nodiscard]] std::string log_in() const {
    EXPECT_FALSE(call("HEAD /?token=" + token_.text).headers.contains("set-cookie")) << "who only looks has no session";
    const Reply reply = call("GET /?token=" + token_.text + "&kiosk=1");
    EXPECT_EQ(reply.status, 303);
    EXPECT_EQ(reply.headers.at("location"), "./?kiosk=1");
    return cookie_of(reply);
  }
  static std::string cookie_of(const Reply& reply) {
    const auto cookie = reply.headers.find("set-cookie");
    if (cookie == reply.headers.end()) return "";
    EXPECT_THAT(cookie->second, HasSubstr("HttpOnly"));
    return "Cookie: " + cookie->second.substr(0, cookie->second.find(';')) + "\r\n";
  }
  [[nodiscard]] bool is_in(const std::string& cookie) const { return call("GET /api/v1/status", cookie).status == 200; }
  void log_out(const std::string& cookie) const {
    const json session = json::parse(call("GET /api/v1/session", cookie).body);
    EXPECT_EQ(session.at("user"), "lobby");
    EXPECT_EQ(session.at("permissions"), (json{"metrics", "view"}));
    EXPECT_EQ(
        call("POST /api/v1/logout", cookie + "X-CSRF-Token: " + session.at("csrf").get<std::string>() + "\r\n").status,
        200);
  }

  const int port_ = free_port();
  TemporaryFolder state_;
  Token token_;
  std::unique_ptr<RigRun> rig_;
};

TEST_F(WallSessions, OutliveThePublisherAndTheRig) {
  start();
  EXPECT_FALSE(is_in(""));
  const std::string wall = log_in();
  const std::string other = log_in();
  const std::string left = log_in();
  ASSERT_TRUE(is_in(wall) && is_in(other) && is_in(left));
  log_out(left);
  EXPECT_FALSE(is_in(left));

  const pid_t publisher = rig_->pid_of("publisher");
  ::kill(publisher, SIGKILL);
  rig_->successor_of("publisher", publisher);
  ASSERT_TRUE(eventually([&] { return answers(); })) << rig_->log();
  EXPECT_TRUE(is_in(wall)) << rig_->log();
  EXPECT_FALSE(is_in(left)) << "a logout is not undone";

  rig_->signal(SIGINT);
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  start();
  EXPECT_TRUE(is_in(wall)) << rig_->log();
  log_out(other);
  rig_->signal(SIGKILL);
  rig_->wait();
  start();
  EXPECT_TRUE(is_in(wall)) << rig_->log();
  EXPECT_FALSE(is_in(other));
  EXPECT_THAT(rig_->log(), Not(HasSubstr(token_.text)));
}

// The session of a person ends before long.
TEST_F(WallSessions, BeginAlsoWhereTheirUserHasLoggedIn) {
  start();
  const Reply login = ask(static_cast<std::uint16_t>(port_), "POST /api/v1/login", "Content-Type: application/json\r\n",
                          R"({"user": "lobby", "password": "correct horse"})");
  ASSERT_EQ(login.status, 200) << login.body;
  const std::string line = "GET /?token=" + token_.text;
  const std::string wall = cookie_of(call(line, cookie_of(login)));
  EXPECT_TRUE(is_in(wall));
  EXPECT_NE(wall, "");
  EXPECT_EQ(cookie_of(call(line, wall)), "") << "it is one";
}

// A browser forgets a cookie after 400 days at the latest.
TEST_F(WallSessions, HaveTheirCookieAnewWithThePage) {
  start();
  const std::string wall = log_in();
  EXPECT_EQ(cookie_of(call("GET /?kiosk=1", wall)), wall);
  EXPECT_EQ(cookie_of(call("HEAD /", wall)), "");
  EXPECT_EQ(cookie_of(call("GET /")), "");
  EXPECT_TRUE(is_in(wall));
}

TEST_F(WallSessions, EndWithTheirToken) {
  start();
  const std::string before = log_in();
  const std::string old_token = token_.text;
  token_ = Token();
  std::ofstream(rig_->file("rig.yaml")) << yaml();
  rig_->signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return !is_in(before); })) << rig_->log();
  EXPECT_TRUE(is_in(log_in()));
  const Reply refused = call("GET /?token=" + old_token);
  EXPECT_EQ(refused.headers.at("location"), "./login?token=unknown");
  EXPECT_FALSE(refused.headers.contains("set-cookie"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
