#include "stages/sinks/pusher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <netdb.h>

#include <fstream>
#include <latch>
#include <string_view>

#include "core/clock.h"
#include "tests/unit/push_test_support.h"

// A configuration here names only what it is about.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace {

std::atomic<bool> asked{false};
std::latch nobody_answers{1};

}  // namespace

// The system's, but that the server which knows this name does not answer.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  const bool by_name = hints == nullptr || (hints->ai_flags & AI_NUMERICHOST) == 0;
  if (by_name && host != nullptr && std::string_view(host) == "camera.invalid") {
    asked = true;
    nobody_answers.wait();
  }
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(host, service, hints, found);
}

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::Camera;
using test::Clip;
using test::DatagramReceiver;
using test::eventually;
using test::make_clip;
using test::Program;
using test::Server;
using test::States;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Tries again soon; the test's peers answer at once or not at all.
constexpr PushPatience soon{.call = 20s, .first_wait = 100ms, .longest_wait = 200ms};
// Whoever waited for its call would not end in time.
constexpr PushPatience endless{.call = 1h, .first_wait = 100ms, .longest_wait = 200ms};

std::string url_of(const std::string& scheme, int port, const std::string& rest) {
  return scheme + "://127.0.0.1:" + std::to_string(port) + rest;
}

class Pushers : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.path() / name; }
  // It can be decoded from its beginning, and holds no less than so many frames.
  static void expect_plays(const std::string& path, std::size_t at_least) {
    const test::Contents contents = test::read_back(path);
    ASSERT_FALSE(contents.keys.empty());
    EXPECT_TRUE(contents.keys.front());
    EXPECT_GE(contents.shown.size(), at_least);
    EXPECT_EQ(contents.shown.size(), contents.pts.size());
    EXPECT_EQ(contents.warnings, 0);
  }
  // The clip's frames, in their order, at their distances; some may be missing at the end.
  static void expect_holds(const std::string& path, const Clip& clip, std::size_t may_lack = 0) {
    const test::Contents contents = test::read_back(path);
    ASSERT_LE(contents.shown.size(), clip.packets.size());
    ASSERT_GE(contents.shown.size() + may_lack, clip.packets.size());
    EXPECT_LT(contents.worst_difference, 6);
    // ffmpeg gives the first two frames that come by RTSP the same time, whoever sends them.
    for (std::size_t i = 2; i < contents.shown.size(); ++i) {
      const std::int64_t passed = contents.shown[i] - contents.shown[i - 1];
      EXPECT_NEAR(static_cast<double>(passed), 40.0 * test::ms, 2.0 * test::ms) << i;
    }
  }

  test::TemporaryFolder folder_;
  States states_;
};

struct Peer {
  const char* name;
  const char* scheme;
  const char* rest;                 // of the pusher's URL
  std::vector<std::string> before;  // of the receiver's address
  const char* rest_of_receiver;
  bool datagrams;
  std::size_t may_lack;  // of the end
  friend std::ostream& operator<<(std::ostream& out, const Peer& of) { return out << of.name; }
};

class PushPeers : public Pushers, public testing::WithParamInterface<Peer> {};

// The receiver may be there only later than the first frames: they are kept for it.
TEST_P(PushPeers, GetEveryPicture) {
  const Peer& peer = GetParam();
  const Clip clip = make_clip(60);
  const int port = test::free_port(peer.datagrams ? SOCK_DGRAM : SOCK_STREAM);
  std::vector<std::string> input = peer.before;
  input.insert(input.end(), {"-i", url_of(peer.scheme, port, peer.rest_of_receiver)});
  Program receiver(test::receiver(input, file("out.mkv")));
  Pusher pusher({url_of(peer.scheme, port, peer.rest)}, states_.handler(), soon);
  Camera(pusher, clip, false).wait_for_end();
  ASSERT_TRUE(eventually([&] { return pusher.counts().sent == clip.packets.size(); }));
  EXPECT_EQ(pusher.counts().dropped, 0U);
  EXPECT_EQ(pusher.counts().connects, 1U);
  pusher.finish();
  EXPECT_EQ(receiver.wait(), 0);
  expect_holds(file("out.mkv"), clip, peer.may_lack);
}

