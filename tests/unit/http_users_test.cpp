// Whom the HTTP server knows by what: passwords, sessions, and what each user may see.
#include "app/publisher/server/session_cookie.h"
#include "tests/unit/cookie_line.h"
#include "tests/unit/http_server_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::StartsWith;

TEST_F(HttpServerTest, WithUsersWantsToKnowWhoItIs) {
  start(guarded_config());
  const Reply tool = ask(port(), "GET /api/v1/");
  EXPECT_EQ(tool.status, 401);
  EXPECT_THAT(tool.headers.at("www-authenticate"), StartsWith("Basic "));
  const Reply script = ask(port(), "GET /api/v1/", "Sec-Fetch-Mode: cors\r\n");
  EXPECT_EQ(script.status, 401);
  EXPECT_FALSE(script.headers.contains("www-authenticate"));
  const Reply page = ask(port(), "GET /api/v1/", "Sec-Fetch-Mode: navigate\r\n");
  EXPECT_EQ(page.status, 303);
  EXPECT_EQ(page.headers.at("location"), "../../login") << "relative: a proxy may show the rig below a path";
  EXPECT_EQ(ask(port(), "GET /nothing").status, 401) << "nobody learns what there is";
  EXPECT_EQ(ask(port(), "GET /login").status, 200);
  EXPECT_EQ(ask(port(), "GET /login", "Host: rig.example\r\n").status, 200) << "who logs in may use any name";
}

// A challenge opens the browser's own password window. From another machine over plain HTTP no Sec-Fetch-Mode comes.
TEST_F(HttpServerTest, AsksNoBrowserForAPassword) {
  start(guarded_config());
  const auto is_asked = [&](const std::string& headers) {
    const Reply refused = ask(port(), "GET /api/v1/session", "Accept: application/json\r\n" + headers);
    EXPECT_EQ(refused.status, 401);
    return refused.headers.contains("www-authenticate");
  };
  EXPECT_TRUE(is_asked(""));
  EXPECT_TRUE(is_asked("User-Agent: Lavf/59.27.100\r\n"));
  EXPECT_FALSE(is_asked("User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"));
  EXPECT_FALSE(is_asked("Sec-Fetch-Mode: cors\r\n"));
}

TEST_F(HttpServerTest, KnowsUsersByPassword) {
  start(guarded_config());
  const Reply good = ask(port(), "POST /api/v1/", "Authorization: Basic YW5uYTphbm5hJ3M=\r\n");  // anna:anna's
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(nlohmann::json::parse(good.body)["user"], "anna");
  std::vector<int> statuses;
  for (int i = 0; i < 7; ++i) statuses.push_back(ask(port(), "GET /api/v1/", "Authorization: Basic eDp5\r\n").status);
  EXPECT_EQ(statuses.front(), 401);
  EXPECT_EQ(statuses.back(), 429);
}

TEST_F(HttpServerTest, KnowsUsersBySessionAndWantsItsTokenForChanges) {
  start(guarded_config());
  const auto session = access_->open_session(*access_->identity_of("anna"));
  const std::string cookie = "Cookie: a=b; " + session_cookie_name(0) + "=" + session.token + "\r\n";
  EXPECT_EQ(nlohmann::json::parse(ask(port(), "GET /api/v1/", cookie).body)["user"], "anna");
  EXPECT_EQ(ask(port(), "PUT /api/v1/", cookie).status, 403);
  EXPECT_EQ(ask(port(), "PUT /api/v1/", cookie + "X-CSRF-Token: wrong\r\n").status, 403);
  EXPECT_EQ(ask(port(), "PUT /api/v1/", cookie + "X-CSRF-Token: " + session.csrf + "\r\n").status, 200);
  EXPECT_EQ(nlohmann::json::parse(ask(port(), "GET /login", cookie).body)["user"], "anna");
  EXPECT_EQ(ask(port(), "GET /api/v1/", test::cookie_line("other")).status, 401);
  const std::string own = session_cookie_name(0) + "=" + session.token;
  const std::string of_another_path = session_cookie_name(0) + "=stale";
  EXPECT_EQ(ask(port(), "GET /api/v1/", "Cookie: " + of_another_path + "; " + own + "\r\n").status, 200);
}

// A browser sends a host's cookies to all of its ports.
TEST_F(HttpServerTest, TakesNoSessionOfAnotherRigOfTheHost) {
  start(guarded_config());
  const auto session = access_->open_session(*access_->identity_of("anna"));
  const std::string ours = session_cookie_name(8080) + "=" + session.token;
  const std::string others = session_cookie_name(8081) + "=other; " + session_cookie_name(0) + "=another";
  const auto status = [&](const std::string& host, const std::string& cookies) {
    return ask(port(), "GET /api/v1/", "Host: " + host + "\r\nCookie: " + cookies + "\r\n").status;
  };
  EXPECT_EQ(status("localhost:8080", others + "; " + ours), 200);
  EXPECT_EQ(status("localhost:8080", ours + "; " + others), 200);
  EXPECT_EQ(status("localhost:8080", others), 401);
  EXPECT_EQ(status("localhost:8081", ours), 401);
}

// A link with a wall's token, which anybody can send, logs nobody out.
TEST_F(HttpServerTest, KnowsALoginBeforeAWall) {
  ServerConfig config = guarded_config();
  config.users[1].token = std::string(64, 'a');
  start(config);
  const auto login = access_->open_session(*access_->identity_of("anna"));
  const auto wall = access_->open_session(*access_->identity_of("bob"), SessionKind::wall);
  const std::string of_wall = session_cookie_name(0, SessionKind::wall) + "=" + wall.token;
  const std::string of_login = session_cookie_name(0) + "=" + login.token;
  const auto user = [&](const std::string& cookies) {
    return nlohmann::json::parse(ask(port(), "GET /api/v1/", "Cookie: " + cookies + "\r\n").body)["user"];
  };
  EXPECT_EQ(user(of_wall), "bob");
  EXPECT_EQ(user(of_wall + "; " + of_login), "anna");
  access_->close_session(login.token);
  EXPECT_EQ(user(of_wall + "; " + of_login), "bob");
}

TEST_F(HttpServerTest, ShowsCamerasToThoseWhoMaySeeThem) {
  start(guarded_config());
  const std::string bob = "Authorization: Basic Ym9iOmJvYidz\r\n";  // bob:bob's
  const auto early = ask(port(), "GET /cameras/dock/snapshot.jpg", bob);
  EXPECT_EQ(early.status, 503) << "which cameras there are is not known yet";
  EXPECT_EQ(early.headers.at("retry-after"), "1");
  rig_.set_status({{"cameras", nlohmann::json::object()}});
  EXPECT_EQ(ask(port(), "GET /cameras/dock/snapshot.jpg", bob).status, 404);  // there is none
  EXPECT_EQ(ask(port(), "GET /cameras/yard/snapshot.jpg", bob).status, 404);
  EXPECT_EQ(ask(port(), "GET /cameras/yard/live", bob).status, 404);
  EXPECT_EQ(ask(port(), "GET /cameras/dock/snapshot.jpg").status, 401);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
