// The HTTP server as hostile clients meet it: requests without end, bytes that dawdle, more connections than there are
// places, and addresses that are made up.
#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include "core/clock.h"
#include "tests/unit/http_server_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::HasSubstr;

class HttpStrangersTest : public HttpServerTest {};

const std::string chunked = "POST /api/v1/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST_F(HttpStrangersTest, ReadsBodiesInChunks) {
  start(open_config());
  TcpClient client(port());
  client.send(chunked + "5;name=value;quoted=\"a b\"\r\nhello\r\n");
  client.send("6\r\n world\r\n0\r\nX-Trailer: 1\r\nAuthorization: Basic eDp5\r\n\r\n" +
              request_text("GET /api/v1/next"));
  EXPECT_EQ(nlohmann::json::parse(read_reply(client).body)["body"], "hello world");
  EXPECT_THAT(read_reply(client).body, HasSubstr("/api/v1/next"));
  // As many chunks as a body can have.
  std::string body = chunked;
  for (int i = 0; i < 64 * 1024; ++i) body += "1\r\nx\r\n";
  client.send(body + "0\r\n\r\n");
  EXPECT_EQ(nlohmann::json::parse(read_reply(client).body)["body"].get<std::string>().size(), 64 * 1024U);
}

// Sends until it is refused, or 64 MiB were taken.
Reply pour(std::uint16_t port, const std::string& begin, const std::string& more) {
  TcpClient client(port);
  client.send(begin);
  std::size_t sent = 0;
  while (sent < (64U << 20U) && client.send(more)) {
    sent += more.size();
    if (client.has_bytes()) break;
  }
  return read_head(client);
}

TEST_F(HttpStrangersTest, KeepsNothingThatHasNoEnd) {
  start(open_config());
  const std::string many(64 * 1024, 'x');
  std::string chunks;
  for (int i = 0; i < 100; ++i) chunks += "1;" + std::string(1000, 'y') + "\r\nx\r\n";
  EXPECT_EQ(pour(port(), chunked + "5;", many).status, 400) << "an extension of a chunk";
  EXPECT_EQ(pour(port(), chunked + "0;", many).status, 400) << "of the last one";
  EXPECT_EQ(pour(port(), chunked + "0\r\nX: ", many).status, 400) << "a trailer";
  EXPECT_EQ(pour(port(), chunked + "0\r\n", "X: y\r\n").status, 400) << "trailers";
  EXPECT_EQ(pour(port(), chunked, chunks).status, 413) << "chunks with extensions";
  EXPECT_EQ(pour(port(), "GET / HTTP/1.1\r\n", "X: y\r\n").status, 431) << "headers";
  EXPECT_EQ(pour(port(), "", many).status, 431) << "a first line";
}