INSTANTIATE_TEST_SUITE_P(All, PushPeers,
                         testing::Values(Peer{"rtsp", "rtsp", "/dock", {"-rtsp_flags", "listen"}, "/dock", false, 0},
                                         Peer{"srt", "srt", "?streamid=dock", {}, "?mode=listener", true, 15},
                                         Peer{"rtmp", "rtmp", "/live/dock", {"-listen", "1"}, "/live/dock", false, 0}),
                         testing::PrintToStringParamName());

TEST_F(Pushers, SendWholePacketsByUdp) {
  for (const Latency latency : {Latency::low, Latency::normal}) {
    const Clip clip = make_clip(50, latency);
    DatagramReceiver receiver;
    Pusher pusher({url_of("udp", receiver.port(), "")}, states_.handler(), soon);
    for (const auto& packet : clip.packets) pusher.offer(packet.view(), clip.stream);
    ASSERT_TRUE(eventually([&] { return pusher.counts().sent == clip.packets.size(); }));
    std::ofstream(file("out.ts"), std::ios::binary) << receiver.finish();
    EXPECT_EQ(receiver.odd_sizes(), 0U);
    expect_holds(file("out.ts"), clip);
  }
}

TEST_F(Pushers, ConnectWhenTheTargetAppearsAndAgainWhenItComesBack) {
  const Clip clip = make_clip(50);
  const int port = test::free_port();
  Pusher pusher({url_of("rtsp", port, "/dock")}, states_.handler(), soon);
  Camera camera(pusher, clip);
  ASSERT_TRUE(states_.wait(PushState::failed));
  {
    const Program receiver(test::rtsp_receiver(port, file("first.mkv")));
    ASSERT_TRUE(states_.wait(PushState::connected));
    const auto sent = pusher.counts().sent;
    ASSERT_TRUE(eventually([&] { return pusher.counts().sent > sent + 20; }));
  }  // killed
  ASSERT_TRUE(states_.wait(PushState::failed, 2));
  Program receiver(test::rtsp_receiver(port, file("second.mkv")));
  ASSERT_TRUE(states_.wait(PushState::connected, 2));
  const auto sent = pusher.counts().sent;
  ASSERT_TRUE(eventually([&] { return pusher.counts().sent > sent + 30; }));
  camera.stop();
  pusher.finish();
  EXPECT_EQ(receiver.wait(), 0);
  expect_plays(file("second.mkv"), 25);
  EXPECT_EQ(pusher.counts().connects, 2U);
  const auto told = states_.told();
  EXPECT_THAT(told[0].reason, HasSubstr("refused"));
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_FALSE(told[i].state == told[i - 1].state && told[i].reason == told[i - 1].reason) << "told twice";
  }
}

