// The HTTP server as those meet it who connect: what it lets in, what it refuses, and what it does not wait for.
#include "app/publisher/server/http/server.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "app/publisher/server/session_cookie.h"
#include "core/clock.h"
#include "core/error.h"
#include "tests/unit/http_server_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

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
    EXPECT_THAT(reply.headers.at("content-security-policy"), testing::Not(HasSubstr("unsafe"))) << line;
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
  for (const char* method : {"TRACE", "FROBNICATE", "POST"}) {
    Reply refused = ask(port(), method + std::string(" /cameras/dock/live"));
    EXPECT_EQ(refused.status, 405) << method;
    EXPECT_EQ(refused.headers["allow"], "GET, HEAD");
  }
  EXPECT_EQ(ask(port(), "GET /api/v1/\x01").status, 400);
  for (const char* bad : {"/%2e%2e/etc/passwd", "/api/v1/../x", "/a%2f..%2fb", "/a%00", "*", "http://localhost/"}) {
    EXPECT_EQ(ask(port(), std::string("GET ") + bad).status, 400) << bad;
  }
  const Reply twice = ask(port(), "GET /api/v1/?limit=1&camera=a&limit=2");
  EXPECT_EQ(twice.status, 400);
  EXPECT_THAT(twice.body, HasSubstr("'limit'"));
  TcpClient garbage(port());
  garbage.send("\x16\x03\x01\x02 this is no HTTP\r\n\r\n");
  EXPECT_EQ(read_reply(garbage).status, 400);
  TcpClient nobody(port());
  nobody.send("GET /api/v1/ HTTP/1.1\r\n\r\n");
  EXPECT_EQ(read_reply(nobody).status, 400);
}

