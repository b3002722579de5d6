// Live video by HTTP: over WebSocket as a page gets it, in one long answer as players do, and as single frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "app/config/password_hash.h"
#include "app/publisher/server/live/feed.h"
#include "core/log.h"
#include "core/utc_text.h"
#include "tests/unit/command_output.h"
#include "tests/unit/cookie_line.h"
#include "tests/unit/http_live_test_support.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using nlohmann::json;
using test::ask;
using test::clip;
using test::HttpLiveTest;
using test::ms;
using test::Reply;
using test::WebSocketClient;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

TEST_F(HttpLiveTest, IsSentOverWebSocketAsThePageWantsIt) {
  send(25);
  WebSocketClient page(port(), "/cameras/dock/live");
  ASSERT_EQ(page.head().status, 101);
  EXPECT_EQ(page.head().headers.at("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  const auto state = json::parse(page.next().bytes);
  EXPECT_EQ(state,
            (json{{"type", "state"}, {"state", "running"}, {"reason", "why"}, {"since_utc", "2026-01-02T03:04:05Z"}}));
  const auto init = json::parse(page.next().bytes);
  EXPECT_EQ(init["type"], "init");
  EXPECT_EQ(init["width"], 160);
  EXPECT_EQ(init["height"], 128);
  EXPECT_THAT(init["mime"].get<std::string>(), StartsWith("video/mp4; codecs=\"avc1."));
  std::string file = next_binary(page);
  EXPECT_THAT(file.substr(4, 4), "ftyp");
  send(15);
  for (int i = 0; i < 20; ++i) file += next_binary(page);
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "live.mp4", std::ios::binary) << file;
  const std::string seen =
      test::output_of("ffprobe -v error -count_frames -of csv=p=0 -show_entries stream=nb_read_frames " +
                      (folder.path() / "live.mp4").string() + " 2>&1");
  EXPECT_EQ(seen, "20\n");
  const json viewers = server_.viewers();
  ASSERT_EQ(viewers.size(), 1);
  EXPECT_EQ(viewers[0]["camera"], "dock");
  EXPECT_EQ(viewers[0]["form"], "fmp4");
  EXPECT_EQ(viewers[0]["sent"], 20);
}

// Apart from the frames, and only for who asks for it.
TEST_F(HttpLiveTest, SendsSoundToWhoListens) {
  const test::Sent sent = test::spoken_clip();
  send(1);
  WebSocketClient page(port(), "/cameras/dock/live");
  WebSocketClient listener(port(), "/cameras/dock/live?sound=1");
  EXPECT_EQ(next_of(listener, "unplayable")["reason"], "this camera sends no sound");
  stream_->set_audio(sent.audio_parameters);
  EXPECT_FALSE(next_of(page, "sound").is_null());
  test::offer(*stream_, sent);
  const auto init = next_of(listener, "init");
  EXPECT_EQ(init["mime"], "audio/mp4; codecs=\"mp4a.40.2\"");
  EXPECT_FALSE(init.contains("width"));
  EXPECT_EQ(next_binary(listener).substr(4, 4), "ftyp");
  EXPECT_EQ(next_binary(listener).substr(4, 4), "moof");
  EXPECT_THAT(next_of(page, "init")["mime"].get<std::string>(), StartsWith("video/mp4; codecs=\"avc1."));
  std::vector<std::string> forms;
  for (const json& viewer : server_.viewers()) forms.push_back(viewer["form"]);
  EXPECT_THAT(forms, testing::UnorderedElementsAre("fmp4", "sound"));
}

TEST_F(HttpLiveTest, TellsWhatBecomesOfTheCamera) {
  WebSocketClient page(port(), "/cameras/dock/live");
  EXPECT_EQ(next_of(page, "state")["state"], "running");
  rig_.set_status({{"cameras", {{"dock", camera_state("waiting")}}}});
  EXPECT_EQ(next_of(page, "state")["state"], "waiting");
  // It is changed: its stream goes, and another one comes.
  send(1);
  EXPECT_FALSE(next_of(page, "init").is_null());
  rig_.remove_stream("dock");
  stream_ = std::make_shared<LiveStream>();
  sent_ = 0;
  rig_.add_stream("dock", stream_);
  send(1);
  EXPECT_FALSE(next_of(page, "init").is_null());
  // And removed.
  rig_.set_status({{"cameras", json::object()}});
  rig_.remove_stream("dock");
  EXPECT_TRUE(next_of(page, "init").is_null());
  wait_for_viewers(0);
}

TEST_F(HttpLiveTest, PausesForThePage) {
  send(5);
  WebSocketClient page(port(), "/cameras/dock/live");
  EXPECT_FALSE(next_of(page, "init").is_null());
  page.say(R"({"type":"pause"})");
  wait_for_viewers(0);
  send(10);
  page.say("nonsense");
  page.say(R"({"type":"resume"})");
  EXPECT_FALSE(next_of(page, "init").is_null());
  EXPECT_EQ(next_binary(page).substr(4, 4), "ftyp");
}

void offer_jpeg(LiveStream& stream) {
  StreamParameters jpeg;
  jpeg.codec = "mjpeg";
  const std::vector<std::uint8_t> bytes(10);
  PacketView packet;
  packet.data = bytes;
  packet.key = true;
  stream.offer(packet, jpeg);
}

// A pause drops the unsent messages of a feed; the feed sends them again after the resume.
TEST_F(HttpLiveTest, TellsOnceMoreWhatAPauseTookBack) {
  offer_jpeg(*stream_);
  HttpViewers viewers;
  LiveFeed feed(rig_, "dock", "dock", viewers.add("dock", "here", "", "fmp4"), [] {});
  const auto says = [&] {
    std::string all;
    LiveMessage message;
    while (feed.next(message) == LiveFeed::Next::message) all += std::exchange(message.text, "");
    return all;
  };
  feed.look();
  feed.pause();
  EXPECT_THAT(says(), testing::Not(HasSubstr("unplayable")));
  feed.resume();
  std::string told = says();
  const Deadline deadline = Clock::now() + test::patience;
  while (told.find("unplayable") == std::string::npos && Clock::now() < deadline) {
    feed.look();
    told += says();
  }
  EXPECT_THAT(told, HasSubstr("unplayable"));
}

// Each beginning costs a whole GOP, and a key frame.
TEST_F(HttpLiveTest, BeginsOnlySoOftenHoweverOftenItIsPaused) {
  std::atomic<int> beginnings = 0;
  const auto gate = std::make_shared<LiveStream>([&](bool watched) { beginnings += watched ? 1 : 0; });
  rig_.add_stream("gate", gate);
  for (std::size_t i = 0; i < 10; ++i) gate->offer(clip().packets.at(i).view(), clip().parameters);
  HttpViewers viewers;
  LiveFeed feed(rig_, "gate", "gate", viewers.add("gate", "here", "", "fmp4"), [] {});
  const auto since = Clock::now();
  feed.look();
  for (int i = 0; i < 500; ++i) {
    feed.pause();
    feed.resume();
  }
  EXPECT_LE(beginnings, 1 + (Clock::now() - since) / 500ms);
  const Deadline deadline = Clock::now() + test::patience;
  LiveMessage message;
  while (!message.bytes && Clock::now() < deadline) {
    if (feed.next(message) == LiveFeed::Next::nothing) feed.look();
  }
  EXPECT_NE(message.bytes, nullptr) << "it goes on";
}

TEST_F(HttpLiveTest, SaysWhatBrowsersCannotPlay) {
  WebSocketClient page(port(), "/cameras/dock/live");
  offer_jpeg(*stream_);
  EXPECT_THAT(next_of(page, "unplayable")["reason"].get<std::string>(), HasSubstr("mjpeg"));
  EXPECT_EQ(ask(port(), "GET /cameras/dock/stream.mp4").status, 415);
}

// Once, however many pages open; and not at all where the camera has another output for browsers.
TEST_F(HttpLiveTest, WarnsOfWhatBrowsersCannotPlayWhereTheyHaveNothingElse) {
  const auto log_of_two_pages = [&] {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    for (int i = 0; i < 2; ++i) {
      WebSocketClient page(port(), "/cameras/dock/live");
      wait_for_viewers(1);
      offer_jpeg(*stream_);
      EXPECT_EQ(next_of(page, "unplayable")["type"], "unplayable");
      stream_->forget();
    }
    spdlog::default_logger()->flush();
    return testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  };
  rig_.add_stream("dock/browser", std::make_shared<LiveStream>());
  EXPECT_EQ(log_of_two_pages().find("cannot be watched"), std::string::npos);
  rig_.remove_stream("dock/browser");
  const std::string log = log_of_two_pages();
  const auto first = log.find("live: cannot be watched as MP4");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("cannot be watched", first + 10), std::string::npos) << log;
}

