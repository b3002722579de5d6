// Sources as they are written, and what is shown of them; the capture times of packets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/passwords.h"
#include "stages/sources/capture_clock.h"
#include "stages/sources/source.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_end.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(CaptureTime, IsUtcInNanoseconds) {
  const AvPacket packet = make_av_packet();
  EXPECT_EQ(capture_time(*packet), std::nullopt);
  std::uint8_t* data = av_packet_new_side_data(packet.get(), AV_PKT_DATA_PRFT, sizeof(AVProducerReferenceTime));
  ASSERT_NE(data, nullptr);
  auto& reference = *static_cast<AVProducerReferenceTime*>(static_cast<void*>(data));
  reference = {.wallclock = 1'700'000'000'123'456, .flags = 24};
  EXPECT_EQ(capture_time(*packet), 1'700'000'000'123'456'000);
  reference.wallclock = -2'208'988'000'000'000;  // a camera that does not know the time
  EXPECT_EQ(capture_time(*packet), std::nullopt);
}

TEST(CaptureTime, OutlivesTheEndOfRtpsCounter) {
  constexpr AVRational time_base{1, 90000};
  constexpr std::int64_t begin = 1'700'000'000'000'000;
  constexpr std::int64_t period = 47'721'858'844;  // microseconds in which 32 bits are counted through
  RtpCaptureClock clock;
  for (int i = 0; i < 100; ++i) {
    const AvPacket packet = make_av_packet();
    packet->pts = std::int64_t{i} * 90000;
    const std::int64_t right = begin + std::int64_t{i} * 1'000'000;
    const bool miscounted = i >= 40 && i < 60;
    std::uint8_t* data = av_packet_new_side_data(packet.get(), AV_PKT_DATA_PRFT, sizeof(AVProducerReferenceTime));
    *static_cast<AVProducerReferenceTime*>(static_cast<void*>(data)) = {
        .wallclock = miscounted ? right - period : right, .flags = 24};
    clock.mend(*packet, time_base);
    EXPECT_NEAR(static_cast<double>(*capture_time(*packet) - right * 1000), 0, 2000) << i;
  }
}

TEST(CaptureTime, StaysWhereTimeStampsLeapAsFarAsTheyCan) {
  RtpCaptureClock clock;
  for (const std::int64_t pts : {std::int64_t{0}, std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::min() + 1, std::int64_t{5}}) {
    const AvPacket packet = make_av_packet();
    packet->pts = pts;
    std::uint8_t* data = av_packet_new_side_data(packet.get(), AV_PKT_DATA_PRFT, sizeof(AVProducerReferenceTime));
    *static_cast<AVProducerReferenceTime*>(static_cast<void*>(data)) = {.wallclock = 1'700'000'000'000'000,
                                                                        .flags = 24};
    clock.mend(*packet, {1, 90000});
    EXPECT_EQ(capture_time(*packet), 1'700'000'000'000'000'000) << pts;
  }
}

TEST(SourceAddress, LiveOrNot) {
  for (const char* url : {"rtsp://a/b", "RTSPS://a", "http://a", "https://a", "srt://a:1", "udp://:1", "rtp://a:1",
                          "tcp://a:1", "/dev/video0", "/dev/v4l/by-id/usb-cam"}) {
    EXPECT_TRUE(is_live(url)) << url;
  }
  for (const char* url : {"clip.mp4", "/a/b.mp4", "test://pattern", "img%d.png"}) EXPECT_FALSE(is_live(url)) << url;
}

// libavformat knows schemes in small letters alone.
TEST(SourceAddress, SchemesMayBeWrittenInCapitals) {
  EXPECT_EQ(with_small_scheme("RTSP://Ann:A%2FB@Host/S"), "rtsp://Ann:A%2FB@Host/S");
  EXPECT_EQ(with_small_scheme("Video.MP4"), "Video.MP4");
}

TEST(SourceAddress, MistakesAreToldWithoutPasswords) {
  for (const char* url : {"rtsp://10.0.0.11/stream1", "rtsp://u:p%40ss@[fe80::1]:554/s", "udp://:5000",
                          "udp://@239.0.0.1:5000", "srt://:9000?mode=listener", "https://host/live.m3u8?token=1"}) {
    EXPECT_EQ(check_source(url), std::nullopt) << url;
  }
  EXPECT_THAT(*check_source("rstp://host/s"), HasSubstr("did you mean 'rtsp'?"));
  EXPECT_THAT(*check_source("rtmp://u:hunter2@host/s"), Not(HasSubstr("hunter2")));
  EXPECT_THAT(*check_source("rtsp:///stream1"), HasSubstr("has no host"));
  EXPECT_THAT(*check_source("udp://239.0.0.1"), HasSubstr("has no port"));
  EXPECT_THAT(*check_source("rtsp://host:99999/s"), HasSubstr("port"));
  EXPECT_THAT(*check_source("http://[::1/x"), HasSubstr("'[' without ']'"));
  EXPECT_THAT(*check_source("rtsp://user:hun/ter2@host/s"), AllOf(HasSubstr("%2F"), Not(HasSubstr("ter2"))));
}

