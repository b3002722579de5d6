// Cameras that have a single picture at their URL, which is fetched again and again.
#include "stages/sources/jpeg_picture.h"
#include "stages/sources/single_picture.h"
#include "stages/sources/source_end.h"
#include "tests/unit/live_test_support.h"
#include "tests/unit/rtsp_camera.h"
#include "tests/unit/web.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = SourceError::Kind;

class SinglePictures : public WithClip {
 protected:
  static void SetUpTestSuite() {
    WithClip::SetUpTestSuite();
    run_ffmpeg({"-i", file("clip.ts"), "-frames:v", "3", file("picture%d.jpg")});
    run_ffmpeg({"-i", file("clip.ts"), "-frames:v", "1", "-s", "160x120", file("small.jpg")});
  }
  static std::string picture(int number) { return bytes_of(file("picture" + std::to_string(number) + ".jpg")); }
  static std::string sent(const std::string& body, const std::string& type, bool length = true) {
    return "HTTP/1.1 200 OK\r\nConnection: close\r\n" + (type.empty() ? "" : "Content-Type: " + type + "\r\n") +
           (length ? "Content-Length: " + std::to_string(body.size()) + "\r\n" : "") + "\r\n" + body;
  }
  static SourceConfig config_of(const Server& server, double rate) {
    SourceConfig config = source_of(local("http", server.port(), "/snapshot.cgi?user=a"));
    config.capture.rate = rate;
    return config;
  }
};

TEST_F(SinglePictures, AreFetchedAtTheRate) {
  for (const auto& [type, length] : std::vector<std::pair<std::string, bool>>{
           {"image/jpeg", true}, {"image/jpeg", false}, {"application/octet-stream", true}, {"", true}, {"", false}}) {
    std::atomic<int> asked{0};
    const Server camera([&](int fd, const std::atomic<bool>&) {
      read_request(fd);
      send_all(fd, sent(picture(++asked % 3 + 1), type, length));
    });
    const auto begin = Clock::now();
    const auto source = open_source(config_of(camera, 20), never);
    EXPECT_EQ(source->stream().decoder, "mjpeg");
    EXPECT_EQ(source->stream().codec->width, 320);
    EXPECT_EQ(source->stream().codec->format, AV_PIX_FMT_YUVJ420P);
    EXPECT_TRUE(source->asks_for_each());
    EXPECT_FALSE(source->stream().finite);
    const AvPacket packet = make_av_packet();
    std::vector<std::int64_t> times;
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(source->read(*packet), ReadResult::packet) << type;
      const std::string data(packet->data, packet->data + packet->size);
      EXPECT_TRUE(data == picture(1) || data == picture(2) || data == picture(3)) << type;
      EXPECT_NE(packet->flags & AV_PKT_FLAG_KEY, 0);
      times.push_back(packet->pts);
      av_packet_unref(packet.get());
    }
    EXPECT_TRUE(std::ranges::is_sorted(times, std::ranges::less_equal()));
    // Never faster than the rate; a loaded machine may be slower.
    EXPECT_GE(Clock::now() - begin, milliseconds(50) * 9);
    EXPECT_LE(asked, 12);
  }
}

TEST_F(SinglePictures, OneASecondWithoutARate) {
  SourceConfig config = source_of("http://10.0.0.11/snapshot.jpg");
  EXPECT_EQ(picture_interval(config), seconds(1));
  config.capture.rate = 0.5;
  EXPECT_EQ(longest_pause(config), seconds(2));
  config.url = "rtsp://10.0.0.11/s";
  EXPECT_EQ(longest_pause(config), seconds(0));
}

TEST_F(SinglePictures, AClipOfPicturesIsNone) {
  run_ffmpeg({"-i", file("clip.ts"), "-frames:v", "30", "-c:v", "mjpeg", "-f", "mjpeg", file("clip.mjpeg")});
  Web server;
  server.answer("/clip.mjpeg", found(bytes_of(file("clip.mjpeg"))));
  const auto source = open_source(source_of(server.url("/clip.mjpeg")), never);
  EXPECT_EQ(count_packets(*source, {100, 0}).video, 30);
  EXPECT_EQ(server.asked(), 1);
}

TEST_F(SinglePictures, WaitingIsInterrupted) {
  const Server camera(answering(sent(picture(1), "image/jpeg"), 100));
  std::atomic<bool> stop{false};
  const auto source = open_source(config_of(camera, 1.0 / 3600), [&] { return stop.load(); });
  const AvPacket packet = make_av_packet();
  ASSERT_EQ(source->read(*packet), ReadResult::packet);
  av_packet_unref(packet.get());
  std::jthread stopper([&] {
    std::this_thread::sleep_for(milliseconds(200));
    stop = true;
  });
  EXPECT_EQ(source->read(*packet), ReadResult::interrupted);
}

TEST_F(SinglePictures, WhatIsNoPictureAnyMoreIsAnError) {
  struct Case {
    std::string second;
    Kind kind;
    std::string text;
  };
  const std::string half = picture(1).substr(0, picture(1).size() / 2);
  for (const Case& c :
       {Case{sent("<html>log in</html>", "text/html"), Kind::lost,
             "something else than a JPEG picture (Content-Type: text/html)"},
        {sent(half, "image/jpeg"), Kind::lost, "closes the connection within a picture"},
        {sent(bytes_of(file("small.jpg")), "image/jpeg"), Kind::lost, "another size"},
        {"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n", Kind::not_found, "answers GET with 404 Not Found"}}) {
    std::atomic<int> asked{0};
    const Server camera([&](int fd, const std::atomic<bool>&) {
      read_request(fd);
      send_all(fd, ++asked <= 2 ? sent(picture(1), "image/jpeg") : c.second);
    });
    const auto source = open_source(config_of(camera, 100), never);
    try {
      count_packets(*source, {100, 0});
      ADD_FAILURE() << "nothing failed: " << c.text;
    } catch (const SourceError& error) {
      EXPECT_EQ(error.kind, c.kind) << error.what();
      EXPECT_THAT(error.what(), AllOf(HasSubstr(c.text), HasSubstr("/snapshot.cgi"), Not(HasSubstr("user=a"))));
    }
  }
}

TEST_F(SinglePictures, ThatDoNotComeTimeOut) {
  std::atomic<int> asked{0};
  const Server camera([&](int fd, const std::atomic<bool>& over) {
    read_request(fd);
    if (++asked <= 2) {
      send_all(fd, sent(picture(1), "image/jpeg"));
    } else {
      stay_silent(fd, over);
    }
  });
  SourceConfig config = config_of(camera, 100);
  config.read_timeout = milliseconds(700);
  try {
    count_packets(*open_source(config, never), {100, 0});
    ADD_FAILURE();
  } catch (const SourceError& error) {
    EXPECT_EQ(error.kind, Kind::timed_out);
    EXPECT_THAT(error.what(), HasSubstr("sends no picture within 0.7 s (read_timeout)"));
  }
}

TEST_F(SinglePictures, TheEndOfOneIsFound) {
  const std::string all = picture(1) + picture(2);
  const auto one = find_jpeg(all);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->size, picture(1).size());
  EXPECT_EQ(one->width, 320);
  EXPECT_EQ(one->height, 240);
  for (std::size_t size = 0; size < picture(1).size(); ++size) EXPECT_FALSE(find_jpeg(all.substr(0, size))) << size;
  EXPECT_FALSE(find_jpeg("GIF89a"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
