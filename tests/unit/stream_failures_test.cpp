// Live sources whose peers refuse, stay silent or speak another language.
#include "core/clock.h"
#include "core/error.h"
#include "stages/sources/source_errors.h"
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

class StreamFailures : public WithClip {};

TEST_F(StreamFailures, NobodyListens) {
  for (const std::string scheme : {"rtsp", "http", "tcp"}) {
    const Failure failure =
        failure_of(source_of(scheme + "://me:hunter2@127.0.0.1:" + std::to_string(test::free_port()) + "/stream1"));
    EXPECT_EQ(failure.kind, Kind::refused) << failure.text;
    EXPECT_THAT(failure.text, AllOf(HasSubstr("refuses the connection"), Not(HasSubstr("hunter2"))));
  }
}

TEST_F(StreamFailures, ACaptureDeviceThatIsNotThere) {
  const Failure failure = failure_of(source_of("/dev/video777"));
  EXPECT_EQ(failure.kind, Kind::refused) << failure.text;  // tried again soon: it may be plugged in any moment
  EXPECT_THAT(failure.text, AllOf(HasSubstr("/dev/video777 is not there"), HasSubstr("plugged in")));
}

TEST_F(StreamFailures, PeersThatNeverAnswerTimeOut) {
  const Server silent(test::stay_silent);
  for (const std::string scheme : {"rtsp", "rtsps", "http", "https", "tcp"}) {
    const Failure failure = failure_of(source_of(local(scheme, silent.port(), "/s"), milliseconds(700)));
    EXPECT_EQ(failure.kind, Kind::timed_out) << scheme << ": " << failure.text;
    EXPECT_LT(failure.took, seconds(10)) << scheme;
    EXPECT_GE(failure.took, milliseconds(600)) << scheme;
  }
  for (const std::string scheme : {"udp", "srt", "rtp"}) {
    if (scheme == "udp" && !test::udp_is_closed) continue;
    const Failure failure = failure_of(source_of(local(scheme, test::free_port(SOCK_DGRAM)), milliseconds(700)));
    EXPECT_EQ(failure.kind, Kind::timed_out) << scheme << ": " << failure.text;
    EXPECT_LT(failure.took, seconds(10)) << scheme;
  }
}

// It always has something to say, and never comes to the point.
TEST_F(StreamFailures, PeersThatSendAByteNowAndThenTimeOut) {
  const std::string record{"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc", 9};  // of TLS, of 16 KiB
  const Server slow([&](int fd, const std::atomic<bool>& over) {
    test::send_all(fd, record);
    while (!over && test::send_all(fd, std::string(1, '\0'))) std::this_thread::sleep_for(milliseconds(10));
  });
  for (const std::string scheme : {"rtsp", "rtsps", "http", "https", "tcp"}) {
    const Failure failure = failure_of(source_of(local(scheme, slow.port(), "/s"), milliseconds(1000)));
    EXPECT_LT(failure.took, seconds(8)) << scheme << ": " << failure.text;
  }
}

TEST_F(StreamFailures, OpeningIsInterrupted) {
  const Server silent(test::stay_silent);
  for (const std::string scheme : {"rtsp", "rtsps", "http", "https", "tcp", "udp", "srt", "rtp"}) {
    if (scheme == "udp" && !test::udp_is_closed) continue;
    const auto begin = Clock::now();
    const auto interrupt = [&] { return Clock::now() > begin + milliseconds(300); };
    try {
      open_source(source_of(local(scheme, silent.port(), "/s")), interrupt);
      ADD_FAILURE() << scheme;
    } catch (const SourceError& error) {
      ADD_FAILURE() << scheme << ": " << error.what();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("interrupted"));
    }
    EXPECT_LT(Clock::now() - begin, seconds(10)) << scheme;
  }
}