// Large enough that a stopped receiver's buffers are full soon.
Clip heavy_clip() {
  Clip clip = make_clip(10);
  for (auto& packet : clip.packets) packet.data.resize(400'000, 0x55);
  return clip;
}

// Offers frames of the heavy clip as fast as it goes, and says how long one took in the median.
std::chrono::nanoseconds offer_heavy(Pusher& pusher, const Clip& clip, int count, std::int64_t& number) {
  std::vector<std::chrono::nanoseconds> took;
  for (int i = 0; i < count; ++i, ++number) {
    test::Packet packet = clip.packets[static_cast<std::size_t>(number) % clip.packets.size()];
    packet.dts = packet.times.pts = number * 40 * test::ms;
    const auto begin = Clock::now();
    pusher.offer(packet.view(), clip.stream);
    took.push_back(Clock::now() - begin);
  }
  std::ranges::nth_element(took, took.begin() + count / 2);
  return took[static_cast<std::size_t>(count / 2)];
}

TEST_F(Pushers, HoldNothingUpWhenTheTargetStopsReading) {
  const Clip clip = heavy_clip();
  const int port = test::free_port();
  Program receiver(test::rtsp_receiver(port, file("out.mkv")));
  PushPatience patience = soon;
  patience.call = 2s;
  Pusher pusher({url_of("rtsp", port, "/dock")}, states_.handler(), patience);
  std::int64_t number = 0;
  offer_heavy(pusher, clip, 1, number);
  ASSERT_TRUE(states_.wait(PushState::connected));
  ASSERT_TRUE(eventually([&] { return pusher.counts().sent == 1; }));
  const auto flowing = offer_heavy(pusher, clip, 20, number);
  receiver.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] {
    offer_heavy(pusher, clip, 20, number);
    return pusher.counts().dropped > 100;
  }));
  const auto stalled = offer_heavy(pusher, clip, 200, number);
  EXPECT_LT(stalled, 5 * flowing + 5ms);
  const PushCounts counts = pusher.counts();
  const std::uint64_t waiting = static_cast<std::uint64_t>(number) - counts.sent - counts.dropped;
  EXPECT_LE(waiting, (16U << 20) / 400'000 + 2) << "packets in memory";
  EXPECT_TRUE(eventually([&] {
    return std::ranges::any_of(states_.told(),
                               [](const auto& told) { return told.reason == "it took nothing for 2 s"; });
  }));
}

TEST_F(Pushers, EndSoonThoughTheTargetStoppedReading) {
  const Clip clip = heavy_clip();
  const int port = test::free_port();
  Program receiver(test::rtsp_receiver(port, file("out.mkv")));
  auto pusher = std::make_unique<Pusher>(PushUrl{url_of("rtsp", port, "/dock")}, states_.handler(), endless);
  std::int64_t number = 0;
  offer_heavy(*pusher, clip, 1, number);
  ASSERT_TRUE(states_.wait(PushState::connected));
  receiver.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] {
    offer_heavy(*pusher, clip, 20, number);
    return pusher->counts().dropped > 100;
  }));
  pusher.reset();
  EXPECT_EQ(states_.told().back().state, PushState::connected) << "that it was told to end is no failure";
}

TEST_F(Pushers, EndSoonWhileConnecting) {
  const Clip clip = make_clip(1);
  const Server silent(test::stay_silent);
  for (const std::string& url : {url_of("rtsp", silent.port(), "/dock"), url_of("rtmp", silent.port(), "/live/dock"),
                                 url_of("srt", test::free_port(SOCK_DGRAM), ""), std::string("rtsp://192.0.2.1/x")}) {
    const int connections = silent.connections();
    auto pusher = std::make_unique<Pusher>(PushUrl{url}, states_.handler(), endless);
    pusher->offer(clip.packets[0].view(), clip.stream);
    if (url.find(":" + std::to_string(silent.port())) != std::string::npos) {
      ASSERT_TRUE(eventually([&] { return silent.connections() > connections; }));
    }
    pusher.reset();
  }
}

// What takes long to fail has not worked for a while.
TEST_F(Pushers, WaitLongerEachTimeForATargetThatSaysNothing) {
  const Clip clip = make_clip(1);
  const Server silent(test::stay_silent);
  const PushPatience patience{.call = 100ms, .first_wait = 100ms, .longest_wait = 1h};
  Pusher pusher({url_of("rtsp", silent.port(), "/dock")}, states_.handler(), patience);
  const auto begin = Clock::now();
  const Camera camera(pusher, clip);
  ASSERT_TRUE(eventually([&] { return silent.connections() >= 6; }));
  EXPECT_GE(Clock::now() - begin, (100ms + 200ms + 400ms + 800ms + 1600ms) * 8 / 10);
}

TEST_F(Pushers, EndSoonThoughNoServerKnowsTheName) {
  const Clip clip = make_clip(1);
  auto pusher = std::make_unique<Pusher>(PushUrl{"rtsp://camera.invalid/dock"}, states_.handler(), endless);
  pusher->offer(clip.packets[0].view(), clip.stream);
  ASSERT_TRUE(eventually([] { return asked.load(); }));
  pusher.reset();
  EXPECT_THAT(states_.told(), IsEmpty());
  nobody_answers.count_down();
}

