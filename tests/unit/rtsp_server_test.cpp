// The RTSP server, read by FFmpeg, by GStreamer and by hand.
#include "app/publisher/server/rtsp/server.h"

#include <spdlog/sinks/ostream_sink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "core/clock.h"
#include "core/error.h"
#include "tests/unit/command_output.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/rtsp_player.h"
#include "tests/unit/rtsp_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

void hide_picture_parameters(std::vector<std::uint8_t>& h264) {
  constexpr std::array<std::uint8_t, 4> unit{0, 0, 1, 0x68};
  for (auto rest = std::ranges::search(h264, unit); !rest.empty(); rest = std::ranges::search(h264, unit))
    rest[3] = 0x1f;  // a type that nobody knows
}

// As cameras make it whose colours are as fine as their light.
void make_444(std::vector<std::uint8_t>& jpeg) {
  constexpr std::array<std::uint8_t, 2> frame_header{0xff, 0xc0};
  const auto found = std::ranges::search(jpeg, frame_header).begin();
  ASSERT_NE(found, jpeg.end());
  found[11] = 0x11;  // the first component's sampling
}

TEST_F(RtspServerTest, FfmpegReadsOverTcpAndUdpAndComesAgain) {
  serve_dock();
  for (const std::string transport : {"tcp", "udp", "tcp"}) EXPECT_EQ(ffmpeg(at_server(), transport), 0) << transport;
  EXPECT_TRUE(becomes_true([&] { return server_->viewers().empty(); }));
}

class RtspTransportTest : public RtspServerTest, public testing::WithParamInterface<std::string> {};

TEST_P(RtspTransportTest, EveryReaderBeginsWithAKeyFrameThatIsNew) {
  serve_dock();
  std::vector<std::unique_ptr<RtspPlayer>> players;
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t before = dock().newest();
    players.push_back(std::make_unique<RtspPlayer>(at_server(), GetParam()));
    const auto first = players.back()->next(answer_patience);
    ASSERT_TRUE(first.has_value()) << i;
    EXPECT_TRUE(first->key) << i;
    EXPECT_GE(number_in(first->data).value_or(0), before) << i;
    const auto second = players.back()->next(answer_patience);
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(number_in(second->data).value_or(0), *number_in(first->data) + 1) << i;
  }
  const nlohmann::json viewers = server_->viewers();
  ASSERT_EQ(viewers.size(), 3);
  EXPECT_EQ(viewers[0]["camera"], "dock");
  EXPECT_EQ(viewers[0]["form"], "rtsp");
  EXPECT_EQ(viewers[0]["transport"], GetParam());
  EXPECT_EQ(viewers[0]["address"], "127.0.0.1");
  EXPECT_EQ(viewers[0]["dropped"], 0);
  EXPECT_GT(viewers[0]["bytes"], 0);
}

TEST_P(RtspTransportTest, SenderReportsTellWhenAPictureWasTaken) {
  serve_dock();
  RtspPlayer player(at_server(), GetParam());
  int compared = 0;
  const auto deadline = Clock::now() + answer_patience;
  while (compared < 50 && Clock::now() < deadline) {
    const auto picture = player.next(answer_patience);
    ASSERT_TRUE(picture.has_value());
    const auto number = number_in(picture->data);
    ASSERT_TRUE(number.has_value());
    if (!picture->taken_utc) continue;
    ++compared;
    EXPECT_NEAR(static_cast<double>(*picture->taken_utc - dock().capture_utc(*number)) / ms, 0, 1) << *number;
  }
  EXPECT_EQ(compared, 50);
}

INSTANTIATE_TEST_SUITE_P(Transports, RtspTransportTest, testing::Values("tcp", "udp"),
                         [](const auto& each) { return each.param; });

