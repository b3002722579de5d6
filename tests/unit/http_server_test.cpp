// The HTTP server as those meet it who connect: what it lets in, what it refuses, and what it does not wait for.
#include "app/server/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "app/password_hash.h"
#include "tests/unit/command_output.h"
#include "tests/unit/http_client.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;
using test::ask;
using test::read_reply;
using test::Reply;
using test::request_text;
using test::TcpClient;
using testing::HasSubstr;
using testing::StartsWith;

HttpAnswer echo(const HttpRequest& request) {
  nlohmann::json body = {{"method", request.method}, {"path", request.path},          {"query", request.query},
                         {"body", request.body},     {"user", request.identity.user}, {"address", request.address}};
  HttpAnswer answer;
  answer.body = body.dump();
  return answer;
}

UserConfig user(const std::string& name, Permission may, std::vector<std::string> cameras = {}) {
  UserConfig config;
  config.name = name;
  config.password = hash_password(name + "'s");
  config.may = may;
  config.cameras = std::move(cameras);
  return config;
}

class HttpServerTest : public testing::Test {
 protected:
  static ServerConfig open_config() {
    ServerConfig config;
    config.http_address = "127.0.0.1:0";
    return config;
  }
  static ServerConfig guarded_config() {
    static const std::vector<UserConfig> users{user("anna", Permission::administer),
                                               user("bob", Permission::view, {"dock"})};
    ServerConfig config = open_config();
    config.users = users;
    return config;
  }

  void start(const ServerConfig& config, const HttpLimits& limits = {}) {
    access_.emplace(config);
    std::vector<HttpServer::Route> routes{
        {"/api/v1/", false, echo},
        {"/login", true, echo},
        {"/tagged", true,
         [](const HttpRequest&) {
           HttpAnswer answer;
           answer.body = "page";
           answer.headers = {{"ETag", "\"1\""}, {"Cache-Control", "no-cache"}};
           return answer;
         }},
        {"/waits", true,
         [this](const HttpRequest&) {
           ++waiting_;
           released_.wait();
           return HttpAnswer();
         }},
        {"/fails", true, [](const HttpRequest&) -> HttpAnswer { throw Error("secret reason"); }},
        {"/file", true, [this](const HttpRequest&) {
           HttpAnswer answer;
           answer.file = file_;
           return answer;
         }}};
    server_.emplace(config, rig_, *access_, std::move(routes), limits);
  }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }

  RigView rig_{[](const nlohmann::json&) {}};
  std::optional<Access> access_;
  std::string file_;
  std::atomic<int> waiting_ = 0;
  std::promise<void> let_go_;
  const std::shared_future<void> released_ = let_go_.get_future().share();
  std::optional<HttpServer> server_;
};

TEST_F(HttpServerTest, HandsRequestsToTheLongestRoute) {
  start(open_config());
  const Reply reply = ask(port(), "POST /api/v1/a%20b?x=1", "", "hello");
  EXPECT_EQ(reply.status, 200);
  const auto seen = nlohmann::json::parse(reply.body);
  EXPECT_EQ(seen["method"], "POST");
  EXPECT_EQ(seen["path"], "/api/v1/a b");
  EXPECT_EQ(seen["query"]["x"], "1");
  EXPECT_EQ(seen["body"], "hello");
  EXPECT_EQ(seen["address"], "127.0.0.1");
  EXPECT_EQ(ask(port(), "GET /login/deeper").status, 200);
  EXPECT_EQ(ask(port(), "GET /loginx").status, 404);
  EXPECT_EQ(ask(port(), "GET /").status, 404);
}

TEST_F(HttpServerTest, SaysInEveryAnswerWhatAPageMayDo) {
  start(open_config());
  for (const char* line : {"GET /api/v1/", "GET /nothing", "GET /../x", "TRACE /"}) {
    const Reply reply = ask(port(), line);
    EXPECT_THAT(reply.headers.at("content-security-policy"), HasSubstr("default-src 'self'")) << line;
    EXPECT_THAT(reply.headers.at("content-security-policy"), HasSubstr("frame-ancestors 'none'")) << line;
    EXPECT_EQ(reply.headers.at("x-content-type-options"), "nosniff") << line;
    EXPECT_EQ(reply.headers.at("referrer-policy"), "no-referrer") << line;
    EXPECT_EQ(reply.headers.at("cross-origin-resource-policy"), "same-origin") << line;
    EXPECT_EQ(reply.headers.at("cross-origin-opener-policy"), "same-origin") << line;
    EXPECT_EQ(reply.headers.at("cache-control"), "no-store") << line;
  }
}