TEST_F(HttpStrangersTest, KnowsOneTransferEncoding) {
  start(open_config());
  for (const char* coding : {"gzip", "gzip, chunked", "chunked, gzip", "identity", "x-chunked"}) {
    const auto headers = std::string("Transfer-Encoding: ") + coding + "\r\n";
    EXPECT_EQ(ask(port(), "POST /api/v1/", headers).status, 501) << coding;
  }
  TcpClient old(port());
  old.send("POST /api/v1/ HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(read_reply(old).status, 501);
  EXPECT_EQ(ask(port(), "GET /api/v1/", "Host: localhost\r\nHost: evil.example\r\n").status, 400);
}

// A proxy before this may take the second line for a header.
TEST_F(HttpStrangersTest, RefusesHeadersThatGoOnInTheNextLine) {
  start(open_config());
  EXPECT_EQ(ask(port(), "GET /api/v1/", "Accept: a,\r\n b: c\r\n").status, 400);
  EXPECT_EQ(ask(port(), "GET /api/v1/", "Accept: a,\r\n\tb: c\r\n").status, 400);
  EXPECT_EQ(ask(port(), "GET /api/v1/", "Accept: a, b: c\r\n", "\r\n in the body").status, 200);
}

// As monitors of load balancers ask, by default.
TEST_F(HttpStrangersTest, WantsAHostOfHttp11Only) {
  start(open_config());
  const auto status = [&](const std::string& request) {
    TcpClient client(port());
    client.send(request);
    return read_reply(client).status;
  };
  EXPECT_EQ(status("GET /api/v1/ HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(status("GET /api/v1/ HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /api/v1/ HTTP/1.0\r\nHost: evil.example\r\n\r\n"), 403);
  EXPECT_EQ(status("GET /api/v1/ HTTP/1.0\r\nOrigin: http://evil.example\r\n\r\n"), 403);
  EXPECT_EQ(status("GET /api/v1/ HTTP/1.0\r\nHost: \r\n\r\n"), 400);
}

// One byte every few milliseconds: each of them is soon enough, all of them are not.
TEST_F(HttpStrangersTest, ADeadlineHoldsForEveryByte) {
  HttpLimits limits;
  limits.request = 400ms;
  start(open_config(), limits);
  const std::map<std::string, std::string> begins{{"GET / HTTP/1.1\r\nX: ", "headers"},
                                                  {chunked + "5;", "an extension"},
                                                  {chunked + "0\r\nX: ", "a trailer"},
                                                  {chunked + "fff\r\n", "a chunk"}};
  for (const auto& [begin, what] : begins) {
    TcpClient slow(port());
    slow.send(begin);
    const Deadline deadline = Clock::now() + patience;
    bool open = true;
    while (open && Clock::now() < deadline) open = !slow.ended_within(5ms) && slow.send("x");
    EXPECT_FALSE(open) << what;
  }
}

// Also for what comes before the first request, and for what asks for a WebSocket; meanwhile others are served.
TEST_F(HttpStrangersTest, HandshakesAndUpgradesByTheByteAreCutOff) {
  HttpLimits limits;
  limits.request = 1s;
  const TemporaryFolder folder;
  ServerConfig config = open_config();
  const auto expect_cut_off = [&](const std::string& bytes, const auto& is_served) {
    server_.reset();
    start(config, limits);
    TcpClient slow(port());
    std::atomic<bool> over = false;
    std::atomic<bool> cut_off = false;
    const auto begin = Clock::now();
    const std::jthread sender([&] {
      cut_off = is_cut_off(slow, bytes, 20ms, [](auto& client, auto pause) { return client.ended_within(pause); });
      over = true;
    });
    int served = 0;
    for (; !over && Clock::now() < begin + patience; ++served) EXPECT_TRUE(is_served());
    EXPECT_TRUE(over && cut_off);
    EXPECT_GE(served, 2);
    EXPECT_GE(Clock::now() - begin, limits.request);
  };
  const std::string upgrade = request_text("GET /api/v1/cameras/dock/live",
                                           "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
  expect_cut_off(upgrade, [&] { return ask(port(), "GET /api/v1/").status == 200; });
  config.tls = make_certificate(folder);
  expect_cut_off(client_hello(), [&] { return curl(*config.tls).ends_with(" 200"); });
}

TEST_F(HttpStrangersTest, OfAnAddressTheOldestIdleConnectionGivesWay) {
  HttpLimits limits;
  limits.idle_of_an_address = 8;
  start(open_config(), limits);
  TcpClient first(port());
  first.send(request_text("GET /api/v1/"));
  EXPECT_EQ(read_reply(first).status, 200);
  std::vector<std::unique_ptr<TcpClient>> idle;
  for (int i = 0; i < 40; ++i) {
    idle.push_back(std::make_unique<TcpClient>(port()));
    if (i % 2 == 0) idle.back()->send("GET /");  // neither do those that have begun
  }
  EXPECT_EQ(ask(port(), "GET /api/v1/").status, 200);
  first.read_to_the_end();
  for (int i = 0; i < 32; ++i) idle[static_cast<std::size_t>(i)]->read_to_the_end();
  idle.back()->send("/ HTTP/1.1\r\nHost: localhost\r\n\r\n");  // the newest is still there
  EXPECT_NE(read_reply(*idle.back()).status, 0);
}

TEST_F(HttpStrangersTest, WhoHasLoggedInGivesWayLast) {
  HttpLimits limits;
  limits.idle_of_an_address = 4;
  start(guarded_config(), limits);
  TcpClient anna(port());
  anna.send(request_text("GET /api/v1/", "Authorization: Basic YW5uYTphbm5hJ3M=\r\n"));
  EXPECT_EQ(read_reply(anna).status, 200);
  std::vector<std::unique_ptr<TcpClient>> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(std::make_unique<TcpClient>(port()));
  EXPECT_EQ(ask(port(), "GET /login").status, 200);
  anna.send(request_text("GET /api/v1/", "Authorization: Basic YW5uYTphbm5hJ3M=\r\n"));
  EXPECT_EQ(read_reply(anna).status, 200);
}

TEST_F(HttpStrangersTest, TakesNoMoreConnectionsThanItMay) {
  HttpLimits limits;
  limits.connections = 3;
  ServerConfig config = open_config();
  config.trusted_proxies = {"127.0.0.0/8"};  // which may have all of them
  start(config, limits);
  std::vector<std::unique_ptr<TcpClient>> clients;
  const auto connect = [&] {
    clients.push_back(std::make_unique<TcpClient>(port()));
    const std::string address = "10.0.0." + std::to_string(clients.size());
    clients.back()->send(request_text("GET /waits", "X-Forwarded-For: " + address + "\r\n"));
  };
  for (int i = 0; i < 3; ++i) connect();
  while (waiting_ < 3) std::this_thread::yield();
  connect();
  EXPECT_EQ(read_reply(*clients.back()).status, 503);
  let_go_.set_value();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(read_reply(*clients[i]).status, 200);
  EXPECT_EQ(ask(port(), "GET /api/v1/").status, 200) << "the three are idle now";
}

TEST_F(HttpStrangersTest, AnAddressHasHalfOfAllConnectionsAtMost) {
  HttpLimits limits;
  limits.connections = 4;
  start(open_config(), limits);
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<TcpClient>(port()));
    clients.back()->send(request_text("GET /waits"));
  }
  while (waiting_ < 2) std::this_thread::yield();
  EXPECT_EQ(ask(port(), "GET /api/v1/").status, 503);
  let_go_.set_value();
}

// They can have long answers, and read them slowly.
TEST_F(HttpStrangersTest, WhoHasNotLoggedInGivesWayAlsoWhileBeingAnswered) {
  HttpLimits limits;
  limits.connections = 2;
  ServerConfig config = guarded_config();
  config.trusted_proxies = {"127.0.0.0/8"};  // as if each were at another address
  start(config, limits);
  std::vector<std::unique_ptr<TcpClient>> strangers;
  for (int i = 0; i < 2; ++i) {
    strangers.push_back(std::make_unique<TcpClient>(port()));
    strangers.back()->send(request_text("GET /waits"));
    while (waiting_ <= i) std::this_thread::yield();
  }
  TcpClient anna(port());
  anna.send(request_text("GET /api/v1/", "Authorization: Basic YW5uYTphbm5hJ3M=\r\n"));
  EXPECT_EQ(read_reply(anna).status, 200);
  EXPECT_TRUE(strangers.front()->ended_within(patience));
  EXPECT_FALSE(strangers.back()->ended_within(0ms)) << "one place was enough";
  let_go_.set_value();
  EXPECT_EQ(read_reply(*strangers.back()).status, 200);
}

constexpr const char* annas = "Authorization: Basic YW5uYTphbm5hJ3M=\r\n";
constexpr const char* carls = "Authorization: Basic Y2FybDpjYXJsJ3M=\r\n";

// Also behind a proxy, whose addresses are those that count.
TEST_F(HttpStrangersTest, WhoAdministersComesInWhereAnAddressHasItsHalf) {
  HttpLimits limits;
  limits.connections = 4;
  ServerConfig config = guarded_config();
  config.trusted_proxies = {"127.0.0.0/8"};
  start(config, limits);
  const std::string bobs = "Authorization: Basic Ym9iOmJvYidz\r\nX-Forwarded-For: 10.0.0.";
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<TcpClient>(port()));
    clients.back()->send(request_text("GET /api/v1/waits", bobs + "1\r\n"));
  }
  while (waiting_ < 2) std::this_thread::yield();
  EXPECT_EQ(ask(port(), "GET /api/v1/", bobs + "1\r\n").status, 503);
  EXPECT_EQ(ask(port(), "GET /api/v1/", carls + std::string("X-Forwarded-For: 10.0.0.2\r\n")).status, 200);
  EXPECT_EQ(ask(port(), "GET /api/v1/", annas + std::string("X-Forwarded-For: 10.0.0.1\r\n")).status, 200);
  let_go_.set_value();
}