TEST_F(RtspServerTest, AReaderThatStopsReadingHoldsUpNobodyAndGoesOnWithAKeyFrame) {
  dock().pad(40'000);
  serve_dock();
  // Room for several segments of the loopback, so that what waits comes at once when it reads again, and not by probes.
  RtspWire stuck(port_, 256 << 10);
  ASSERT_EQ(stuck.play("/dock"), 200);
  RtspPlayer other(at_server(), "tcp");
  std::uint32_t last = 0;
  const auto deadline = Clock::now() + answer_patience;
  const auto is_cut = [&] {
    for (const auto& viewer : server_->viewers()) {
      if (viewer["dropped"] > 0) return true;
    }
    return false;
  };
  while (!is_cut() && Clock::now() < deadline) {
    const auto picture = other.next(answer_patience);
    ASSERT_TRUE(picture.has_value());
    const std::uint32_t number = number_in(picture->data).value_or(0);
    EXPECT_TRUE(last == 0 || number == last + 1) << number;
    last = number;
  }
  ASSERT_TRUE(is_cut());
  // It reads again, and gets what is on now.
  EXPECT_TRUE(becomes_true([&] {
    const std::uint64_t before = server_->viewers()[0]["sent"];
    stuck.receive(Clock::now() + 1s);
    return server_->viewers()[0]["sent"] > before;
  }));
}

TEST_F(RtspServerTest, AReaderThatWasSlowForAMomentIsSoonUpToDate) {
  dock().pad(40'000);
  serve_dock();
  RtspWire wire(port_, 256 << 10);
  ASSERT_EQ(wire.play("/dock"), 200);
  const std::uint32_t stopped_at = dock().newest();
  ASSERT_TRUE(becomes_true([&] { return dock().newest() > stopped_at + 30; }));
  const auto deadline = Clock::now() + answer_patience;
  std::uint32_t behind = 1000;
  while (behind > 3 && Clock::now() < deadline) {
    ASSERT_GE(wire.receive(deadline), 0);
    if (const auto number = number_in(wire.received())) behind = dock().newest() - *number;
  }
  EXPECT_LE(behind, 3);
  EXPECT_EQ(server_->viewers().at(0)["dropped"], 0);
}

TEST_F(RtspServerTest, ManyMayBreakOffAtOnce) {
  dock().pad(10'000);
  serve_dock();
  RtspPlayer other(at_server(), "tcp");
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<RtspWire>> wires;
    for (int i = 0; i < 40; ++i) {
      wires.push_back(std::make_unique<RtspWire>(port_));
      ASSERT_EQ(wires.back()->play("/dock"), 200) << i;
    }
    ASSERT_TRUE(becomes_true([&] { return server_->viewers().size() == 41; }));
    // What they have not read makes the kernel reset the connections.
    wires.clear();
    ASSERT_TRUE(becomes_true([&] { return server_->viewers().size() == 1; }));
  }
  EXPECT_TRUE(other.next(answer_patience).has_value());
}

// What waits for them is being sent, from the server's thread, while the connection breaks.
TEST_F(RtspServerTest, ManyThatWereSlowMayBreakOffWhileTheyCatchUp) {
  dock().pad(40'000);
  serve_dock();
  RtspPlayer other(at_server(), "tcp");
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<RtspWire>> wires;
    for (int i = 0; i < 20; ++i) {
      wires.push_back(std::make_unique<RtspWire>(port_, 256 << 10));
      ASSERT_EQ(wires.back()->play("/dock"), 200) << i;
    }
    const std::uint32_t stopped_at = dock().newest();
    ASSERT_TRUE(becomes_true([&] { return dock().newest() > stopped_at + 30; }));
    while (!wires.empty()) {
      // Up to what waits for it in all.
      const int enough = (200 << 10) + static_cast<int>(wires.size()) * (50 << 10);
      for (int bytes = 0; bytes < enough;) {
        const int more = wires.back()->receive(Clock::now() + answer_patience);
        ASSERT_GT(more, 0);
        bytes += more;
      }
      wires.pop_back();
    }
    ASSERT_TRUE(becomes_true([&] { return server_->viewers().size() == 1; }));
  }
  EXPECT_TRUE(other.next(answer_patience).has_value());
}

TEST_F(RtspServerTest, WhoIsNotKnownIsRefused) {
  add_user("ada");
  serve_dock();
  RtspWire wire(port_);
  const auto answer = wire.ask("DESCRIBE", "/dock");
  EXPECT_EQ(answer.status, 401);
  EXPECT_THAT(answer.text, testing::HasSubstr("Basic realm=\"campipe\""));
  EXPECT_THAT(answer.text, testing::Not(testing::HasSubstr("Digest")));
  EXPECT_NE(ffmpeg(at_server("/dock", "ada:wrong"), "tcp"), 0);
  EXPECT_EQ(ffmpeg(at_server("/dock", "ada:pw-ada"), "tcp"), 0);
  EXPECT_EQ(ffmpeg(at_server("/dock", "ada:pw-ada"), "udp"), 0);
}

TEST_F(RtspServerTest, ACameraThatAUserMayNotSeeIsNotThere) {
  add_user("ada", {"belt"});
  serve_dock();
  const std::string login = "Authorization: Basic YWRhOnB3LWFkYQ==\r\n";  // ada:pw-ada
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "/dock", login).status, 404);
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "/gate", login).status, 404);
}