TEST_F(StreamFailures, ReadingIsInterrupted) {
  if (!test::udp_is_closed) GTEST_SKIP() << "ThreadSanitizer ends the program where UDP is closed";
  const int port = test::free_port(SOCK_DGRAM);
  auto sender = std::make_unique<Program>(this->sender({local("udp", port)}));
  std::atomic<bool> stop{false};
  const auto source = open_source(source_of(local("udp", port)), [&] { return stop.load(); });
  sender.reset();
  const AvPacket packet = make_av_packet();
  ReadResult result = ReadResult::packet;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(milliseconds(300));
    stop = true;
  });
  while (result == ReadResult::packet || result == ReadResult::audio) {
    av_packet_unref(packet.get());
    result = source->read(*packet);
  }
  EXPECT_EQ(result, ReadResult::interrupted);
}

TEST_F(StreamFailures, AnswersOfServersHaveTheirMeaning) {
  struct Case {
    std::string scheme, answer;
    Kind kind;
  };
  for (const Case& c :
       {Case{"http", "HTTP/1.0 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\r\n", Kind::unauthorized},
        {"http", "HTTP/1.0 403 Forbidden\r\n\r\n", Kind::unauthorized},
        {"http", "HTTP/1.0 404 Not Found\r\n\r\n", Kind::not_found},
        {"http", "HTTP/1.0 503 Busy\r\n\r\n", Kind::refused},
        {"http", "HTTP/1.0 200 OK\r\nContent-Length: 22\r\n\r\n<html>no video</html>\n", Kind::unsupported},
        {"rtsp", "RTSP/1.0 401 Unauthorized\r\nCSeq: 1\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\r\n",
         Kind::unauthorized},
        {"rtsp", "RTSP/1.0 404 Not Found\r\nCSeq: 1\r\n\r\n", Kind::not_found},
        {"rtsp", "RTSP/1.0 453 Not Enough Bandwidth\r\nCSeq: 1\r\n\r\n", Kind::refused},
        {"rtsp", "what?", Kind::lost}}) {
    const Server server(test::answering(c.answer, c.answer.starts_with("RTSP") ? 10 : 1));
    SourceConfig config = source_of(c.scheme + "://me:hunter2@127.0.0.1:" + std::to_string(server.port()) + "/s");
    const Failure failure = failure_of(config);
    EXPECT_EQ(name_of(failure.kind), std::string(name_of(c.kind))) << c.answer << failure.text;
    EXPECT_THAT(failure.text, AllOf(HasSubstr("127.0.0.1"), Not(HasSubstr("hunter2"))));
    EXPECT_LT(failure.took, seconds(10)) << c.answer;
  }
}

// What may help comes behind what was seen, as a question.
TEST_F(StreamFailures, SayFirstWhatWasSeen) {
  const ReadWatch watch(never);
  const LibavMessages messages = source_messages();
  const std::vector<std::pair<int, std::string>> texts{
      {AVERROR(ECONNREFUSED), "cam refuses the connection (is "},
      {AVERROR(EHOSTUNREACH), "cam cannot be reached: No route to host (is "},
      {AVERROR(ENETUNREACH), "cam cannot be reached: Network is unreachable (has "},
      {AVERROR(EADDRINUSE), "cam cannot be listened to: Address already in use (has "},
      {AVERROR(EADDRNOTAVAIL), "cam cannot be listened to, or reached from here: Cannot assign requested address (is "},
      {AVERROR(EACCES), "cam cannot be opened: Permission denied (does "},
      {AVERROR(ETIMEDOUT), "cam does not answer: Connection timed out (is "},
      {AVERROR_INVALIDDATA, "cam sends what FFmpeg cannot read: Invalid data (is "},
      {AVERROR_EOF, "cam closes the connection before there is any video"},
      {AVERROR(EPROTO), "cam cannot be opened: Protocol error"},
  };
  for (const auto& [code, text] : texts)
    EXPECT_THAT(opening_error(code, "cam", watch, messages, nullptr).what(), testing::StartsWith(text));
}

