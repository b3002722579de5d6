// Live sources against FFmpeg as a sender, and servers.
#include <filesystem>
#include <fstream>

#include "core/clock.h"
#include "tests/unit/live_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = SourceError::Kind;

class StreamSource : public WithClip {};

TEST_F(StreamSource, HttpSendsVideoAndAudioAndEnds) {
  const int port = test::free_port();
  const Program sender({"ffmpeg", "-hide_banner", "-loglevel", "fatal", "-i", file("clip.ts"), "-c", "copy", "-f",
                        "mpegts", "-listen", "1", local("http", port)});
  const auto source = open_soon(source_of(local("http", port)));
  expect_clip(*source);
  const Count count = count_packets(*source, {1000, 1000});
  EXPECT_EQ(count.video, 100);
  EXPECT_GT(count.audio, 150);
}

TEST_F(StreamSource, AudioIsLeftOutWhereItIsNotWanted) {
  if (!test::udp_is_closed) GTEST_SKIP() << "ThreadSanitizer ends the program where UDP is closed";
  const int port = test::free_port(SOCK_DGRAM);
  const Program sender(this->sender({local("udp", port)}));
  SourceConfig config = source_of(local("udp", port));
  config.audio = Audio::off;
  const auto source = open_source(config, never);
  expect_clip(*source, false);
  EXPECT_EQ(count_packets(*source, {50, 0}).audio, 0);
}

TEST_F(StreamSource, UdpThatFallsSilentTimesOut) {
  if (!test::udp_is_closed) GTEST_SKIP() << "ThreadSanitizer ends the program where UDP is closed";
  const int port = test::free_port(SOCK_DGRAM);
  auto sender = std::make_unique<Program>(this->sender({local("udp", port)}));
  const auto source = open_source(source_of(local("udp", port), seconds(8)), never);
  expect_clip(*source);
  EXPECT_GE(count_packets(*source, {30, 30}).audio, 30);
  sender.reset();
  const auto begin = Clock::now();
  try {
    count_packets(*source, {1000000, 0});
    ADD_FAILURE() << "it did not time out";
  } catch (const SourceError& error) {
    EXPECT_EQ(error.kind, Kind::timed_out);
    EXPECT_THAT(error.what(), HasSubstr("has sent no video for 8 s"));
  }
  EXPECT_LT(Clock::now() - begin, seconds(40));
}

TEST_F(StreamSource, VideoThatNeverBeginsIsNotTakenForSilence) {
  const int port = test::free_port();
  const Program sender({"ffmpeg",
                        "-hide_banner",
                        "-loglevel",
                        "fatal",
                        "-re",
                        "-f",
                        "lavfi",
                        "-i",
                        "testsrc=size=320x240:rate=25",
                        "-c:v",
                        "libx264",
                        "-preset",
                        "ultrafast",
                        "-g",
                        "100000",
                        "-bsf:v",
                        "noise=drop=key",
                        "-f",
                        "mpegts",
                        local("tcp", port, "?listen=1")});
  Failure failure;
  for (const Deadline deadline = Clock::now() + patience; failure.kind != Kind::timed_out && Clock::now() < deadline;)
    failure = failure_of(source_of(local("tcp", port), seconds(3)));
  EXPECT_THAT(failure.text, HasSubstr("sends video, but within 3 s (read_timeout) nothing that tells what it is"));
}

TEST_F(StreamSource, TcpPeerThatGoesAwayIsLost) {
  const int port = test::free_port();
  auto sender = std::make_unique<Program>(this->sender({local("tcp", port, "?listen=1")}));
  const auto source = open_soon(source_of(local("tcp", port)));
  expect_clip(*source);
  sender.reset();
  try {
    count_packets(*source, {1000000, 0});
    ADD_FAILURE() << "nothing was lost";
  } catch (const SourceError& error) {
    EXPECT_EQ(error.kind, Kind::lost);
  }
}

TEST_F(StreamSource, SrtWithItsPassphrase) {
  const int port = test::free_port(SOCK_DGRAM);
  const std::string secret = "passphrase=correct-horse&pbkeylen=16";
  const Program sender(this->sender({local("srt", port, "?mode=listener&" + secret)}));
  const auto source = open_soon(source_of(local("srt", port, "?" + secret)));
  expect_clip(*source);
  EXPECT_GE(count_packets(*source, {30, 10}).video, 30);
}

// With what a query could not hold as it is.
TEST_F(StreamSource, SrtPassphraseWithSpecialCharacters) {
  const int port = test::free_port(SOCK_DGRAM);
  const Program sender({"ffmpeg", "-hide_banner", "-loglevel", "fatal", "-re", "-stream_loop", "-1", "-i",
                        file("clip.ts"), "-c", "copy", "-f", "mpegts", "-passphrase", "a&b#c+d%e f?12",
                        local("srt", port, "?mode=listener")});
  const auto source = open_soon(source_of(local("srt", port, "?passphrase=a%26b%23c%2Bd%25e+f%3F12&mode=caller")));
  expect_clip(*source);
}