TEST_F(RtspServerTest, ASecretServesDigestAndBasic) {
  add_user("ada", {}, "lovelace");
  serve_dock();
  EXPECT_THAT(RtspWire(port_).ask("DESCRIBE", "/dock").text, testing::HasSubstr("Digest realm=\"campipe\", nonce=\""));
  EXPECT_EQ(ffmpeg(at_server("/dock", "ada:lovelace"), "tcp"), 0);
  EXPECT_NE(ffmpeg(at_server("/dock", "ada:wrong"), "tcp"), 0);
  const auto basic = [&](const std::string& login) {
    return RtspWire(port_).ask("DESCRIBE", "/dock", "Authorization: Basic " + login + "\r\n").status;
  };
  EXPECT_EQ(basic("YWRhOmxvdmVsYWNl"), 200);          // ada:lovelace
  EXPECT_EQ(basic("YWRhOnB3LWFkYQ=="), 200);          // ada:pw-ada
  for (int i = 0; i < 6; ++i) basic("YWRhOndyb25n");  // ada:wrong
  EXPECT_EQ(basic("YWRhOndyb25n"), 503);
  EXPECT_EQ(basic("YWRhOmxvdmVsYWNl"), 503);  // guessing goes on unseen
}

TEST_F(RtspServerTest, AUserWhoMayNoLongerSeeItIsSentAway) {
  add_user("ada");
  serve_dock();
  RtspWire wire(port_);
  ASSERT_EQ(wire.play("/dock", "Authorization: Basic YWRhOnB3LWFkYQ==\r\n"), 200);
  config_.users[0].cameras = {"belt"};
  access_->update(config_);
  EXPECT_TRUE(wire.is_closed(Clock::now() + answer_patience));
}

TEST_F(RtspServerTest, ACertificateIsRenewedForThoseWhoConnectNext) {
  const TemporaryFolder folder;
  config_.tls = make_certificate(folder);
  serve();
  const auto of_file = [&] {
    return output_of("openssl x509 -noout -fingerprint -in " + config_.tls->certificate + " 2>&1");
  };
  const auto of_server = [&] {
    return output_of("openssl s_client -connect 127.0.0.1:" + std::to_string(port_) +
                     " < /dev/null 2> /dev/null | openssl x509 -noout -fingerprint 2>&1");
  };
  EXPECT_TRUE(becomes_true([&] { return of_server() == of_file(); }));
  const std::string before = of_file();
  make_certificate(folder);
  EXPECT_EQ(of_server(), before);
  server_->renew_certificate(open_server_tls(*config_.tls));
  EXPECT_TRUE(becomes_true([&] { return of_server() == of_file(); }));
  EXPECT_NE(of_server(), before);
}

TEST_F(RtspServerTest, OverTls) {
  const TemporaryFolder folder;
  config_.tls = make_certificate(folder);
  add_user("ada", {}, "lovelace");
  add("dock", dock());
  serve();
  EXPECT_EQ(ffmpeg(at_server("/dock", "ada:pw-ada", "rtsps"), "tcp"), 0);
  EXPECT_EQ(ffmpeg(at_server("/dock", "ada:lovelace", "rtsps"), "tcp"), 0);
  EXPECT_NE(ffmpeg(at_server("/dock", "ada:wrong", "rtsps"), "tcp"), 0);
  RtspPlayer player(at_server("/dock", "ada:pw-ada", "rtsps"), "tcp");
  EXPECT_TRUE(player.next(answer_patience).has_value());
}

TEST_F(RtspServerTest, ACertificateThatCannotBeUsedIsTold) {
  config_.tls = TlsConfig{"/nowhere/cert.pem", "/nowhere/key.pem"};
  EXPECT_THROW(serve(), Error);
}

TEST_F(RtspServerTest, AnAddressThatIsTakenIsTold) {
  const UniqueFd taken = bind_any(SOCK_STREAM);
  ASSERT_EQ(::listen(taken.get(), 1), 0);
  config_.rtsp_address = "127.0.0.1:" + std::to_string(port_of(taken.get()));
  try {
    serve();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(config_.rtsp_address));
  }
}

TEST_F(RtspServerTest, StreamsComeAndGo) {
  serve_dock();
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "/belt").status, 404);
  LiveCamera belt(encode(Latency::low, steady(50)));
  add("belt/small", belt);
  EXPECT_TRUE(becomes_true([&] { return RtspWire(port_).ask("DESCRIBE", "/belt/small").status == 200; }));
  RtspWire wire(port_);
  ASSERT_EQ(wire.play("/belt/small"), 200);
  server_->remove("belt/small");
  rig_.remove_stream("belt/small");
  EXPECT_TRUE(wire.is_closed(Clock::now() + answer_patience));
  EXPECT_TRUE(becomes_true([&] { return RtspWire(port_).ask("DESCRIBE", "/belt/small").status == 404; }));
  EXPECT_EQ(ffmpeg(at_server(), "tcp"), 0);
}