// What is refused unread is waited for, so that the answer arrives; that is no place to stay.
TEST_F(HttpStrangersTest, WhoSendsNonsenseGivesWay) {
  HttpLimits limits;
  limits.connections = 4;
  start(open_config(), limits);
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<TcpClient>(port()));
    clients.back()->send("NONSENSE\r\n\r\n");
    EXPECT_EQ(read_reply(*clients.back()).status, 400) << i;
  }
  EXPECT_EQ(ask(port(), "GET /api/v1/").status, 200);
}

// Bob asks for what does not end until let_go_ says so; two of his requests are answered at once.
class TurnsTest : public HttpStrangersTest {
 protected:
  void SetUp() override { start(guarded_config()); }
  [[nodiscard]] std::unique_ptr<TcpClient> ask_for_bob() const {
    auto bob = std::make_unique<TcpClient>(port());
    bob->send(request_text("GET /api/v1/waits", "Authorization: Basic Ym9iOmJvYidz\r\n"));
    return bob;
  }
  void wait_for_two() const {
    while (waiting_ < 2) std::this_thread::yield();
  }
  [[nodiscard]] std::vector<std::unique_ptr<TcpClient>> eight_of_bobs() const {
    std::vector<std::unique_ptr<TcpClient>> bobs;
    for (int i = 0; i < 8; ++i) bobs.push_back(ask_for_bob());
    wait_for_two();
    return bobs;
  }
};

