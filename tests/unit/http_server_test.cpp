// The HTTP server as those meet it who connect: what it lets in, what it refuses, and what it does not wait for.
#include "app/publisher/server/http/server.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/clock.h"
#include "core/error.h"
#include "tests/unit/http_server_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::HasSubstr;

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
  EXPECT_EQ(first.body, std::string(2000, 'p'));
  EXPECT_EQ(first.headers.at("cache-control"), "no-cache");
  const Reply again = ask(port(), "GET /tagged", "If-None-Match: " + first.headers.at("etag") + "\r\n");
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(ask(port(), "GET /tagged", "If-None-Match: \"2\"\r\n").status, 200);

  const std::string gzip = "Accept-Encoding: gzip\r\n";
  const std::string small_tag = ask(port(), "GET /tagged", gzip).headers.at("etag");
  EXPECT_NE(small_tag, first.headers.at("etag")) << "it names other bytes";
  EXPECT_EQ(ask(port(), "GET /tagged", gzip + "If-None-Match: " + small_tag + "\r\n").status, 304);
  EXPECT_EQ(ask(port(), "GET /tagged", "If-None-Match: " + small_tag + "\r\n").status, 200);
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
  EXPECT_EQ(ask(port(), "GET /video/cams?kiosk=1").headers.at("location"), "./cams/?kiosk=1");
  const std::string navigates = "Sec-Fetch-Mode: navigate\r\n";
  for (const std::string base : {"/video/cams", ""}) {
    EXPECT_EQ(ask(port(), "GET " + base + "/api/v1/x", navigates).headers.at("location"), "../../login") << base;
    EXPECT_EQ(ask(port(), "GET " + base + "/nothing?a=/b", navigates).headers.at("location"), "./login") << base;
  }
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
  for (const std::string refused : {"gzip;q=0, *", "gzip;level=1; Q=0.0"}) {
    const Reply reply = ask(port(), line, "Accept-Encoding: " + refused + "\r\n");
    EXPECT_FALSE(reply.headers.contains("content-encoding")) << refused;
  }
  EXPECT_FALSE(ask(port(), "GET /api/v1/", "Accept-Encoding: gzip\r\n").headers.contains("content-encoding"))
      << "it is small already";
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
