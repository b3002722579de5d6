// The status as a stream: what stands in it, for whom, and when it ends.
#include "app/publisher/server/api/status_changes.h"

#include <zlib.h>

#include <thread>

#include "app/publisher/server/api/settled_status.h"
#include "tests/unit/api_test_support.h"
#include "tests/unit/cookie_line.h"
#include "tests/unit/http_client.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::StartsWith;

// A camera as a rig reports it, after so many frames.
json running_camera(int frames, double jitter) {
  const auto spread = [&](double ms) { return json{{"p50", ms + jitter}, {"p95", 2 * ms}, {"p99", 3 * ms + jitter}}; };
  json edge{{"from", "source dock"}, {"to", "node dock"}, {"published", frames}, {"waiting", 0}, {"fps", 25 + jitter}};
  return {{"state", "running"},
          {"frames", {{"decoded", frames}, {"encoded", frames}, {"dropped", json::object()}, {"recorded", frames}}},
          {"bytes", 4000 * frames},
          {"fps", 25 + jitter},
          {"in_flight", frames % 3},
          {"newest_frame", {{"capture_utc", "2026-11-21T10:15:30.250Z"}, {"age_s", jitter}}},
          {"latency_ms", spread(12)},
          {"stages_ms", {{"decode", spread(3)}, {"encode", spread(5)}, {"transit", spread(30)}}},
          {"source_health", {{"corrupt_packets", 0}, {"lag_ms", jitter}, {"clock_drift_ms", jitter}}},
          {"graph", {{"edges", {edge}}, {"nodes", json::array()}}}};
}

TEST(SettledStatus, OfACameraThatRunsOnlyItsCountersChange) {
  const auto settled = [](int frames, double jitter) {
    json camera = running_camera(frames, jitter);
    camera["outputs"]["small"] = running_camera(frames, jitter);
    return settled_status({{"cameras", {{"dock", camera}}}, {"uptime_s", 7 + jitter}});
  };
  json before = settled(100, 0.02);
  json after = settled(150, 0.04);
  EXPECT_EQ(before["cameras"]["dock"]["stages_ms"], (json{{"transit", {{"p50", 30}, {"p95", 60}, {"p99", 90}}}}));
  EXPECT_NE(before, after);
  for (json* status : {&before, &after}) {
    json& camera = (*status)["cameras"]["dock"];
    for (json* stream : {&camera, &camera["outputs"]["small"]}) {
      EXPECT_EQ((*stream)["frames"].erase("encoded"), 1);
      EXPECT_EQ(stream->erase("bytes"), 1);
    }
  }
  EXPECT_EQ(before, after);
}

TEST(SettledStatus, RoundsToTwoDigitsAndLeavesOutNulls) {
  const auto rounded = [](double fps) {
    return settled_status({{"cameras", {{"dock", {{"fps", fps}}}}}})["cameras"]["dock"]["fps"].dump();
  };
  EXPECT_EQ(rounded(29.97), "30.0");
  EXPECT_EQ(rounded(4.93), "4.9");
  EXPECT_EQ(rounded(0.01234), "0.012");
  EXPECT_EQ(rounded(1234.5), "1200.0");
  EXPECT_EQ(rounded(0), "0.0");
  EXPECT_EQ(settled_status({{"cluster", {{"etcd", {{"full", nullptr}}}}}, {"gpus", {{{"decoder", nullptr}}}}}),
            (json{{"cluster", {{"etcd", json::object()}}}, {"gpus", {{{"decoder", nullptr}}}}}))
      << "lists are sent whole";
}

TEST(StreamPlaces, EachBrowserHasSome) {
  StreamPlaces places(3, 5);
  HttpRequest ann;
  ann.identity.user = "ann";
  ann.identity.session = "a session";
  HttpRequest other = ann;  // browser of hers
  other.identity.session = "another";
  const auto one = places.take(ann);
  const auto two = places.take(ann);
  auto three = places.take(ann);
  ASSERT_TRUE(three);
  EXPECT_FALSE(places.take(ann));
  EXPECT_TRUE(places.take(other));
  three.reset();
  EXPECT_TRUE(places.take(ann));
}

// They may be several browsers behind one address.
TEST(StreamPlaces, ThoseWithoutASessionHaveSomeTogether) {
  StreamPlaces places(3, 5);
  HttpRequest ann;
  ann.identity.user = "ann";
  ann.address = "10.0.0.1";
  std::vector<std::shared_ptr<void>> taken;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(taken.emplace_back(places.take(ann)));
  EXPECT_FALSE(places.take(ann));
  ann.address = "10.0.0.2";
  EXPECT_TRUE(places.take(ann));
}

// GET /api/v1/status/changes through a socket.
class StatusStream {
 public:
  StatusStream(std::uint16_t port, const std::string& headers = {}) : client_(port) {
    client_.send(test::request_text("GET /api/v1/status/changes", headers));
    head_ = read_head(client_);
    is_gzip_ = head_.headers.contains("content-encoding");
    if (is_gzip_ && ::inflateInit2(&stream_, 15 + 16) != Z_OK) throw Error("zlib cannot be used");
  }
  ~StatusStream() { ::inflateEnd(&stream_); }
  StatusStream(const StatusStream&) = delete;
  StatusStream& operator=(const StatusStream&) = delete;

  [[nodiscard]] const test::Reply& head() const { return head_; }
  // The document after the next event; nothing: the stream is over.
  std::optional<json> next() {
    for (;;) {
      std::size_t end = text_.find("\n\n");
      while (end == std::string::npos) {
        if (!fill()) return std::nullopt;
        end = text_.find("\n\n");
      }
      const std::string event = text_.substr(0, end);
      text_.erase(0, end + 2);
      if (event == ":") continue;
      const std::string data = event.substr(event.find("data: ") + 6);
      if (event.starts_with("event: status\n"))
        document_ = json::parse(data);
      else
        document_.merge_patch(json::parse(data));
      return document_;
    }
  }