TEST_F(HttpServerTest, TakesNoLoginThatIsNone) {
  start(guarded_config());
  EXPECT_EQ(ask(port(), "POST /login", "", std::string(4096, 'x')).status, 200);
  EXPECT_EQ(ask(port(), "POST /login", "", std::string(4097, 'x')).status, 413);
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

TEST_F(HttpServerTest, IsReachedByTheHostsThatAreConfigured) {
  ServerConfig config = open_config();
  config.http_hosts = {"cams.example.com", "yard.example:8443"};
  start(config);
  for (const std::string host : {"cams.example.com", "cams.example.com:8080", "yard.example"})
    EXPECT_EQ(ask(port(), "GET /api/v1/", "Host: " + host + "\r\n").status, 200) << host;
  EXPECT_EQ(ask(port(), "GET /api/v1/", "Host: other.example.com\r\n").status, 403);
  // A proxy that passes on a Host of its own, and the browser's Origin.
  const auto change = [&](const std::string& origin) {
    return ask(port(), "POST /api/v1/", "Host: 127.0.0.1:1\r\nOrigin: " + origin + "\r\n");
  };
  for (const std::string origin : {"https://cams.example.com", "http://cams.example.com", "https://yard.example:8443"})
    EXPECT_EQ(change(origin).status, 200) << origin;
  for (const std::string origin : {"https://cams.example.com:8443", "https://yard.example", "https://evil.example",
                                   "https://cams.example.com.evil.example"})
    EXPECT_THAT(change(origin), testing::AllOf(testing::Field(&Reply::status, 403),
                                               testing::Field(&Reply::body, testing::HasSubstr("http_hosts"))))
        << origin;
}

TEST_F(HttpServerTest, IsAlsoBelowAPath) {
  ServerConfig config = guarded_config();
  config.http_base = "/video/cams";
  config.trusted_proxies = {"127.0.0.1"};
  start(config);
  const auto path = [&](const std::string& asked) {
    return nlohmann::json::parse(ask(port(), "GET " + asked).body).value("path", "");
  };
  EXPECT_EQ(path("/video/cams/login"), "/login");
  EXPECT_EQ(path("/login"), "/login") << "a proxy may have taken the path away";
  EXPECT_EQ(ask(port(), "GET /video/cams/video/cams/login").status, 401) << "and takes it away once";
  EXPECT_EQ(ask(port(), "GET /video/camslogin").status, 401);
  const Reply bare = ask(port(), "GET /video/cams");
  EXPECT_EQ(bare.status, 308);
  EXPECT_EQ(bare.headers.at("location"), "./cams/");
}

TEST_F(HttpServerTest, CompressesForThoseWhoTakeIt) {
  start(open_config());
  const std::string line = "POST /api/v1/" + std::string(2000, 'x');
  const Reply plain = ask(port(), line);
  EXPECT_FALSE(plain.headers.contains("content-encoding"));
  EXPECT_EQ(plain.headers.at("vary"), "Accept-Encoding");
  const Reply small = ask(port(), line, "Accept-Encoding: br, gzip\r\n");
  EXPECT_EQ(small.headers.at("content-encoding"), "gzip");
  EXPECT_LT(small.body.size(), 400U);
  TemporaryFolder folder;
  std::ofstream(folder.path() / "body.gz", std::ios::binary) << small.body;
  EXPECT_EQ(output_of("gzip -dc " + (folder.path() / "body.gz").string()), plain.body);
  EXPECT_FALSE(ask(port(), line, "Accept-Encoding: gzip;q=0, *\r\n").headers.contains("content-encoding"));
  EXPECT_FALSE(ask(port(), "GET /api/v1/", "Accept-Encoding: gzip\r\n").headers.contains("content-encoding"))
      << "it is small already";
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
  EXPECT_EQ(page.headers.at("location"), "../../login") << "relative: a proxy may show the rig below a path";
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
  const std::string cookie = "Cookie: a=b; " + session_cookie_name(0) + "=" + session.token + "\r\n";
  EXPECT_EQ(nlohmann::json::parse(ask(port(), "GET /api/v1/", cookie).body)["user"], "anna");
  EXPECT_EQ(ask(port(), "PUT /api/v1/", cookie).status, 403);
  EXPECT_EQ(ask(port(), "PUT /api/v1/", cookie + "X-CSRF-Token: wrong\r\n").status, 403);
  EXPECT_EQ(ask(port(), "PUT /api/v1/", cookie + "X-CSRF-Token: " + session.csrf + "\r\n").status, 200);
  EXPECT_EQ(nlohmann::json::parse(ask(port(), "GET /login", cookie).body)["user"], "anna");
  EXPECT_EQ(ask(port(), "GET /api/v1/", "Cookie: " + session_cookie_name(0) + "=other\r\n").status, 401);
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

class HttpFileTest : public HttpServerTest {
 protected:
  HttpFileTest() {
    file_ = folder_.path() / "dock \"1\".mp4";
    for (int i = 0; i < 1'000'000; ++i) content_ += static_cast<char>(i * 7 % 251);
    std::ofstream(file_, std::ios::binary) << content_;
  }
  TemporaryFolder folder_;
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

// A download that takes longer than its user may have it. It is read slowly: the server looks twice a second.
TEST_F(HttpFileTest, EndsWhereItsUserMayDoLess) {
  constexpr std::size_t size = std::size_t{256} << 20;
  std::filesystem::resize_file(file_, size);
  ServerConfig config = guarded_config();
  start(config);
  const auto received = [&](const std::string& range, const std::function<void(UserConfig&)>& change) {
    TcpClient client(port(), 4096);
    client.send(
        request_text("GET /api/v1/file", "Connection: close\r\nAuthorization: Basic YW5uYTphbm5hJ3M=\r\n" + range));
    EXPECT_THAT(read_head(client).status, testing::AnyOf(200, 206));
    change(config.users[0]);
    access_->update(config);
    while (client.read_up_to(client.text().size() + 8192)) std::this_thread::sleep_for(1ms);
    return client.text().size();
  };
  EXPECT_LT(received("", [](UserConfig& anna) { anna.may = Permission::record; }), size);
  EXPECT_LT(received("", [](UserConfig& anna) { anna.cameras = {"dock", "gate"}; }), size);
  EXPECT_LT(received("", [](UserConfig& anna) { anna.cameras = {"dock", "hall"}; }), size) << "another camera";
  EXPECT_EQ(received("Range: bytes=0-15999999\r\n",
                     [](UserConfig& anna) {
                       anna.may = Permission::administer;
                       anna.cameras = {"hall", "dock", "yard"};
                     }),
            16'000'000U)
      << "who may do more keeps it";
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

// Connections that a server here has open, as the kernel lists them.
int held_by(std::uint16_t port) {
  std::ifstream all("/proc/net/tcp");
  std::ostringstream own;
  own << ':' << std::uppercase << std::hex << std::setw(4) << std::setfill('0') << port;
  int held = 0;
  std::string number;
  std::string local;
  std::string remote;
  std::string state;
  for (std::string line; std::getline(all, line);) {
    std::istringstream(line) >> number >> local >> remote >> state;
    held += local.ends_with(own.str()) && state == "01" ? 1 : 0;
  }
  return held;
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
  EXPECT_EQ(ask(port(), "GET /api/v1/").status, 200);
  const Deadline deadline = Clock::now() + 50s;
  while (held_by(port()) > 0) ASSERT_LT(Clock::now(), deadline) << "what does not move is given up";
  lazy.read_to_the_end();
  EXPECT_LT(lazy.text().size(), 50'000'000);
}

// The disk answers when let_go_ says so.
class HttpDiskTest : public HttpServerTest {
 protected:
  HttpDiskTest() { limits_.disk = 500ms; }
  ~HttpDiskTest() override {
    if (!answers_) let_go_.set_value();
  }
  void serve() {
    start(guarded_config(), limits_);
    for (const char* login : {annas, bobs}) ASSERT_EQ(ask(port(), "GET /api/v1/", login).status, 200);
  }
  [[nodiscard]] std::unique_ptr<TcpClient> ask_disk() const {
    auto client = std::make_unique<TcpClient>(port());
    client->send(request_text("GET /api/v1/disk", annas));
    return client;
  }
  [[nodiscard]] std::vector<std::unique_ptr<TcpClient>> ask_disk(int times) const {
    std::vector<std::unique_ptr<TcpClient>> clients;
    for (int i = 0; i < times; ++i) clients.push_back(ask_disk());
    return clients;
  }
  void wait_for(int threads) const {
    const auto deadline = Clock::now() + patience;
    while (*at_disk_ < threads && Clock::now() < deadline) std::this_thread::yield();
    ASSERT_EQ(*at_disk_, threads);
  }

  static constexpr const char* annas = "Authorization: Basic YW5uYTphbm5hJ3M=\r\n";
  static constexpr const char* bobs = "Authorization: Basic Ym9iOmJvYidz\r\n";
  HttpLimits limits_;
  bool answers_ = false;
};

TEST_F(HttpDiskTest, ThatDoesNotAnswerHoldsUpNobodyElse) {
  serve();
  const auto clients = ask_disk(100);
  wait_for(4);
  EXPECT_EQ(ask(port(), "GET /api/v1/", annas).status, 200) << "who administers, too";
  EXPECT_EQ(ask(port(), "GET /api/v1/", bobs).status, 200);
  EXPECT_EQ(ask(port(), "GET /login").status, 200);
  EXPECT_EQ(ask(port(), "GET /api/v1/disk", bobs).status, 503);
  for (const auto& client : clients) {
    const Reply reply = read_reply(*client);
    EXPECT_EQ(reply.status, 503);
    EXPECT_THAT(reply.body, HasSubstr("does not answer"));
  }
  EXPECT_LT(*at_disk_, 100) << "nobody waits any more for those whose turn has not come";
}

// Other disks may answer.
TEST_F(HttpDiskTest, WhatWasGivenUpTakesNoTurn) {
  serve();
  for (const int before : {0, 4}) {
    const auto clients = ask_disk(4);
    wait_for(before + 4);
    for (const auto& client : clients) EXPECT_EQ(read_reply(*client).status, 503);
  }
}

TEST_F(HttpDiskTest, WhoseRecordingsItHasIsSaid) {
  serve();
  const auto client = ask_disk();
  EXPECT_THAT(read_reply(*client).body, HasSubstr("the disk with the recordings of dock does not answer"));
}

TEST_F(HttpDiskTest, IsWaitedForWhileThereIsTime) {
  limits_.disk = patience;
  serve();
  const auto clients = ask_disk(20);
  wait_for(4);
  answers_ = true;
  let_go_.set_value();
  for (const auto& client : clients) EXPECT_EQ(read_reply(*client).body, "read");
  EXPECT_EQ(*at_disk_, 20);
}

TEST_F(HttpDiskTest, IsNotWaitedForAtTheEnd) {
  limits_.disk = 1h;  // else this test would not end in time
  serve();
  const auto clients = ask_disk(20);
  wait_for(4);
  server_.reset();
}

// A disk that does not answer is a pipe that nobody writes to.
TEST(TlsReaderTest, WaitsForNoDisk) {
  const TemporaryFolder folder;
  const TlsConfig tls = make_certificate(folder);
  const std::string text = output_of("cat " + tls.certificate);
  std::filesystem::remove(tls.certificate);
  ASSERT_EQ(::mkfifo(tls.certificate.c_str(), 0600), 0);
  TlsReader reader;
  reader.begin(tls);
  EXPECT_EQ(reader.take(), nullptr);
  EXPECT_TRUE(reader.reads());
  const auto take = [&] {
    const auto deadline = Clock::now() + patience;
    ServerTls taken;
    while (!taken && Clock::now() < deadline) taken = reader.take();
    return taken;
  };
  // What was mended is found while the first still waits.
  const std::string pipe = tls.certificate + ".pipe";
  std::filesystem::rename(tls.certificate, pipe);
  std::ofstream(tls.certificate) << text;
  reader.begin(tls);
  EXPECT_NE(take(), nullptr);
  const UniqueFd end_of_thread(::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));  // if it has come to open it
  EXPECT_FALSE(reader.reads());
  std::ofstream(tls.certificate) << "none";
  reader.begin(tls);
  const auto fails = [&] {
    while (reader.reads()) reader.take();
  };
  EXPECT_THROW(fails(), Error);
}

TEST_F(HttpServerTest, EndsAtOnceWhateverItsClientsDo) {
  HttpLimits limits;  // which it does not wait for, else this test would not end in time
  limits.request = limits.idle = limits.send = 1h;
  start(open_config(), limits);
  TcpClient idle(port());
  TcpClient half(port());
  half.send("GET /api/v1/ HTT");
  EXPECT_EQ(ask(port(), "GET /api/v1/").status, 200);
  server_.reset();
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
  EXPECT_THROW(HttpServer(config, rig_, *access_, {}), Error) << "what is to be encrypted is never served plainly";
  try {
    open_server_tls(*config.tls);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere.pem"));
  }
}

class HttpsTest : public HttpServerTest {
 protected:
  HttpsTest() {
    ServerConfig config = open_config();
    config.tls = tls_;
    start(config);
  }

  TemporaryFolder folder_;
  const TlsConfig tls_ = make_certificate(folder_);
};

TEST_F(HttpsTest, ACertificateIsRenewedForThoseWhoConnectNext) {
  make_certificate(folder_);
  EXPECT_THAT(curl(tls_), testing::EndsWith("000")) << "the one before is served, which curl does not trust";
  server_->renew_certificate(open_server_tls(tls_));
  const auto deadline = Clock::now() + 30s;
  while (!curl(tls_).ends_with(" 200")) ASSERT_LT(Clock::now(), deadline);
  std::ofstream(tls_.key) << "no key";
  EXPECT_THROW(open_server_tls(tls_), Error);
}

TEST_F(HttpsTest, IsSpokenWithCurl) {
  EXPECT_THAT(curl(tls_), HasSubstr("/api/v1/x"));
  EXPECT_THAT(curl(tls_, "--tls-max 1.2 -d hello"), HasSubstr("hello"));
  EXPECT_THAT(curl(tls_, "--tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0"), testing::EndsWith("000"));
  TcpClient plain(port());
  plain.send(request_text("GET /api/v1/"));
  plain.read_to_the_end();
  EXPECT_THAT(plain.text(), testing::Not(HasSubstr("HTTP/1.1 200")));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
