// Files that the HTTP server sends: in parts, to whom, and what a disk that hangs holds up.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <string>

#include "core/clock.h"
#include "core/error.h"
#include "tests/unit/http_server_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::HasSubstr;

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

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
