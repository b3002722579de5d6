// RTSP cameras that answer without end, or send what is none: none of them costs more memory than a large frame.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <random>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "tests/unit/live_test_support.h"
#include "tests/unit/peak_memory.h"
#include "tests/unit/web.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using Kind = SourceError::Kind;

std::string header_of(const std::string& request, const std::string& name) {
  const auto at = request.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const auto begin = at + name.size() + 4;
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

std::string sdp(const std::string& media) {
  return "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=c\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n" + media;
}
const std::string h264 =
    "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:video\r\n";
const std::string mpegts = "m=video 0 RTP/AVP 33\r\na=control:video\r\n";

// What is odd about a camera; the rest of it is as it should be.
struct Behaviour {
  std::string description = sdp(h264);
  std::string content_length = {};            // empty: the right one
  std::string headers = {};                   // of each answer
  std::string transport = {};                 // what it makes of the Transport that it was asked for
  std::function<bool(int fd)> send = {};      // after PLAY, until it says no
  std::function<bool(int fd)> describe = {};  // what goes on behind the answer to DESCRIBE
};

class RtspCamera {
 public:
  explicit RtspCamera(Behaviour behaviour) : behaviour_(std::move(behaviour)) {}
  [[nodiscard]] std::string url() const { return local("rtsp", server_.port(), "/cam"); }
  [[nodiscard]] int connections() const { return server_.connections(); }

 private:
  void serve(int fd, const std::atomic<bool>& over) {
    for (std::string request = read_request(fd); !request.empty(); request = read_request(fd)) {
      std::string more = "Public: OPTIONS, DESCRIBE, SETUP, PLAY\r\n";
      std::string body;
      const bool describe = request.starts_with("DESCRIBE");
      if (describe) {
        more = "Content-Type: application/sdp\r\n";
        body = behaviour_.description;
      } else if (request.starts_with("SETUP")) {
        more = "Transport: " + header_of(request, "Transport") + behaviour_.transport + "\r\n";
      }
      const std::string length =
          describe && !behaviour_.content_length.empty() ? behaviour_.content_length : std::to_string(body.size());
      send_all(fd, "RTSP/1.0 200 OK\r\nCSeq: " + header_of(request, "CSeq") + "\r\nSession: 1\r\n" +
                       behaviour_.headers + more + "Content-Length: " + length + "\r\n\r\n" + body);
      while (!over && describe && behaviour_.describe && behaviour_.describe(fd)) {
      }
      while (!over && request.starts_with("PLAY") && behaviour_.send && behaviour_.send(fd)) {
      }
    }
  }

  Behaviour behaviour_;
  Server server_{[this](int fd, const std::atomic<bool>& over) { serve(fd, over); }};
};

// In RTSP's own connection.
std::string interleaved(int channel, const std::string& packet) {
  return std::string{'$', static_cast<char>(channel), static_cast<char>(packet.size() >> 8),
                     static_cast<char>(packet.size() & 255)} +
         packet;
}
std::string rtp(int type, std::uint16_t sequence, std::uint32_t time, const std::string& payload) {
  std::string packet{'\x80', static_cast<char>(type), static_cast<char>(sequence >> 8),
                     static_cast<char>(sequence & 255)};
  for (int shift = 24; shift >= 0; shift -= 8) packet += static_cast<char>(time >> shift & 255U);
  return packet + std::string("\0\0\0\1", 4) + payload;
}

class UdpSocket {
 public:
  explicit UdpSocket(const char* host) : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, host, &address.sin_addr);
    socklen_t size = sizeof address;
    auto* any = static_cast<sockaddr*>(static_cast<void*>(&address));
    if (::bind(fd_.get(), any, size) != 0 || ::getsockname(fd_.get(), any, &size) != 0)
      throw system_error("bind", errno);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] bool received() const {
    char byte = 0;
    return ::recv(fd_.get(), &byte, 1, 0) >= 0;
  }

 private:
  UniqueFd fd_;
  int port_ = 0;
};

class RtspLimits : public WithClip {
 protected:
  static SourceConfig config_of(const RtspCamera& camera, std::chrono::nanoseconds timeout) {
    SourceConfig config = source_of(camera.url(), timeout);
    config.rtsp_transport = RtspTransport::tcp;
    return config;
  }