TEST_F(Pushers, DoNotHammerAPasswordAndDoNotTellIt) {
  const Clip clip = make_clip(1);
  const Server server(
      test::answering("RTSP/1.0 401 Unauthorized\r\nCSeq: 1\r\nWWW-Authenticate: Basic realm=\"dock\"\r\n\r\n", 1));
  PushPatience patience = soon;
  patience.longest_wait = 1h;
  Pusher pusher({"rtsp://me:pa55word@127.0.0.1:" + std::to_string(server.port()) + "/dock"}, states_.handler(),
                patience);
  EXPECT_THAT(pusher.name(), AllOf(Not(HasSubstr("pa55word")), Not(HasSubstr("me")), HasSubstr("/dock")));
  pusher.offer(clip.packets[0].view(), clip.stream);
  ASSERT_TRUE(states_.wait(PushState::failed));
  EXPECT_THAT(states_.told()[0].reason, Not(HasSubstr("pa55word")));
}

TEST_F(Pushers, RefuseACodecOnceThatTheTargetCannotCarry) {
  const Server server(test::stay_silent);
  Clip clip = make_clip(20);
  clip.stream.codec = "mjpeg";
  for (const std::string& url : {url_of("rtmp", server.port(), "/live/dock"), url_of("srt", server.port(), "")}) {
    States states;
    Pusher pusher({url}, states.handler(), soon);
    for (const auto& packet : clip.packets) pusher.offer(packet.view(), clip.stream);
    EXPECT_TRUE(eventually([&] { return pusher.counts().dropped == clip.packets.size(); }));
    ASSERT_EQ(states.told().size(), 1U);
    EXPECT_THAT(states.told()[0].reason, HasSubstr("cannot carry mjpeg"));
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(Pushers, ConnectAnewForAnotherStream) {
  const Clip first = make_clip(20);
  const Clip second = make_clip(20, Latency::normal);
  ASSERT_FALSE(first.stream == second.stream);
  DatagramReceiver receiver;
  Pusher pusher({url_of("udp", receiver.port(), "")}, states_.handler(), soon);
  for (const Clip* clip : {&first, &second}) {
    for (const auto& packet : clip->packets) pusher.offer(packet.view(), clip->stream);
  }
  EXPECT_TRUE(eventually([&] { return pusher.counts().sent == 40; }));
  EXPECT_EQ(pusher.counts().connects, 2U);
  EXPECT_EQ(states_.told().size(), 1U) << "it was connected, and is";
}

TEST(PushTargets, AreToldWithoutTheirSecrets) {
  const auto name = [](const std::string& url) { return Pusher({url}, [](const PushReport&) {}).name(); };
  EXPECT_EQ(name("rtsp://me:secret@10.0.0.1:8554/dock"), "rtsp://10.0.0.1:8554/dock");
  EXPECT_EQ(name("rtmp://me:secret@10.0.0.1/live/secret"), "rtmp://10.0.0.1/live/***");
  EXPECT_EQ(name("rtmps://10.0.0.1/live/secret?user=me/x"), "rtmps://10.0.0.1/live/***");
  EXPECT_EQ(name("srt://10.0.0.1:9000?passphrase=long-secret&streamid=publish:dock:me:secret&mode=caller"),
            "srt://10.0.0.1:9000?passphrase=***&streamid=***&mode=caller");
  EXPECT_EQ(name("udp://239.0.0.1:5000?ttl=2"), "udp://239.0.0.1:5000?ttl=2");
}

TEST(PushTargets, AreToldWithoutWhatVariablesHold) {
  const auto name = [](const std::string& url, const std::string& written) { return push_name({url, written}); };
  EXPECT_EQ(name("rtsp://me:secret@host/token/dock", "rtsp://me:${PASSWORD}@host/${PATH}/dock"),
            "rtsp://host/${PATH}/dock");
  EXPECT_EQ(name("srt://host:9000?pkt_size=token", "srt://${HOST}?pkt_size=${SIZE}"), "srt://${HOST}?pkt_size=${SIZE}");
  EXPECT_EQ(name("udp://239.0.0.1:5000", "${TARGET}"), "${TARGET}");
  EXPECT_EQ(name("rtmp://host/live/secret", "rtmp://host/live/${KEY}"), "rtmp://host/live/***");
  EXPECT_EQ(name("rtmp://host/live/secret?a=/b", "rtmp://host/${APP}/secret?a=/b"), "rtmp://host/${APP}/***");
  EXPECT_EQ(name("rtmp://host/live/secret", "${SERVER}/secret"), "${SERVER}/***");
  EXPECT_EQ(name("rtmp://host/live/secret?a", "rtmp://${ALL}?a"), "rtmp://${ALL}");
}

TEST_F(Pushers, DoNotTellWhatVariablesHold) {
  const Clip clip = make_clip(1);
  const Server server(test::answering("RTSP/1.0 404 there is no 7351-token, nor any tok\r\nCSeq: 1\r\n\r\n", 1));
  const std::string host = "rtsp://127.0.0.1:" + std::to_string(server.port());
  Pusher pusher({host + "/7351-token/in/tok", host + "/${FIRST}/in/${SECOND}"}, states_.handler(), soon);
  pusher.offer(clip.packets[0].view(), clip.stream);
  ASSERT_TRUE(states_.wait(PushState::failed));
  EXPECT_THAT(states_.told()[0].reason, AllOf(Not(HasSubstr("7351")), Not(HasSubstr("tok"))));
}

// Who may not see a target's address still hears of what kind a failure is.
TEST_F(Pushers, TellTheCauseWithoutTheAddress) {
  const Clip clip = make_clip(1);
  const auto cause_with = [&](const std::string& url) {
    States states;
    Pusher pusher({url}, states.handler(), soon);
    pusher.offer(clip.packets[0].view(), clip.stream);
    EXPECT_TRUE(states.wait(PushState::failed));
    return states.told().at(0).cause;
  };
  const auto cause_after = [&](const std::string& answer) {
    const Server server(test::answering(answer + "\r\nCSeq: 1\r\n\r\n", 1));
    return cause_with(url_of("rtsp", server.port(), "/in/k3y"));
  };
  EXPECT_EQ(cause_with(url_of("rtsp", test::free_port(), "/in/k3y")),
            "the target cannot be reached, or does not answer");
  EXPECT_EQ(cause_after("RTSP/1.0 401 not /in/k3y"), "the target refuses the credentials");
  EXPECT_EQ(cause_after("RTSP/1.0 404 no /in/k3y"), "the target refused the stream, or ended the connection");
}

TEST(PushTargets, AreChecked) {
  for (const char* good : {"rtsp://host/a", "RTSPS://host:1/a", "srt://host:9000", "srt://:9000?mode=listener",
                           "udp://239.0.0.1:5000", "rtmp://host/live/key", "rtsp://[::1]:8554/a"}) {
    EXPECT_EQ(check_push({good}), std::nullopt) << good;
  }
  for (const char* bad : {"", "file.mp4", "ftp://host/a", "rtsp://", "rtsp:///a", "srt://host", "udp://host:"}) {
    const auto complaint = check_push({bad});
    ASSERT_TRUE(complaint) << bad;
    EXPECT_THAT(*complaint, AnyOf(HasSubstr("only rtsp"), HasSubstr("has no"))) << bad;
  }
  EXPECT_THAT(*check_push({"srt://me:secret@host?passphrase=secret"}), Not(HasSubstr("secret")));
  EXPECT_THAT(check_push({"srt://host:9000?passphrase=secret"}).value_or(""),
              AllOf(HasSubstr("has 6 characters; SRT takes 10 to 79"), Not(HasSubstr("secret"))));
  EXPECT_THAT(check_push({"rtsp://ann:2024/secret@10.0.0.9/dock"}).value_or(""),
              AllOf(HasSubstr("'@' behind its host and port"), Not(HasSubstr("secret"))));
  EXPECT_EQ(check_push({"rtmp://live:1935/app/key@1"}), std::nullopt);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