 private:
  bool fill() {
    if (!client_.read_up_to_end_of("\r\n")) return false;
    const std::string line = client_.take(client_.text().find("\r\n") + 2);
    const std::size_t size = std::stoul(line, nullptr, 16);
    if (size == 0 || !client_.read_up_to(size + 2)) return false;
    std::string chunk = client_.take(size);
    client_.take(2);
    text_ += is_gzip_ ? inflated(chunk) : chunk;
    return true;
  }
  std::string inflated(std::string& chunk) {
    std::string out(1U << 20U, '\0');
    stream_.next_in = reinterpret_cast<Bytef*>(chunk.data());
    stream_.avail_in = static_cast<uInt>(chunk.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(::inflate(&stream_, Z_SYNC_FLUSH), Z_OK);
    EXPECT_EQ(stream_.avail_in, 0) << "all of it can be read at once";
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

  test::TcpClient client_;
  test::Reply head_;
  bool is_gzip_ = false;
  z_stream stream_{};
  std::string text_;
  json document_;
};

class StatusStreamTest : public ApiTest {
 protected:
  static std::string login(const std::string& user) {
    return user == "cat" ? "Authorization: Basic Y2F0Omh1bnRlcjI=\r\n" : "Authorization: Basic YW5uOmh1bnRlcjI=\r\n";
  }
  void change(const std::string& camera, const std::string& state) {
    json status = *rig_.status();
    status["cameras"][camera]["state"] = state;
    rig_.set_status(std::move(status));
  }
  // Reads on until the document is so.
  template <typename Condition>
  static void expect(StatusStream& stream, const Condition& condition) {
    for (int events = 0; events < 10; ++events) {
      const auto document = stream.next();
      ASSERT_TRUE(document) << "the stream is over";
      if (condition(*document)) return;
    }
    FAIL() << "it did not come";
  }

  ServerConfig open_at_ = [this] {
    ServerConfig config = config_;
    config.http_address = "127.0.0.1:0";
    return config;
  }();
  HttpServer server_{open_at_, rig_, access_, api_.routes()};
};

TEST_F(StatusStreamTest, BeginsWithAllAndGoesOnWithWhatChanges) {
  for (const std::string encoding : {"", "Accept-Encoding: gzip\r\n"}) {
    change("gate", "running");
    StatusStream stream(server_.port(), login("ann") + encoding);
    ASSERT_EQ(stream.head().status, 200);
    EXPECT_EQ(stream.head().headers.at("content-type"), "text/event-stream");
    EXPECT_EQ(stream.head().headers.at("x-accel-buffering"), "no");
    EXPECT_EQ(stream.head().headers.count("content-encoding"), encoding.empty() ? 0 : 1);
    const auto whole = stream.next();
    ASSERT_TRUE(whole);
    EXPECT_EQ(*whole, settled_status(told("ann", "status")));
    change("gate", "waiting");
    expect(stream, [this](const json& document) { return document == settled_status(told("ann", "status")); });
  }
}

TEST_F(StatusStreamTest, HasWhatItsUserMaySeeNow) {
  StatusStream stream(server_.port(), login("cat"));
  EXPECT_EQ(*stream.next(), settled_status(told("cat", "status")));
  change("gate", "waiting");
  change("dock", "waiting");
  expect(stream, [](const json& document) {
    EXPECT_FALSE(document["cameras"].contains("gate"));
    return document["cameras"]["dock"]["state"] == "waiting";
  });
  config_.users[2].cameras = {"gate"};
  access_.update(config_);
  expect(stream, [](const json& document) {
    return document["cameras"].contains("gate") && !document["cameras"].contains("dock");
  });
}

TEST_F(StatusStreamTest, EndsWithTheSession) {
  const auto session = access_.open_session(*access_.identity_of("ann"));
  StatusStream stream(server_.port(), test::cookie_line(session.token));
  ASSERT_TRUE(stream.next());
  access_.close_session(session.token);
  EXPECT_FALSE(stream.next());
}

TEST_F(StatusStreamTest, ABrowserGetsNoFourthOne) {
  const auto session = access_.open_session(*access_.identity_of("ann"));
  const std::string browser = test::cookie_line(session.token);
  const StatusStream one(server_.port(), browser);
  const StatusStream two(server_.port(), browser);
  {
    const StatusStream three(server_.port(), browser);
    EXPECT_EQ(three.head().status, 200);
    EXPECT_EQ(StatusStream(server_.port(), browser).head().status, 503);
    EXPECT_EQ(StatusStream(server_.port(), login("cat")).head().status, 200);
  }
  const auto status_of_another = [&] { return StatusStream(server_.port(), browser).head().status; };
  const Deadline deadline = Clock::now() + test::patience;
  int status = status_of_another();
  while (status == 503 && Clock::now() < deadline) {
    std::this_thread::yield();
    status = status_of_another();
  }
  EXPECT_EQ(status, 200) << "the place of one who left is free again";
}

TEST_F(StatusStreamTest, ThereIsNoneBeforeThereIsAStatus) {
  RigView rig{[](const messages::Request&) {}};
  Access access{config_};
  Api api{rig, access, [] { return json::array(); }};
  const HttpServer server(open_at_, rig, access, api.routes());
  const test::Reply reply = test::ask(server.port(), "GET /api/v1/status/changes", login("ann"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.body, testing::HasSubstr("there is no status of the rig yet"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