  static Failure expect_failure(const Behaviour& behaviour, std::chrono::nanoseconds timeout = seconds(2)) {
    const RtspCamera camera(behaviour);
    const PeakMemory memory;
    Failure failure = failure_of(config_of(camera, timeout));
    EXPECT_LT(memory.mib(), most_memory) << failure.text;
    EXPECT_LT(failure.took, timeout + seconds(10)) << failure.text;
    return failure;
  }
};

TEST_F(RtspLimits, HeadersWithoutEnd) {
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "X-" + std::to_string(i) + ": nothing\r\n";
  const Server camera([&](int fd, const std::atomic<bool>& over) {
    read_request(fd);
    send_all(fd, "RTSP/1.0 200 OK\r\n");
    while (!over && send_all(fd, many)) {
    }
  });
  const PeakMemory memory;
  const Failure failure = failure_of(source_of(local("rtsp", camera.port(), "/s"), seconds(2)));
  EXPECT_LT(failure.took, seconds(12));
  EXPECT_LT(memory.mib(), most_memory);
}

TEST_F(RtspLimits, LengthsThatNoAnswerHas) {
  for (const char* length :
       {"-1", "2147483647", "2147483646", "4294967297", "9223372036854775808", "99999999999999999999"}) {
    SCOPED_TRACE(length);
    Behaviour behaviour;
    behaviour.content_length = length;
    behaviour.describe = [piece = std::string(1 << 20, ' ')](int fd) { return send_all(fd, piece); };
    expect_failure(behaviour);
  }
}

TEST_F(RtspLimits, ADescriptionOf50Megabytes) {
  Behaviour behaviour;
  behaviour.description = sdp(h264);
  while (behaviour.description.size() < 50'000'000)
    behaviour.description += "a=source-filter: incl IN IP4 * a a a a a\r\n";
  const Failure failure = expect_failure(behaviour, seconds(20));
  EXPECT_EQ(failure.kind, Kind::unsupported);
  EXPECT_THAT(failure.text, HasSubstr("an answer of 32 KiB"));
}

TEST_F(RtspLimits, DescriptionsOfManyStreams) {
  for (const int count : {2'000, 10'000}) {
    SCOPED_TRACE(count);
    Behaviour behaviour;
    behaviour.description = sdp("");
    for (int i = 0; i < count; ++i) behaviour.description += "m=video 0 RTP/AVP 96\r\n";
    expect_failure(behaviour);
  }
}

TEST_F(RtspLimits, ASessionOfAMegabyte) {
  Behaviour behaviour;
  behaviour.headers = "Session: " + std::string(1 << 20, 'x') + "\r\n";
  expect_failure(behaviour);
}

TEST_F(RtspLimits, ItsStreamsAreAskedForAtNoOtherHost) {
  Web elsewhere;
  Behaviour behaviour;
  behaviour.description =
      sdp("m=video 0 RTP/AVP 33\r\na=control:rtsp://127.0.0.1:" + std::to_string(elsewhere.port()) + "/x\r\n");
  expect_failure(behaviour);
  EXPECT_EQ(elsewhere.asked(), 0);
}

// It may say that its frames come from another host; nothing is sent there.
TEST_F(RtspLimits, NoPacketGoesToAnotherHost) {
  const auto expect = [](const char* host, bool allow_redirects, bool sent) {
    SCOPED_TRACE(host);
    const UdpSocket socket(host);
    Behaviour behaviour;
    behaviour.transport = std::string(";source=") + host + ";server_port=" + std::to_string(socket.port()) + "-" +
                          std::to_string(socket.port() + 1);
    const RtspCamera camera(behaviour);
    SourceConfig config = config_of(camera, seconds(2));
    config.rtsp_transport = RtspTransport::udp;
    config.allow_redirects = allow_redirects;
    failure_of(config);
    EXPECT_EQ(socket.received(), sent);
  };
  expect("127.0.0.1", false, true);
  expect("127.0.0.9", false, false);
  expect("127.0.0.9", true, true);
}

TEST_F(RtspLimits, RedirectsToItself) {
  std::atomic<int> port{0};
  const Server camera([&](int fd, const std::atomic<bool>&) {
    read_request(fd);
    send_all(fd, "RTSP/1.0 302 Moved\r\nCSeq: 1\r\nLocation: " + local("rtsp", port, "/s") + "\r\n\r\n");
  });
  port = camera.port();
  const PeakMemory memory;
  EXPECT_LT(failure_of(source_of(local("rtsp", camera.port(), "/s"), seconds(2))).took, seconds(12));
  EXPECT_LT(memory.mib(), most_memory);
}

