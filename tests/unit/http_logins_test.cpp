// Many logins at once, as HTTP requests bring them: wrong ones of strangers, and one right one in many requests.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/http_server_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::Pair;

constexpr const char* annas = "Authorization: Basic YW5uYTphbm5hJ3M=\r\n";

// Many who send wrong passwords at once, each another one; the last of them finds no place at the door any more.
class LoginFloodTest : public HttpServerTest {
 protected:
  void start_behind_a_proxy() {
    ServerConfig config = guarded_config();
    config.trusted_proxies = {"127.0.0.0/8"};
    start(config);
  }
  // "anna:wron" and three other bytes each time, in base64.
  static std::string wrong_login(int i) { return "YW5uYTp3cm9u" + std::to_string(1000 + i); }
  void flood(int logins, const std::function<std::string(int)>& address_of) {
    for (int i = 0; i < logins; ++i) {
      flood_.push_back(std::make_unique<TcpClient>(port()));
      flood_.back()->send(request_text(
          "GET /api/v1/", "X-Forwarded-For: " + address_of(i) + "\r\nAuthorization: Basic " + wrong_login(i) + "\r\n"));
    }
    ASSERT_EQ(read_reply(*flood_.back()).status, 503);
  }

  std::vector<std::unique_ptr<TcpClient>> logins(int count, const std::function<std::string(int)>& address_of) {
    std::vector<std::unique_ptr<TcpClient>> clients;
    for (int i = 0; i < count; ++i) {
      clients.push_back(std::make_unique<TcpClient>(port()));
      clients.back()->send(request_text("POST /waits", "X-Forwarded-For: " + address_of(i) + "\r\n"));
    }
    return clients;
  }

  std::vector<std::unique_ptr<TcpClient>> flood_;
};

TEST_F(LoginFloodTest, KeepsNobodyOutWhoIsKnown) {
  start_behind_a_proxy();
  EXPECT_EQ(ask(port(), "GET /api/v1/", annas).status, 200) << "from now on she is known";
  const auto others = logins(80, [](int i) { return "10.0." + std::to_string(i) + ".1"; });
  EXPECT_EQ(read_reply(*others.back()).status, 503);
  EXPECT_EQ(ask(port(), "GET /api/v1/", annas).status, 200);
  let_go_.set_value();
}

TEST_F(LoginFloodTest, OfOneAddressLeavesPlacesForOthers) {
  start_behind_a_proxy();
  flood(40, [](int) { return "10.0.0.1"; });
  EXPECT_EQ(ask(port(), "GET /api/v1/", annas).status, 200);
}

// As many wait for a password to be checked as there may, whichever way they sent it.
TEST_F(LoginFloodTest, LoginsByPostWaitAtTheSameDoor) {
  start_behind_a_proxy();
  const auto clients = logins(80, [](int i) { return "10.0." + std::to_string(i) + ".1"; });
  for (std::size_t i = 64; i < 80; ++i) EXPECT_EQ(read_reply(*clients[i]).status, 503);
  EXPECT_EQ(ask(port(), "GET /api/v1/", "Authorization: Basic eDp5\r\n").status, 503);
  let_go_.set_value();
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(read_reply(*clients[i]).status, 200);
}

// Four addresses may have all places but those that are kept for others.
TEST_F(LoginFloodTest, AnAddressIsHeardBeforeAnothersSecondLogin) {
  start_behind_a_proxy();
  std::vector<std::vector<std::unique_ptr<TcpClient>>> others;
  for (const std::string address : {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}) {
    others.push_back(logins(20, [&](int) { return address; }));
    EXPECT_EQ(read_reply(*others.back().back()).status, 503) << "eight of it wait";
  }
  const auto own = logins(20, [](int) { return "10.0.0.5"; });
  EXPECT_EQ(read_reply(*own.back()).status, 503) << "one of it waits";
  let_go_.set_value();
  EXPECT_EQ(read_reply(*own.front()).status, 200);
  const std::vector<std::string> all = served();
  EXPECT_EQ(std::ranges::find(all, "10.0.0.5") - all.begin(), 4) << "each other one has had one";
}

// As a wall of monitors that is switched on: none of its logins is remembered yet.
class EqualLoginsTest : public HttpServerTest {
 protected:
  // How often each status came.
  std::map<int, int> statuses_of(const std::string& login) {
    start(guarded_config());
    std::vector<std::unique_ptr<TcpClient>> clients;
    for (int i = 0; i < 40; ++i) clients.push_back(std::make_unique<TcpClient>(port()));
    for (const auto& client : clients) client->send(request_text("GET /api/v1/", login));
    std::map<int, int> statuses;
    for (const auto& client : clients) ++statuses[read_reply(*client).status];
    return statuses;
  }
};

TEST_F(EqualLoginsTest, AreCheckedTogether) { EXPECT_THAT(statuses_of(annas), ElementsAre(Pair(200, 40))); }

TEST_F(EqualLoginsTest, ThatAreWrongAllFail) {
  auto statuses = statuses_of("Authorization: Basic YW5uYTp3cm9uZw==\r\n");
  EXPECT_EQ(statuses[401] + statuses[429], 40);
  // Each check counts, however many share its result.
  for (int i = 0; i < 6; ++i) ask(port(), "GET /api/v1/", "Authorization: Basic YW5uYTp3cm9uZw==\r\n");
  EXPECT_EQ(ask(port(), "GET /api/v1/", annas).status, 429);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