TEST_F(StreamSource, SrtListens) {
  const int port = test::free_port(SOCK_DGRAM);
  const Program sender(this->sender({local("srt", port)}));
  const std::string here = "srt://:" + std::to_string(port) + "?mode=listener";
  expect_clip(*open_soon(source_of(here, seconds(10))));
}

TEST_F(StreamSource, TcpListens) {
  const int port = test::free_port();
  std::jthread caller([&](const std::stop_token& over) {
    // Again where nobody listens yet.
    while (!over.stop_requested()) Program(this->sender({local("tcp", port)})).wait();
  });
  {
    const auto source = open_source(source_of("tcp://0.0.0.0:" + std::to_string(port) + "?listen=1"), never);
    expect_clip(*source);
    EXPECT_GE(count_packets(*source, {30, 10}).video, 30);
  }
  caller.request_stop();
}

std::string header_of(const std::string& request, const std::string& name) {
  const auto at = request.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const auto begin = at + name.size() + 4;
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

std::string answer_to(const std::string& request, const std::string& more, const std::string& body = "") {
  return "RTSP/1.0 200 OK\r\nCSeq: " + header_of(request, "CSeq") + "\r\nSession: 1\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// RTP in RTSP's own connection: the transport stream, seven of its packets in each.
bool send_rtp(int fd, const std::string& clip, std::size_t number) {
  constexpr std::size_t payload = std::size_t{7} * 188;
  const std::string piece = clip.substr(number * payload % clip.size(), payload);
  const std::size_t size = 12 + piece.size();
  std::string packet{'$', 0, static_cast<char>(size >> 8), static_cast<char>(size & 255), '\x80', 33};
  packet += {static_cast<char>(number >> 8), static_cast<char>(number & 255), 0, 0, 0, 0, 0, 0, 0, 1};
  return send_all(fd, packet + piece);
}

// A camera behind a firewall that lets its UDP packets not through.
TEST_F(StreamSource, RtspGoesOnWithTcpWhereNothingComesByUdp) {
  std::ifstream input(file("clip.ts"), std::ios::binary);
  const std::string clip((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
  std::atomic<int> by_udp{0};
  const Server camera([&](int fd, const std::atomic<bool>& over) {
    bool tcp = false;
    for (std::string request = read_request(fd); !request.empty(); request = read_request(fd)) {
      std::string more = "Public: OPTIONS, DESCRIBE, SETUP, PLAY\r\n";
      std::string body;
      if (request.starts_with("DESCRIBE")) {
        more = "Content-Type: application/sdp\r\n";
        body = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=c\r\nt=0 0\r\nm=video 0 RTP/AVP 33\r\na=control:video\r\n";
      } else if (request.starts_with("SETUP")) {
        const std::string transport = header_of(request, "Transport");
        tcp = transport.find("/TCP") != std::string::npos;
        if (!tcp) ++by_udp;
        more = "Transport: " + transport + (tcp ? "" : ";server_port=9-10") + "\r\n";
      }
      send_all(fd, answer_to(request, more, body));
      if (!tcp || !request.starts_with("PLAY")) continue;
      for (std::size_t number = 0; !over && send_rtp(fd, clip, number); ++number) {
        std::this_thread::sleep_for(milliseconds(5));
      }
    }
  });
  SourceConfig config = source_of(local("rtsp", camera.port(), "/s"));
  const auto source = open_source(config, never);
  EXPECT_EQ(by_udp, 1);
  EXPECT_EQ(camera.connections(), 2);
  EXPECT_EQ(source->stream().decoder, "h264");
  EXPECT_EQ(count_packets(*source, {30, 0}).video, 30);
}

TEST_F(StreamSource, HlsIsPacedByItsTimes) {
  run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", "-hls_time", "1", "-hls_list_size", "0", file("live.m3u8")});
  Program server({"python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", file("")});
  const std::string line = server.first_line();
  const auto at = line.find("port ");
  ASSERT_NE(at, std::string::npos) << line;
  const auto source = open_source(source_of(local("http", std::stoi(line.substr(at + 5)), "/live.m3u8")), never);
  expect_clip(*source);
  EXPECT_TRUE(source->stream().in_bursts);
  EXPECT_TRUE(source->stream().finite);
  EXPECT_GT(count_packets(*source, {1000, 1000}).video, 50);
}

// A server of files that gives parts of them, or does not.
auto serving(const std::string& body, bool parts) {
  return [body, parts](int fd, const std::atomic<bool>&) {
    const std::string request = read_request(fd);
    const std::string range = header_of(request, "Range");
    const bool part = parts && range.starts_with("bytes=");
    const std::size_t from = part ? std::stoul(range.substr(6)) : 0;
    std::string head = "HTTP/1.1 " + std::string(part ? "206 Partial Content" : "200 OK") + "\r\nConnection: close\r\n";
    if (parts) head += "Accept-Ranges: bytes\r\n";
    if (part) {
      head += "Content-Range: bytes " + std::to_string(from) + "-" + std::to_string(body.size() - 1) + "/" +
              std::to_string(body.size()) + "\r\n";
    }
    send_all(fd, head + "Content-Length: " + std::to_string(body.size() - from) + "\r\n\r\n" + body.substr(from));
  };
}

TEST_F(StreamSource, AnMp4FileOverHttpWhereverItsIndexIs) {
  for (const char* flags : {"+faststart", "+use_metadata_tags"}) {
    run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", "-movflags", flags, file("clip.mp4")});
    std::ifstream input(file("clip.mp4"), std::ios::binary);
    const std::string clip((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
    const Server server(serving(clip, true));
    const auto source = open_source(source_of(local("http", server.port(), "/clip.mp4")), never);
    expect_clip(*source);
    EXPECT_TRUE(source->stream().finite);
    EXPECT_EQ(count_packets(*source, {1000, 1000}).video, 100) << flags;
  }
}

TEST_F(StreamSource, AnMp4FileWithItsIndexAtTheEndNeedsAServerOfParts) {
  run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", file("clip.mp4")});
  std::ifstream input(file("clip.mp4"), std::ios::binary);
  const std::string clip((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
  const Server server(serving(clip, false));
  const Failure failure = failure_of(source_of(local("http", server.port(), "/clip.mp4")));
  EXPECT_EQ(failure.kind, Kind::unsupported);
  EXPECT_THAT(failure.text, HasSubstr("faststart"));
}

TEST_F(StreamSource, MotionJpegHasTheTimesOfItsArrival) {
  run_ffmpeg({"-i", file("clip.ts"), "-frames:v", "1", file("picture.jpg")});
  std::ifstream input(file("picture.jpg"), std::ios::binary);
  const std::string picture((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
  constexpr auto step = milliseconds(100);
  const Server camera([&](int fd, const std::atomic<bool>& over) {
    test::read_request(fd);
    test::send_all(fd, "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=frame\r\n\r\n");
    const std::string part =
        "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: " + std::to_string(picture.size()) + "\r\n\r\n" +
        picture + "\r\n";
    while (!over && test::send_all(fd, part)) std::this_thread::sleep_for(step);
  });
  const auto source = open_source(source_of(local("http", camera.port(), "/video")), never);
  EXPECT_EQ(source->stream().decoder, "mjpeg");
  EXPECT_EQ(source->stream().codec->width, 320);
  const AvPacket packet = make_av_packet();
  std::vector<double> times;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(source->read(*packet), ReadResult::packet);
    times.push_back(static_cast<double>(packet->pts) * av_q2d(source->stream().time_base));
    av_packet_unref(packet.get());
  }
  // The first ones were waiting; a loaded machine may be late, but never early.
  EXPECT_GT(times[19] - times[9], 0.09 * 10);
}

TEST_F(StreamSource, RtpWithMpegTs) {
  const int port = test::free_port(SOCK_DGRAM);
  const Program sender({"ffmpeg", "-hide_banner", "-loglevel", "fatal", "-re", "-stream_loop", "-1", "-i",
                        file("clip.ts"), "-c", "copy", "-f", "rtp_mpegts", local("rtp", port)});
  for (const char* host : {"127.0.0.1", ""}) {
    const auto source = open_source(source_of("rtp://" + (host + (":" + std::to_string(port)))), never);
    expect_clip(*source);
    EXPECT_GE(count_packets(*source, {30, 10}).video, 30) << host;
  }
}

TEST_F(StreamSource, ChoosesAmongVideoStreams) {
  run_ffmpeg({"-f",   "lavfi", "-i",          "testsrc2=size=320x240:rate=25:duration=1",
              "-f",   "lavfi", "-i",          "testsrc2=size=160x120:rate=25:duration=1",
              "-f",   "lavfi", "-i",          "sine=duration=1",
              "-map", "0",     "-map",        "1",
              "-map", "2",     "-c:v",        "mpeg2video",
              "-c:a", "mp2",   file("two.ts")});
  for (const auto& [stream, width] : {std::pair{0, 320}, {1, 160}}) {
    SourceConfig config = source_of(file("two.ts"));
    config.stream = stream;
    const auto from_file = open_source(config, never);
    EXPECT_EQ(from_file->stream().codec->width, width);
    EXPECT_EQ(count_packets(*from_file, {100, 100}).video, 25);
    const int port = test::free_port();
    const Program sender({"ffmpeg", "-hide_banner", "-loglevel", "fatal", "-i", file("two.ts"), "-map", "0", "-c",
                          "copy", "-f", "mpegts", local("tcp", port, "?listen=1")});
    config.url = local("tcp", port);
    EXPECT_EQ(open_soon(config)->stream().codec->width, width);
  }
  SourceConfig config = source_of(file("two.ts"));
  config.stream = 2;
  EXPECT_THROW(open_source(config, never), Error);
}

TEST_F(StreamSource, CaptureDevice) {
  const std::string device = "/dev/video0";
  if (!std::filesystem::exists(device)) GTEST_SKIP() << "there is no " << device;
  SourceConfig config = source_of(device, seconds(20));
  const auto source = open_source(config, never);
  EXPECT_EQ(count_packets(*source, {5, 0}).video, 5);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