TEST_F(TurnsTest, NobodyWaitsForAllThatAnotherAsksFor) {
  const auto bobs = eight_of_bobs();
  EXPECT_EQ(ask(port(), "GET /api/v1/", annas).status, 200) << "who administers has threads of her own";
  EXPECT_EQ(ask(port(), "GET /api/v1/", carls).status, 200);
  EXPECT_EQ(waiting_, 2);
  let_go_.set_value();
  for (const auto& bob : bobs) EXPECT_EQ(read_reply(*bob).status, 200);
  EXPECT_EQ(waiting_, 8);
}

// Those who went away while they waited for their turn, too.
TEST_F(TurnsTest, ATurnThatNobodyWaitsForAnyMorePasses) {
  const auto first = ask_for_bob();
  const auto second = ask_for_bob();
  wait_for_two();
  for (int i = 0; i < 8; ++i) static_cast<void>(ask_for_bob());
  const auto last = ask_for_bob();
  let_go_.set_value();
  for (const auto* bob : {&first, &second, &last}) EXPECT_EQ(read_reply(**bob).status, 200);
}

TEST_F(TurnsTest, EndsWhileManyWaitForTheirTurn) {
  const auto bobs = eight_of_bobs();
  const std::jthread later([&] {
    EXPECT_TRUE(bobs.back()->ended_within(patience));
    let_go_.set_value();
  });
  server_.reset();
}

TEST_F(HttpStrangersTest, BelievesProxiesThatItTrusts) {
  const auto seen = [&](const std::string& header) {
    return nlohmann::json::parse(ask(port(), "GET /api/v1/", header).body)["address"].get<std::string>();
  };
  start(open_config());
  EXPECT_EQ(seen("X-Forwarded-For: 10.0.0.9\r\n"), "127.0.0.1") << "anybody can say so";
  server_.reset();
  ServerConfig config = open_config();
  config.trusted_proxies = {"127.0.0.1", "192.168.7.0/24"};
  start(config);
  EXPECT_EQ(seen(""), "127.0.0.1");
  EXPECT_EQ(seen("X-Forwarded-For: 10.0.0.9\r\n"), "10.0.0.9");
  EXPECT_EQ(seen("X-Forwarded-For: 1.2.3.4, 10.0.0.9\r\n"), "10.0.0.9") << "the first is the stranger's own word";
  EXPECT_EQ(seen("X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 10.0.0.9,192.168.7.3\r\n"), "10.0.0.9");
  EXPECT_EQ(seen("X-Forwarded-For: 2001:db8::1\r\n"), "2001:db8::1");
  EXPECT_EQ(seen("X-Forwarded-For: \"><script>\r\n"), "127.0.0.1");
}

TEST_F(HttpStrangersTest, WrongPasswordsBehindAProxyHoldUpOnlyTheirSender) {
  ServerConfig config = guarded_config();
  config.trusted_proxies = {"127.0.0.1"};
  start(config);
  const std::string anna = "Authorization: Basic YW5uYTphbm5hJ3M=\r\n";
  for (int i = 0; i < 6; ++i) ask(port(), "GET /api/v1/", "X-Forwarded-For: 10.0.0.9\r\nAuthorization: Basic eDp5\r\n");
  EXPECT_EQ(ask(port(), "GET /api/v1/", "X-Forwarded-For: 10.0.0.9\r\n" + anna).status, 429);
  EXPECT_EQ(ask(port(), "GET /api/v1/", "X-Forwarded-For: 10.0.0.8\r\n" + anna).status, 200);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