// One does not read; another gets every frame.
TEST_F(HttpLiveTest, DropsForTheSlowAndForNobodyElse) {
  WebSocketClient slow(port(), "/cameras/dock/live", "", 4096);
  WebSocketClient quick(port(), "/cameras/dock/live");
  wait_for_viewers(2);
  std::atomic<int> fragments = 0;
  std::jthread reader([&] {
    for (auto message = quick.next(); message.opcode != 8; message = quick.next()) {
      if (message.opcode == 2 && message.bytes.find("moof") < 40) ++fragments;
    }
  });
  int pictures = 0;
  const Deadline deadline = Clock::now() + test::patience;
  while (stream_->counts().dropped == 0 && Clock::now() < deadline) {
    send(1, 100'000);
    ++pictures;
    while (fragments < pictures && Clock::now() < deadline) std::this_thread::yield();
  }
  EXPECT_GT(stream_->counts().dropped, 0);
  EXPECT_EQ(fragments, pictures);
  EXPECT_GT(next_of(slow, "dropped")["pieces"], 0);
  const json viewers = server_.viewers();
  const auto dropped = [&viewers](std::size_t i) { return viewers.at(i).at("dropped").get<std::uint64_t>(); };
  EXPECT_EQ(std::min(dropped(0), dropped(1)), 0);
  EXPECT_GT(std::max(dropped(0), dropped(1)), 0);
  rig_.close();
  rig_.set_status({{"cameras", json::object()}});
}

TEST_F(HttpLiveTest, RefusesOtherSitesSockets) {
  const std::string here = "Host: localhost:" + std::to_string(port()) + "\r\n";
  EXPECT_EQ(WebSocketClient(port(), "/cameras/dock/live", here + "Origin: http://evil.example\r\n").head().status, 403);
  EXPECT_EQ(WebSocketClient(port(), "/cameras/dock/live",
                            here + "Origin: http://localhost:" + std::to_string(port()) + "\r\n")
                .head()
                .status,
            101);
  EXPECT_EQ(WebSocketClient(port(), "/cameras/other/live").head().status, 404);
  EXPECT_EQ(WebSocketClient(port(), "/cameras/dock/live?output=other").head().status, 404);
  EXPECT_EQ(WebSocketClient(port(), "/cameras/dock/live?output=small").head().status, 101) << "its stream may come";
  EXPECT_EQ(ask(port(), "GET /cameras/dock/live").status, 426);
}

TEST_F(HttpLiveTest, EndsForOneWhoMayNotSeeItAnyMore) {
  WebSocketClient page(port(), "/cameras/dock/live");
  ASSERT_EQ(page.head().status, 101);
  ServerConfig guarded = config();
  guarded.users.push_back({"anna", "", "", Permission::view, {}});
  access_.update(guarded);
  EXPECT_TRUE(next_of(page, "init").is_null());
}

// With users, who watch by session and by password.
class HttpTakenBackTest : public HttpLiveTest {
 protected:
  HttpTakenBackTest() {
    users_.users = {{"anna", hash("a"), "", Permission::view, {}}, {"ben", hash("b"), "", Permission::view, {}}};
    access_.update(users_);
  }
  static std::string hash(const std::string& password) { return hash_password(password); }
  // Whoever did not read is not asked to.
  static void expect_end(test::TcpClient& client, const std::string& what) {
    const Deadline deadline = Clock::now() + test::patience;
    while (!client.ended_within(10ms)) ASSERT_LT(Clock::now(), deadline) << what;
  }
  ServerConfig users_ = config();
};

TEST_F(HttpTakenBackTest, WhatIsWatchedEndsWithTheLogout) {
  send(25);
  const Access::Session session = access_.open_session(*access_.identity_of("anna"));
  const std::string cookie = test::cookie_line(session.token);
  const std::string ben = "Authorization: Basic YmVuOmI=\r\n";
  WebSocketClient page(port(), "/cameras/dock/live", cookie);
  WebSocketClient bens(port(), "/cameras/dock/live", ben);
  test::TcpClient player(port());
  player.send(test::request_text("GET /cameras/dock/stream.ts", cookie));
  ASSERT_EQ(page.head().status, 101);
  ASSERT_EQ(bens.head().status, 101);
  wait_for_viewers(3);
  access_.close_session(session.token);
  EXPECT_TRUE(next_of(page, "none").is_null());
  expect_end(player, "the stream of one who logged out");
  wait_for_viewers(1);
  users_.users[1].password = hash("other");
  access_.update(users_);
  EXPECT_TRUE(next_of(bens, "none").is_null());
}

TEST_F(HttpTakenBackTest, ItEndsAlsoForOneWhoReadsNothing) {
  send(25);
  WebSocketClient page(port(), "/cameras/dock/live", "Authorization: Basic YmVuOmI=\r\n", 4096);
  ASSERT_EQ(page.head().status, 101);
  wait_for_viewers(1);
  send(400, 20'000);  // more than the kernel keeps for it
  users_.users.pop_back();
  access_.update(users_);
  wait_for_viewers(0);
}

// Also where so little is sent that the kernel has room for minutes of it.
TEST_F(HttpLiveTest, EndsForOneWhoTakesNothing) {
  HttpLimits limits;
  limits.send = 300ms;
  HttpServer server(config(), rig_, access_, {}, limits);
  test::TcpClient player(server.port(), 2048);
  player.send(test::request_text("GET /cameras/dock/stream.mp4"));
  send(25, 2000);  // more than the player's own kernel takes, and less than ours keeps
  wait_for_viewers(1);
  wait_for_viewers(0);
}

TEST_F(HttpLiveTest, EndsForClientsThatLeave) {
  send(1);
  {
    WebSocketClient page(port(), "/cameras/dock/live");
    test::TcpClient player(port());
    player.send(test::request_text("GET /cameras/dock/stream.ts"));
    wait_for_viewers(2);
  }
  wait_for_viewers(0);
  const Deadline deadline = Clock::now() + test::patience;
  while (!server_.viewers().empty() && Clock::now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(server_.viewers().empty());
}

// What they have sent last, such as the end of their TLS, does not hide that.
TEST_F(HttpLiveTest, EndsForPlayersThatSaySomethingAndLeave) {
  send(1);
  {
    test::TcpClient player(port());
    player.send(test::request_text("GET /cameras/dock/stream.mp4"));
    wait_for_viewers(1);
    player.send("good bye");
  }
  wait_for_viewers(0);
}

class HttpLiveStreamTest : public HttpLiveTest, public testing::WithParamInterface<const char*> {};

TEST_P(HttpLiveStreamTest, IsPlayedByFfmpeg) {
  send(40);  // the newest key frame is not the first
  std::jthread camera([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      send(1);
      std::this_thread::sleep_for(5ms);  // eight times as fast as the camera
    }
  });
  const std::string seen =
      test::output_of(std::string("ffprobe -v error -count_packets -read_intervals %+#50 -of csv=p=0 "
                                  "-show_entries stream=codec_name,start_time,nb_read_packets ") +
                      url(std::string("/cameras/dock/") + GetParam()) + " 2>&1");
  EXPECT_THAT(seen, MatchesRegex("h264,[0-9.]+,50\n(.|\n)*"));
  // VLC takes no MP4 that begins later.
  if (GetParam() == std::string("stream.mp4")) {
    EXPECT_THAT(seen, StartsWith("h264,0.000000,"));
  }
}

TEST_P(HttpLiveStreamTest, EndsWithTheCamera) {
  send(5);
  test::TcpClient player(port());
  player.send(test::request_text(std::string("GET /cameras/dock/") + GetParam()));
  const Reply head = read_head(player);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("transfer-encoding"), "chunked");
  rig_.remove_stream("dock");
  player.read_to_the_end();
  EXPECT_TRUE(player.text().ends_with("\r\n0\r\n\r\n"));
}

INSTANTIATE_TEST_SUITE_P(Forms, HttpLiveStreamTest, testing::Values("stream.ts", "stream.mp4"),
                         [](const auto& of) { return std::string(of.param).substr(7); });

TEST_F(HttpLiveTest, ShowsTheNewestPicture) {
  EXPECT_EQ(ask(port(), "GET /cameras/dock/snapshot.jpg").status, 503);
  send(15);
  const Reply reply = ask(port(), "GET /cameras/dock/snapshot.jpg");
  ASSERT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "image/jpeg");
  const test::TemporaryFolder folder;
  const std::string jpeg = folder.path() / "shot.jpg";
  const std::string luma = folder.path() / "luma";
  std::ofstream(jpeg, std::ios::binary) << reply.body;
  test::output_of("ffmpeg -v error -i " + jpeg + " -pix_fmt gray -f rawvideo " + luma + " 2>&1");
  std::ifstream file(luma, std::ios::binary);
  const std::string pixels{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(pixels.size(), 160 * 128);
  // The bright square of frame 14, whose left edge moves by 3 with each frame.
  const auto bright = [&pixels](int x) {
    return static_cast<unsigned char>(pixels[static_cast<std::size_t>(40 * 160 + x)]) > 200;
  };
  EXPECT_TRUE(bright(8 + 14 * 3 + 2));
  EXPECT_FALSE(bright(8 + 14 * 3 - 3));
  EXPECT_TRUE(ask(port(), "GET /cameras/dock/snapshot.jpg").body == reply.body);
}

TEST_F(HttpLiveTest, AnOldPictureIsSentOnlyOnRequest) {
  const std::int64_t age = 40'000 * ms;
  rig_.set_status({{"cameras", {{"dock", camera_state("waiting")}}}});
  const auto send_old = [&](std::int64_t duration) {
    test::Packet packet = clip().packets.at(static_cast<std::size_t>(sent_) % 40);
    packet.dts = packet.times.pts = sent_ * 40 * ms;
    packet.times.duration = duration;
    packet.times.arrival = now_ns() - age;
    packet.times.capture_utc = utc_now_ns() - age - 3'600'000 * ms;  // its clock is slow
    packet.times.capture_clock = CaptureClock::camera;
    stream_->offer(packet.view(), clip().parameters);
    ++sent_;
    return *utc_from_text(utc_text(packet.times.capture_utc));
  };
  const std::string path = "GET /cameras/dock/snapshot.jpg";
  const std::int64_t taken = send_old(40 * ms);
  const Reply refusal = ask(port(), path);
  EXPECT_EQ(refusal.status, 503);
  EXPECT_THAT(refusal.body, HasSubstr("the camera is waiting: why"));
  const auto expect_times = [&](const Reply& reply) {
    EXPECT_EQ(utc_from_text(reply.headers.at("x-capture-utc")), taken);
    EXPECT_EQ(reply.headers.at("x-capture-clock"), "camera");
    EXPECT_GE(std::stod(reply.headers.at("x-frame-age")), 40);
    EXPECT_LT(std::stod(reply.headers.at("x-frame-age")), 3600);
  };
  expect_times(refusal);
  for (const char* wish : {"?stale=true", "?max_age=1h", "?max_age=1h&stale=false", "?max_age=1s&stale=true"}) {
    const Reply reply = ask(port(), path + wish);
    EXPECT_EQ(reply.status, 200) << wish;
    EXPECT_EQ(reply.headers.at("content-type"), "image/jpeg");
    expect_times(reply);
    EXPECT_THAT(reply.headers.at("last-modified"), testing::EndsWith(" GMT"));
  }
  EXPECT_EQ(ask(port(), path + "?max_age=39s").status, 503) << "also of one that is remembered";
  for (const char* wish : {"?max_age=10", "?max_age=-1s", "?max_age=", "?stale=1", "?stale"})
    EXPECT_EQ(ask(port(), path + wish).status, 400) << wish;
  send_old(15'000 * ms);
  EXPECT_EQ(ask(port(), path).status, 200) << "a camera that sends four frames a minute is there";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