TEST_F(RtspLimits, APictureInFragmentsWithoutEnd) {
  Behaviour behaviour;
  std::uint16_t sequence = 0;
  behaviour.send = [&sequence](int fd) {
    const std::string fragment = (sequence == 0 ? "\x7c\x85" : std::string("\x7c\x05")) + std::string(60'000, '\x55');
    return send_all(fd, interleaved(0, rtp(96, sequence++, 90'000, fragment)));
  };
  const Failure failure = expect_failure(behaviour, seconds(30));
  EXPECT_EQ(failure.kind, Kind::unsupported);
  EXPECT_THAT(failure.text, HasSubstr("more than is taken before there is a frame: 32 MiB"));
}

// Whatever comes, it is read, or the camera waits; nothing is kept.
TEST_F(RtspLimits, PacketsThatAreNone) {
  for (const std::string& media : {h264, mpegts, std::string("m=video 0 RTP/AVP 26\r\na=control:video\r\n")}) {
    SCOPED_TRACE(media);
    std::mt19937 random(7);
    Behaviour behaviour;
    behaviour.description = sdp(media);
    behaviour.send = [&random, media](int fd) {
      constexpr std::array<std::size_t, 9> sizes{0, 1, 3, 7, 11, 12, 13, 1500, 65535};
      std::string packet(sizes.at(random() % sizes.size()), '\0');
      for (char& byte : packet) byte = static_cast<char>(random());
      constexpr std::array<char, 4> types{96, 33, 26, '\xc8'};  // and RTCP's
      if (packet.size() > 12 && random() % 4 != 0) {
        packet[0] = '\x80';
        packet[1] = types.at(random() % types.size());
      }
      constexpr std::array<int, 4> channels{0, 1, 2, 200};
      return send_all(fd, interleaved(channels.at(random() % channels.size()), packet));
    };
    const RtspCamera camera(behaviour);
    const PeakMemory memory;
    const Deadline deadline = Clock::now() + seconds(3);
    try {
      const auto source = open_source(config_of(camera, seconds(2)), [&] { return Clock::now() > deadline; });
      count_packets(*source, {1'000'000, 0});
    } catch (const Error&) {
    }
    EXPECT_LT(memory.mib(), most_memory);
    EXPECT_LT(Clock::now(), deadline + seconds(10));
  }
}

// Of real video: the times and numbers of its packets are at random.
std::function<bool(int)> packets_of(int type) {
  return [type, number = std::uint16_t{0}](int fd) mutable {
    std::this_thread::sleep_for(milliseconds(20));
    ++number;
    return send_all(fd, interleaved(0, rtp(type, number, number * 1800U, std::string(100, 'x'))));
  };
}

// What was seen is said: no guess at key frames.
TEST_F(RtspLimits, ACodecThatNobodyKnowsIsNamed) {
  const std::string h266 = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H266/90000\r\na=control:video\r\n";
  const Failure failure = expect_failure({.description = sdp(h266), .send = packets_of(96)});
  EXPECT_THAT(failure.text, HasSubstr("describes its video as 'H266', which FFmpeg does not read by RTP"));
}

TEST_F(RtspLimits, PacketsOfAnotherTypeThanIsDescribedAreNamed) {
  const Failure failure = expect_failure({.send = packets_of(97)});
  EXPECT_THAT(failure.text, HasSubstr("sends RTP packets of payload type 97, and within 2 s (read_timeout) none of the "
                                      "video that it describes"));
}

TEST_F(RtspLimits, TimesAndNumbersThatJump) {
  const std::string clip = bytes_of(file("clip.ts"));
  std::mt19937 random(7);
  std::size_t at = 0;
  Behaviour behaviour;
  behaviour.description = sdp(mpegts);
  behaviour.send = [&](int fd) {
    constexpr std::size_t payload = std::size_t{7} * 188;
    const std::string piece = clip.substr(payload * at++ % clip.size(), payload);
    return send_all(fd, interleaved(0, rtp(33, static_cast<std::uint16_t>(random()), random(), piece)));
  };
  const RtspCamera camera(behaviour);
  const PeakMemory memory;
  const auto source = open_source(config_of(camera, patience), never);
  EXPECT_EQ(count_packets(*source, {100, 0}).video, 100);
  EXPECT_LT(memory.mib(), most_memory);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