TEST(SourceAddress, APasswordThatEndsTheHostIsRecognised) {
  for (const char* url : {"rtsp://viewer:2024/hunter2@10.0.0.11/cam", "rtsp://viewer:1234?hunter2@127.0.0.1:554/cam",
                          "https://viewer:12#hunter2@camera.local/live", "rtsp://ann.lee:2024/hunter2@10.0.0.11/cam",
                          "rtsps://viewer:2024/hun@ter2@camera.local/s"}) {
    EXPECT_THAT(check_source(url).value_or(""), AllOf(HasSubstr("'@' behind its host and port"), HasSubstr("'/' %2F"),
                                                      Not(HasSubstr("ter2")), Not(HasSubstr("2024"))))
        << url;
  }
  for (const char* url : {"rtsp://10.0.0.11:554/ann@home/cam", "rtsp://[fe80::1]:554/a@b", "http://camera/a@b",
                          "http://localhost:8080/a@b", "http://camera.local:8080/a@b", "rtsp://ann:1234@camera/a@b",
                          "http://camera:8080/a%40b"}) {
    EXPECT_EQ(check_source(url), std::nullopt) << url;
  }
}

TEST(SourceAddress, WhatSrtDoesNotTakeIsTold) {
  for (const char* url : {"srt://10.0.0.11:9000?passphrase=0123456789", "srt://:9000?mode=listener&pbkeylen=32",
                          "srt://10.0.0.11:9000?mode=rendezvous&passphrase=a%26b%23c%2Bd%25e+f"}) {
    EXPECT_EQ(check_source(url), std::nullopt) << url;
  }
  const std::string of_size = "has 5 characters; SRT takes 10 to 79";
  EXPECT_THAT(check_source("srt://10.0.0.11:9000?passphrase=short").value_or(""),
              AllOf(HasSubstr(of_size), Not(HasSubstr("short"))));
  EXPECT_THAT(check_source("srt://10.0.0.11:9000?passphrase=a%26%26%26%26&mode=caller").value_or(""),
              HasSubstr(of_size));
  EXPECT_THAT(check_source("srt://10.0.0.11:9000?passphrase=").value_or(""), HasSubstr("has 0 characters"));
  EXPECT_THAT(check_source("srt://10.0.0.11:9000?passphrase=" + std::string(80, 'x')).value_or(""),
              HasSubstr("has 80 characters"));
  EXPECT_THAT(check_source("srt://10.0.0.11:9000?pbkeylen=128").value_or(""), HasSubstr("16, 24 or 32"));
  EXPECT_THAT(check_source("srt://:9000?mode=server").value_or(""), HasSubstr("caller, listener or rendezvous"));
}

TEST(SourceAddress, AnAddressWithoutItsSchemeIsRecognised) {
  for (const auto& [given, meant] :
       std::vector<std::pair<std::string, std::string>>{{"10.0.0.11", "rtsp://10.0.0.11)"},
                                                        {"10.0.0.11/stream1", "rtsp://10.0.0.11/…)"},
                                                        {"10.0.0.11:8554/stream1", "rtsp://10.0.0.11:8554/…)"},
                                                        {"camera.local/stream", "rtsp://camera.local/…)"},
                                                        {"localhost:8554/cam", "rtsp://localhost:8554/…)"},
                                                        {"ada:hunter2@camera.local/stream", "rtsp://camera.local/…)"},
                                                        {"ada:hunter2@10.0.0.11", "rtsp://10.0.0.11)"},
                                                        {"[fe80::1]/stream", "rtsp://[fe80::1]/…)"}}) {
    EXPECT_THAT(check_source(given).value_or(""), HasSubstr("is it a camera? Then write " + meant)) << given;
  }
  for (const char* path : {"clip.mp4", "clips/day.1/clip.mp4", "./clip.mp4", "../clip.mp4", "/mnt/10.0.0.11/clip.mp4",
                           "missing", "img%d.png"}) {
    EXPECT_THAT(check_source(path).value_or("no"), Not(HasSubstr("is it a camera?"))) << path;
  }
}

// Cameras are unplugged, and plugged in later.
TEST(SourceAddress, OfACaptureDeviceTheNameAloneIsChecked) {
  for (const char* path : {"/dev/video77", "/dev/v4l/by-id/usb-Acme_Camera-video-index0"}) {
    EXPECT_EQ(check_source(path), std::nullopt) << path;
  }
  for (const char* path :
       {"/dev/video", "/dev/videox", "/dev/video0/", "/dev/video-1", "/dev/v4l/", "/dev/v4l/by-id/"}) {
    EXPECT_THAT(check_source(path).value_or(""), HasSubstr("no name of a capture device")) << path;
  }
}