TEST_F(StreamFailures, PeerThatClosesAtOnceIsLost) {
  const Server server([](int /*fd*/, const std::atomic<bool>& /*over*/) {});
  for (const std::string scheme : {"rtsp", "rtsps", "http", "https", "tcp"}) {
    const Failure failure = failure_of(source_of(local(scheme, server.port(), "/s")));
    EXPECT_EQ(failure.kind, Kind::lost) << failure.text;
  }
}

TEST_F(StreamFailures, NameThatIsNotKnown) {
  const Failure failure = failure_of(source_of("rtsp://me:hunter2@no-such-camera.invalid/s"));
  EXPECT_EQ(failure.kind, Kind::refused);
  EXPECT_THAT(failure.text, HasSubstr("no-such-camera.invalid"));
}

TEST_F(StreamFailures, WrongPassphraseOfSrt) {
  const int port = free_port(SOCK_DGRAM);
  const Program sender(this->sender({local("srt", port, "?mode=listener&passphrase=correct-horse&pbkeylen=16")}));
  const auto deadline = Clock::now() + patience;
  Failure failure;
  do {
    failure = failure_of(source_of(local("srt", port, "?passphrase=wrong-horse"), seconds(2)));
  } while (failure.kind == Kind::timed_out && Clock::now() < deadline);
  EXPECT_EQ(failure.kind, Kind::refused);
  EXPECT_THAT(failure.text,
              AllOf(HasSubstr("ends the connection while it is made, and does not say why (are passphrase"),
                    Not(HasSubstr("wrong-horse"))));
}

TEST_F(StreamFailures, RtpWithoutDescriptionIsUnsupported) {
  const int port = test::free_port(SOCK_DGRAM);
  const Program sender({"ffmpeg", "-hide_banner", "-loglevel", "fatal", "-re", "-stream_loop", "-1", "-i",
                        file("clip.ts"), "-an", "-c", "copy", "-f", "rtp", local("rtp", port)});
  const Failure failure = failure_of(source_of(local("rtp", port)));
  EXPECT_EQ(failure.kind, Kind::unsupported);
  EXPECT_THAT(failure.text, HasSubstr("use rtsp://"));
}

TEST_F(StreamFailures, CertificatesAreChecked) {
  ASSERT_EQ(Program({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                     "-days", "2", "-subj", "/CN=camera", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                     file("key.pem"), "-out", file("cert.pem"), "-batch"})
                .wait(),
            0);
  // Whoever gets as far as a request does not find it.
  Program server({"python3", "-u", "-c", R"(
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1])
while True:
    try:
        with context.wrap_socket(listener.accept()[0], server_side=True) as peer:
            request = peer.recv(4096).decode()
            protocol = 'RTSP/1.0' if 'RTSP' in request else 'HTTP/1.0'
            peer.sendall((protocol + ' 404 Not Found\r\nCSeq: 1\r\n\r\n').encode())
    except OSError:
        pass
)",
                  file("cert.pem"), file("key.pem")});
  const int port = std::stoi(server.first_line());
  for (const std::string scheme : {"https", "rtsps"}) {
    SourceConfig config = source_of(local(scheme, port, "/s"));
    const Failure untrusted = failure_of(config);
    EXPECT_EQ(untrusted.kind, Kind::unauthorized) << untrusted.text;
    EXPECT_THAT(untrusted.text, AllOf(HasSubstr("certificate"), HasSubstr("ca_file")));
    config.ca_file = file("cert.pem");
    EXPECT_EQ(failure_of(config).kind, Kind::not_found) << scheme;
    SourceConfig by_name = config;
    by_name.url = scheme + "://localhost:" + std::to_string(port) + "/s";
    EXPECT_EQ(failure_of(by_name).kind, Kind::unauthorized) << scheme;
    config.ca_file.clear();
    config.verify_certificate = false;
    EXPECT_EQ(failure_of(config).kind, Kind::not_found) << scheme;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