TEST_F(HttpServerTest, KeepsConnections) {
  start(open_config());
  TcpClient client(port());
  client.send(request_text("GET /api/v1/1") + request_text("GET /api/v1/2"));  // the second before the first's answer
  EXPECT_THAT(read_reply(client).body, HasSubstr("/api/v1/1"));
  EXPECT_THAT(read_reply(client).body, HasSubstr("/api/v1/2"));
  client.send(request_text("HEAD /api/v1/3"));
  const Reply head = read_reply(client, false);
  EXPECT_EQ(head.status, 200);
  EXPECT_NE(head.headers.at("content-length"), "0");
  client.send(request_text("GET /api/v1/4", "Connection: close\r\n"));
  EXPECT_THAT(read_reply(client).body, HasSubstr("/api/v1/4"));
  EXPECT_EQ(read_reply(client).status, 0);
}

TEST_F(HttpServerTest, AnswersWithNothingWhereTheBrowserHasIt) {
  start(open_config());
  const Reply first = ask(port(), "GET /tagged");
  EXPECT_EQ(first.body, "page");
  EXPECT_EQ(first.headers.at("cache-control"), "no-cache");
  const Reply again = ask(port(), "GET /tagged", "If-None-Match: " + first.headers.at("etag") + "\r\n");
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(ask(port(), "GET /tagged", "If-None-Match: \"2\"\r\n").status, 200);
}

TEST_F(HttpServerTest, TellsNobodyWhyAHandlerFailed) {
  start(open_config());
  const Reply reply = ask(port(), "GET /fails");
  EXPECT_EQ(reply.status, 500);
  EXPECT_THAT(reply.body, testing::Not(HasSubstr("secret")));
}

TEST_F(HttpServerTest, RefusesWhatIsTooLargeOrNoHttp) {
  start(open_config());
  EXPECT_EQ(ask(port(), "GET /api/v1/", "X: " + std::string(17 * 1024, 'x') + "\r\n").status, 431);
  EXPECT_EQ(ask(port(), "GET /" + std::string(17 * 1024, 'x')).status, 431);
  EXPECT_EQ(ask(port(), "POST /api/v1/", "", std::string(65 * 1024, 'x')).status, 413);
  EXPECT_EQ(ask(port(), "POST /api/v1/", "", std::string(64 * 1024, 'x')).status, 200);
  EXPECT_EQ(ask(port(), "POST /api/v1/", "Content-Length: 99999999999\r\n").status, 413);
  EXPECT_EQ(ask(port(), "TRACE /api/v1/").status, 405);
  EXPECT_EQ(ask(port(), "FROBNICATE /api/v1/").status, 405);
  EXPECT_EQ(ask(port(), "GET /api/v1/\x01").status, 400);
  for (const char* bad : {"/%2e%2e/etc/passwd", "/api/v1/../x", "/a%2f..%2fb", "/a%00", "*", "http://localhost/"}) {
    EXPECT_EQ(ask(port(), std::string("GET ") + bad).status, 400) << bad;
  }
  TcpClient garbage(port());
  garbage.send("\x16\x03\x01\x02 this is no HTTP\r\n\r\n");
  EXPECT_EQ(read_reply(garbage).status, 400);
  TcpClient nobody(port());
  nobody.send("GET /api/v1/ HTTP/1.1\r\n\r\n");
  EXPECT_EQ(read_reply(nobody).status, 400);
}

// Also against bodies in pieces that never end.
TEST_F(HttpServerTest, DoesNotWaitForThoseWhoDawdle) {
  HttpLimits limits;
  limits.request = 300ms;
  limits.idle = 600ms;
  start(open_config(), limits);
  const auto since = Clock::now();
  TcpClient slow(port());
  slow.send("GET /api/v1/ HTTP/1.1\r\nHost: loc");
  slow.read_to_the_end();
  EXPECT_GE(Clock::now() - since, 300ms);
  TcpClient body(port());
  body.send("POST /api/v1/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe");
  body.read_to_the_end();
  const auto idle_since = Clock::now();
  TcpClient idle(port());
  idle.read_to_the_end();
  EXPECT_GE(Clock::now() - idle_since, 600ms);
  EXPECT_EQ(ask(port(), "GET /api/v1/").status, 200);
}