TEST(SourceAddress, WithoutPassword) {
  EXPECT_EQ(shown_url("rtsp://user:pass@host:554/a?b=c"), "rtsp://host:554/a");
  EXPECT_EQ(shown_url("rtsp://user:p@ss@host/a"), "rtsp://host/a");
  EXPECT_EQ(shown_url("http://host/a@b"), "http://host/a@b");
  EXPECT_EQ(shown_url("srt://host:1?mode=caller&passphrase=secret&x=1"), "srt://host:1");
  EXPECT_EQ(shown_url("srt://host:1?streamid=it's mine&x=1"), "srt://host:1");
  EXPECT_EQ(shown_url("rtsp://user:p?ss@host/a?x=1#y"), "rtsp://host/a");
  EXPECT_EQ(shown_url("test://pattern?width=320"), "test://pattern?width=320");
  EXPECT_EQ(shown_url("what?.mp4"), "what?.mp4");
  EXPECT_EQ(redact_urls("cannot open 'http://u:p@h/a.ts?sig=abc#x' (srt://h:1?streamid=s), or 'b?.mp4'"),
            "cannot open 'http://h' (srt://h:1 or 'b?.mp4'");
  SourceConfig config;
  config.url = "http://ada:hunter2@host/token-7351/live.m3u8?key=k";
  config.written = "http://ada:${PASSWORD}@host/${TOKEN}/live.m3u8?key=${KEY}";
  EXPECT_EQ(shown_url(config), "http://host/${TOKEN}/live.m3u8");
  config.url = "rtsp://ada:hunter2@host/token-7351";
  config.written = "${CAMERA}";
  EXPECT_EQ(shown_url(config), "${CAMERA}");
  EXPECT_EQ(shown_url("/a/clip.mp4"), "/a/clip.mp4");
  EXPECT_EQ(without_passwords("keepalive request failed for 'http://u:p@h/a.ts' when opening url"),
            "keepalive request failed for 'http://h/a.ts' when opening url");
}

TEST(SourceAddress, SameOrigin) {
  const std::string camera = "http://user:pass@cam.example/live";
  for (const char* same : {"http://cam.example/", "HTTP://CAM.example:80/x?y", "http://other@cam.example:80#z"}) {
    EXPECT_TRUE(same_origin(camera, same)) << same;
  }
  for (const char* other :
       {"https://cam.example/", "http://cam.example:81/", "http://cam.example.org/", "http://cam.example@127.0.0.1/",
        "http://cam.example:8x/", "http://cam.example:80@127.0.0.1/", "http://127.0.0.1\\@cam.example:81/",
        "http:/cam.example/", "file:///etc/passwd", "cam.example", "", "gopher://cam.example/"}) {
    EXPECT_FALSE(same_origin(camera, other)) << other;
  }
  EXPECT_TRUE(same_origin("https://[::1]/", "https://[::1]:443/a"));
  EXPECT_FALSE(same_origin("file:///a", "file:///a"));  // nothing that a source comes from by a network
}

TEST(SourceAddress, Redirected) {
  const std::string url = "http://user:pass@cam:81/folder/live?x=1";
  EXPECT_EQ(redirected(url, "/other"), "http://user:pass@cam:81/other");
  EXPECT_EQ(redirected(url, "other?y"), "http://user:pass@cam:81/folder/other?y");
  EXPECT_EQ(redirected("http://cam", "other"), "http://cam/other");
  EXPECT_EQ(redirected(url, "http://cam:81/b"), "http://user:pass@cam:81/b");
  EXPECT_EQ(redirected(url, "//cam:81/b"), "http://user:pass@cam:81/b");
  EXPECT_EQ(redirected(url, "http://evil/b"), "http://evil/b");  // without the password
  EXPECT_EQ(redirected(url, "//evil/b"), "http://evil/b");
}

TEST(SourceEnd, IsOfFilesAndOfWhatIsReadOverHttp) {
  for (const char* url : {"a.mp4", "/dev/shm/a.h264", "test://pattern?frames=1", "http://cam/a.mp4",
                          "HTTPS://u:p@cam:8443/a/index.m3u8"}) {
    EXPECT_TRUE(can_end({.url = url})) << url;
  }
  for (const char* url : {"test://pattern", "test://pattern?width=320&frames=0", "rtsp://cam/http", "rtsps://cam/1",
                          "srt://cam:9000", "udp://239.0.0.1:5000", "/dev/video0"}) {
    EXPECT_FALSE(can_end({.url = url})) << url;
  }
  EXPECT_FALSE(can_end({.url = "a.mp4", .loop = true}));
  EXPECT_FALSE(can_end({.url = "test://pattern?frames=1", .loop = true}));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