TEST_F(RtspServerTest, ACameraWithoutPicturesYetIsRefusedAtOnce) {
  add_stream("gate", std::make_shared<LiveStream>());
  serve_dock();
  const Stopwatch watch;
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "/gate").status, 503);
  EXPECT_LT(watch.elapsed(), 5s);
}

// Whoever may view can ask for it again and again.
TEST_F(RtspServerTest, WhatItCannotCarryIsLoggedOnce) {
  EncoderConfig mjpeg;
  mjpeg.codec = "mjpeg";
  FrameFormat format = clip_format();
  format.width = 2064;  // RTP's headers for it end at 2040
  format.height = 64;
  LiveCamera wide(encode(mjpeg, steady(5), 0, format));
  add("wide", wide);
  serve_dock();
  std::ostringstream log;
  const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(log);
  spdlog::default_logger()->sinks().push_back(sink);
  ASSERT_TRUE(becomes_true([&] { return !wide.stream()->newest_group().empty(); }));
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "/wide").status, 415);
  for (int i = 0; i < 20; ++i)
    EXPECT_GE(
        RtspWire(port_).ask("SETUP", "/wide/stream=0", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n").status,
        400);
  server_.reset();
  spdlog::default_logger()->sinks().pop_back();
  const std::string text = log.str();
  const auto first = text.find("wide: no RTSP: it cannot carry JPEG of 2064x64; encode it (encode: {codec: h264})");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("no RTSP", first + 10), std::string::npos) << text;
}

// The library would wait 20 s for a first picture of it, and serve nobody meanwhile.
TEST_F(RtspServerTest, AJpegThatRtpHasNoFormOfIsRefusedAtOnce) {
  EncoderConfig mjpeg;
  mjpeg.codec = "mjpeg";
  Clip clip = encode(mjpeg, steady(5));
  LiveCamera plain(clip);
  add("plain", plain);
  for (Packet& packet : clip.packets) make_444(packet.data);
  LiveCamera fine(clip);
  add("fine", fine);
  serve_dock();
  ASSERT_TRUE(becomes_true([&] { return !fine.stream()->newest_group().empty(); }));
  const Stopwatch watch;
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "/fine").status, 415);
  EXPECT_LT(watch.elapsed(), 10s);
  RtspWire reader(port_);
  ASSERT_EQ(reader.play("/plain"), 200);
  plain.change(clip);
  EXPECT_TRUE(reader.is_closed(Clock::now() + answer_patience));
}

// As above: what has a form by its description, and none by what it sends.
TEST_F(RtspServerTest, AStreamThatNothingComesOutOfHoldsUpOthersOnceForAMoment) {
  Clip clip = encode(Latency::low, steady(50));
  hide_picture_parameters(clip.parameters.extradata);
  for (Packet& packet : clip.packets) hide_picture_parameters(packet.data);
  LiveCamera empty(clip);
  add("empty", empty);
  serve_dock();
  ASSERT_TRUE(becomes_true([&] { return !empty.stream()->newest_group().empty(); }));
  const Stopwatch watch;
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "/empty").status, 503);
  EXPECT_LT(watch.elapsed(), 15s);
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "/empty").status, 415);
  EXPECT_EQ(ffmpeg(at_server(), "tcp"), 0);
}

TEST_F(RtspServerTest, AnotherPictureSizeIsGoneOnWithAndAnotherCodecEndsIt) {
  serve_dock();
  RtspPlayer player(at_server(), "tcp");
  RtspWire wire(port_);
  ASSERT_EQ(wire.play("/dock"), 200);
  ASSERT_EQ(player.next(answer_patience).value().width, 160);
  FrameFormat format = clip_format();
  format.width = 320;
  format.height = 192;
  dock().change(encode(clip_config(Latency::low), steady(50), 0, format));
  EXPECT_TRUE(becomes_true([&] {
    const auto picture = player.next(answer_patience);
    return picture && picture->width == 320;
  }));
  EncoderConfig mjpeg;
  mjpeg.codec = "mjpeg";
  dock().change(encode(mjpeg, steady(50)));
  EXPECT_TRUE(wire.is_closed(Clock::now() + answer_patience));
  EXPECT_TRUE(becomes_true([&] { return ffmpeg(at_server(), "tcp") == 0; }));
}

TEST_F(RtspServerTest, HevcAndMjpeg) {
  for (const std::string codec : {"hevc", "mjpeg"}) {
    EncoderConfig config;
    config.codec = codec;
    config.gop = 10;
    LiveCamera camera(encode(config, steady(50)));
    add(codec, camera);
    if (!server_) serve();
    server_->add(codec);
    for (const std::string transport : {"tcp", "udp"}) {
      EXPECT_TRUE(becomes_true([&] { return ffmpeg(at_server("/" + codec), transport) == 0; })) << codec << transport;
    }
    server_->remove(codec);
    rig_.remove_stream(codec);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