const std::string chunked = "POST /api/v1/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST_F(HttpServerTest, ReadsBodiesInChunks) {
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

TEST_F(HttpServerTest, KeepsNothingThatHasNoEnd) {
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

TEST_F(HttpServerTest, KnowsOneTransferEncoding) {
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

// One byte every few milliseconds: each of them is soon enough, all of them are not.
TEST_F(HttpServerTest, ADeadlineHoldsForEveryByte) {
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
    const Deadline deadline = Clock::now() + test::patience;
    bool open = true;
    while (open && Clock::now() < deadline) open = !slow.ended_within(5ms) && slow.send("x");
    EXPECT_FALSE(open) << what;
  }
}

TEST_F(HttpServerTest, OfAnAddressTheOldestIdleConnectionGivesWay) {
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

TEST_F(HttpServerTest, WhoHasLoggedInGivesWayLast) {
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

TEST_F(HttpServerTest, TakesNoMoreConnectionsThanItMay) {
  HttpLimits limits;
  limits.connections = 3;
  ServerConfig config = open_config();
  config.trusted_proxies = {"127.0.0.0/8"};  // which may have all of them
  start(config, limits);
  std::vector<std::unique_ptr<TcpClient>> clients;
  const auto connect = [&] {
    clients.push_back(std::make_unique<TcpClient>(port()));
    clients.back()->send(request_text("GET /waits"));
  };
  for (int i = 0; i < 3; ++i) connect();
  while (waiting_ < 3) std::this_thread::yield();
  connect();
  EXPECT_EQ(read_reply(*clients.back()).status, 503);
  let_go_.set_value();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(read_reply(*clients[i]).status, 200);
  EXPECT_EQ(ask(port(), "GET /api/v1/").status, 200) << "the three are idle now";
}

TEST_F(HttpServerTest, AnAddressHasHalfOfAllConnectionsAtMost) {
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

TEST_F(HttpServerTest, BelievesProxiesThatItTrusts) {
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

TEST_F(HttpServerTest, WrongPasswordsBehindAProxyHoldUpOnlyTheirSender) {
  ServerConfig config = guarded_config();
  config.trusted_proxies = {"127.0.0.1"};
  start(config);
  const std::string anna = "Authorization: Basic YW5uYTphbm5hJ3M=\r\n";
  for (int i = 0; i < 6; ++i) ask(port(), "GET /api/v1/", "X-Forwarded-For: 10.0.0.9\r\nAuthorization: Basic eDp5\r\n");
  EXPECT_EQ(ask(port(), "GET /api/v1/", "X-Forwarded-For: 10.0.0.9\r\n" + anna).status, 429);
  EXPECT_EQ(ask(port(), "GET /api/v1/", "X-Forwarded-For: 10.0.0.8\r\n" + anna).status, 200);
}

// As many wait for a password to be checked as there may, whichever way they sent it.
TEST_F(HttpServerTest, LoginsByPostWaitAtTheSameDoor) {
  start(guarded_config());
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<TcpClient>(port()));
    clients.back()->send(request_text("POST /waits"));
  }
  for (std::size_t i = 32; i < 40; ++i) EXPECT_EQ(read_reply(*clients[i]).status, 503);
  EXPECT_EQ(ask(port(), "GET /api/v1/", "Authorization: Basic eDp5\r\n").status, 503);
  let_go_.set_value();
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(read_reply(*clients[i]).status, 200);
}

TEST_F(HttpServerTest, RefusesOtherSitesPages) {
  start(open_config());
  const std::string here = "Host: localhost:" + std::to_string(port()) + "\r\n";
  const std::string own = here + "Origin: http://localhost:" + std::to_string(port()) + "\r\n";
  EXPECT_EQ(ask(port(), "POST /api/v1/", own).status, 200);
  EXPECT_EQ(ask(port(), "POST /api/v1/", here + "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(ask(port(), "POST /login", here + "Origin: null\r\n").status, 403);
  EXPECT_EQ(ask(port(), "DELETE /api/v1/", here + "Sec-Fetch-Site: cross-site\r\n").status, 403);
  EXPECT_EQ(ask(port(), "GET /api/v1/", "Host: evil.example\r\n").status, 403) << "its name server says it is us";
  EXPECT_EQ(ask(port(), "GET /api/v1/", "Host: 127.0.0.1:1\r\n").status, 200);
}

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
  EXPECT_EQ(page.headers.at("location"), "/login");
  EXPECT_EQ(ask(port(), "GET /nothing").status, 401) << "nobody learns what there is";
  EXPECT_EQ(ask(port(), "GET /login").status, 200);
  EXPECT_EQ(ask(port(), "GET /login", "Host: rig.example\r\n").status, 200) << "who logs in may use any name";
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
  const std::string cookie = std::string("Cookie: a=b; ") + session_cookie + "=" + session.token + "\r\n";
  EXPECT_EQ(nlohmann::json::parse(ask(port(), "GET /api/v1/", cookie).body)["user"], "anna");
  EXPECT_EQ(ask(port(), "PUT /api/v1/", cookie).status, 403);
  EXPECT_EQ(ask(port(), "PUT /api/v1/", cookie + "X-CSRF-Token: wrong\r\n").status, 403);
  EXPECT_EQ(ask(port(), "PUT /api/v1/", cookie + "X-CSRF-Token: " + session.csrf + "\r\n").status, 200);
  EXPECT_EQ(nlohmann::json::parse(ask(port(), "GET /login", cookie).body)["user"], "anna");
  EXPECT_EQ(ask(port(), "GET /api/v1/", std::string("Cookie: ") + session_cookie + "=other\r\n").status, 401);
}

TEST_F(HttpServerTest, ShowsCamerasToThoseWhoMaySeeThem) {
  start(guarded_config());
  const std::string bob = "Authorization: Basic Ym9iOmJvYidz\r\n";            // bob:bob's
  EXPECT_EQ(ask(port(), "GET /cameras/dock/snapshot.jpg", bob).status, 404);  // there is none
  EXPECT_EQ(ask(port(), "GET /cameras/yard/snapshot.jpg", bob).status, 403);
  EXPECT_EQ(ask(port(), "GET /cameras/yard/live", bob).status, 403);
  EXPECT_EQ(ask(port(), "GET /cameras/dock/snapshot.jpg").status, 401);
}

class HttpFileTest : public HttpServerTest {
 protected:
  HttpFileTest() {
    file_ = folder_.path() / "dock \"1\".mp4";
    for (int i = 0; i < 1'000'000; ++i) content_ += static_cast<char>(i * 7 % 251);
    std::ofstream(file_, std::ios::binary) << content_;
  }
  test::TemporaryFolder folder_;
  std::string content_;
};

TEST_F(HttpFileTest, IsSentWholeOrInParts) {
  start(open_config());
  const Reply whole = ask(port(), "GET /file");
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(whole.headers.at("content-type"), "video/mp4");
  EXPECT_EQ(whole.headers.at("accept-ranges"), "bytes");
  EXPECT_FALSE(whole.headers.contains("content-disposition"));
  EXPECT_TRUE(whole.body == content_);
  const Reply part = ask(port(), "GET /file", "Range: bytes=300000-899999\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.headers.at("content-range"), "bytes 300000-899999/1000000");
  EXPECT_TRUE(part.body == content_.substr(300'000, 600'000));
  EXPECT_EQ(ask(port(), "GET /file", "Range: bytes=-5\r\n").body, content_.substr(999'995));
  const Reply beyond = ask(port(), "GET /file", "Range: bytes=1000000-\r\n");
  EXPECT_EQ(beyond.status, 416);
  EXPECT_EQ(beyond.headers.at("content-range"), "bytes */1000000");
  const Reply head = ask(port(), "HEAD /file");
  EXPECT_EQ(head.headers.at("content-length"), "1000000");
}

TEST_F(HttpFileTest, IsNotSentAgain) {
  start(open_config());
  const Reply head = ask(port(), "HEAD /file");
  const std::string etag = head.headers.at("etag");
  EXPECT_EQ(ask(port(), "GET /file", "If-None-Match: " + etag + "\r\n").status, 304);
  EXPECT_EQ(ask(port(), "GET /file", "Range: bytes=0-1\r\nIf-Range: " + etag + "\r\n").status, 206);
  EXPECT_EQ(ask(port(), "GET /file", "Range: bytes=0-1\r\nIf-Range: \"other\"\r\n").status, 200);
  std::ofstream(file_, std::ios::app) << "more";
  EXPECT_EQ(ask(port(), "GET /file", "If-None-Match: " + etag + "\r\n").status, 200);
}

TEST_F(HttpFileTest, IsSavedUnderItsName) {
  start(open_config());
  EXPECT_EQ(ask(port(), "HEAD /file?download").headers.at("content-disposition"),
            "attachment; filename=\"dock__1_.mp4\"; filename*=UTF-8''dock%20%221%22.mp4");
}

TEST_F(HttpFileTest, ThatIsNoneIsToldSo) {
  start(open_config());
  file_ = folder_.path() / "none.mp4";
  EXPECT_EQ(ask(port(), "GET /file").status, 404);
  file_ = folder_.path();
  EXPECT_EQ(ask(port(), "GET /file").status, 404);
  file_ = folder_.path() / "pipe";
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(ask(port(), "GET /file").status, 404);
}

// One who reads nothing holds up neither others nor the server's end, and is not waited for.
TEST_F(HttpFileTest, IsNotWaitedForWhereNobodyReads) {
  HttpLimits limits;
  limits.send = 500ms;
  std::filesystem::resize_file(file_, 50'000'000);
  start(open_config(), limits);
  TcpClient lazy(port(), 4096);
  lazy.send(request_text("GET /file"));
  ASSERT_EQ(read_head(lazy).status, 200);
  const auto since = Clock::now();
  EXPECT_EQ(ask(port(), "GET /api/v1/").status, 200);
  std::this_thread::sleep_until(since + 1s);  // the time in which nothing moves, and after which it is given up
  lazy.read_to_the_end();
  EXPECT_LT(lazy.text().size(), 50'000'000);
}

TEST_F(HttpServerTest, EndsWithinASecondWhateverItsClientsDo) {
  start(open_config());
  TcpClient idle(port());
  TcpClient half(port());
  half.send("GET /api/v1/ HTT");
  EXPECT_EQ(ask(port(), "GET /api/v1/").status, 200);
  const auto since = Clock::now();
  server_.reset();
  EXPECT_LT(Clock::now() - since, 1s);
  idle.read_to_the_end();
}

TEST_F(HttpServerTest, SaysWhyItCannotListen) {
  start(open_config());
  ServerConfig config = open_config();
  config.http_address = "127.0.0.1:" + std::to_string(port());
  try {
    const HttpServer second(config, rig_, *access_, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("HTTP cannot listen at " + config.http_address));
  }
  config = open_config();
  config.tls = TlsConfig{"/nowhere.pem", "/nowhere.key"};
  try {
    const HttpServer second(config, rig_, *access_, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere.pem"));
  }
}

class HttpsTest : public HttpServerTest {
 protected:
  HttpsTest() {
    make_certificate();
    ServerConfig config = open_config();
    config.tls = TlsConfig{certificate_, key_};
    start(config);
  }
  void make_certificate() const {
    test::output_of(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "
        "subjectAltName=DNS:localhost -keyout " +
        key_ + " -out " + certificate_ + " 2>&1");
  }
  [[nodiscard]] std::string curl(const std::string& options) const {
    return test::output_of("curl -sS --cacert " + certificate_ + " --max-time 20 -w ' %{http_code}' " + options +
                           " https://localhost:" + std::to_string(port()) + "/api/v1/x 2>&1");
  }
  test::TemporaryFolder folder_;
  std::string certificate_ = folder_.path() / "cert.pem";
  std::string key_ = folder_.path() / "key.pem";
};

TEST_F(HttpsTest, ACertificateIsRenewedForThoseWhoConnectNext) {
  const TlsConfig files{certificate_, key_};
  make_certificate();
  EXPECT_THAT(curl(""), testing::EndsWith("000")) << "the one before is served, which curl does not trust";
  server_->renew_certificate(files);
  const auto deadline = Clock::now() + 30s;
  while (!curl("").ends_with(" 200")) ASSERT_LT(Clock::now(), deadline);
  std::ofstream(key_) << "no key";
  EXPECT_THROW(server_->renew_certificate(files), Error);
  EXPECT_THAT(curl(""), testing::EndsWith(" 200"));
}

TEST_F(HttpsTest, IsSpokenWithCurl) {
  EXPECT_THAT(curl(""), HasSubstr("/api/v1/x"));
  EXPECT_THAT(curl("--tls-max 1.2 -d hello"), HasSubstr("hello"));
  EXPECT_THAT(curl("--tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0"), testing::EndsWith("000"));
  TcpClient plain(port());
  plain.send(request_text("GET /api/v1/"));
  plain.read_to_the_end();
  EXPECT_THAT(plain.text(), testing::Not(HasSubstr("HTTP/1.1 200")));
}

}  // namespace
}  // namespace campipe
