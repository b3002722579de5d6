// FLV whose video libavformat does not know: what is said of it.
#include "stages/sources/flv_video.h"

#include "tests/unit/live_test_support.h"
#include "tests/unit/web.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using testing::HasSubstr;
using testing::Not;
using Kind = SourceError::Kind;

std::string tag(int type, const std::string& data) {
  std::string size;
  for (int shift = 16; shift >= 0; shift -= 8) size += static_cast<char>(data.size() >> shift & 255);
  const std::string head = std::string(1, static_cast<char>(type)) + size + std::string(7, '\0');
  const std::size_t all = head.size() + data.size();
  std::string end;
  for (int shift = 24; shift >= 0; shift -= 8) end += static_cast<char>(all >> shift & 255);
  return head + data + end;
}

std::string flv(const std::string& tags) { return std::string("FLV\x01\x05\0\0\0\x09\0\0\0\0", 13) + tags; }

class FlvVideo : public WithClip {};

TEST_F(FlvVideo, ACodecThatIsNotKnownIsNamed) {
  const std::string sound = tag(8, std::string("\xaf\0\x12\x10", 4));
  for (const auto& [video, text] : std::vector<std::pair<std::string, std::string>>{
           {std::string("\x1c\0\0\0\0\x01", 6) + std::string(40, 'x'), "is FLV with H.265 (codec id 12)"},
           {"\x90hvc1" + std::string(40, 'x'), "is FLV with H.265 (enhanced RTMP, 'hvc1')"},
           {"\x90"
            "av01" +
                std::string(40, 'x'),
            "is FLV with AV1 (enhanced RTMP, 'av01')"},
           {std::string("\x1e\0\0\0\0\x01", 6) + std::string(40, 'x'), "(codec id 14)"}}) {
    if (text.find("enhanced") != std::string::npos && avformat_version() >= AV_VERSION_INT(60, 16, 100)) continue;
    const Server server(answering("HTTP/1.1 200 OK\r\nContent-Type: video/x-flv\r\n\r\n" +
                                  flv(sound + tag(9, std::string("\x52\0", 2)) + tag(9, video) + sound)));
    const Failure failure = failure_of(source_of(local("http", server.port(), "/live.flv")));
    EXPECT_EQ(failure.kind, Kind::unsupported) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr(text));
    EXPECT_THAT(failure.text, HasSubstr("use the camera's RTSP, or let it send H.264"));
  }
}

TEST_F(FlvVideo, AFileIsRefusedWithTheSameWords) {
  replace_file(file("hevc.flv"), flv(tag(9, std::string("\x1c\x01\0\0\0\x01", 6) + std::string(400, 'x'))));
  try {
    open_source(source_of(file("hevc.flv")), never);
    ADD_FAILURE() << "it was opened";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is FLV with H.265 (codec id 12)"));
  }
}

TEST_F(FlvVideo, WhatIsKnownIsRead) {
  run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", "-bsf:a", "aac_adtstoasc", file("clip.flv")});
  Web server;
  server.answer("/clip.flv", found(bytes_of(file("clip.flv"))));
  const auto source = open_source(source_of(server.url("/clip.flv")), never);
  expect_clip(*source);
  EXPECT_EQ(count_packets(*source, {1000, 1000}).video, 100);
}

TEST_F(FlvVideo, CutOffItSaysNothing) {
  const std::string all = flv(tag(8, "abc") + tag(9, "\x90hvc1"));
  for (std::size_t size = 0; size + 20 < all.size(); ++size) {
    Web server;
    server.answer("/x.flv", found(all.substr(0, size)));
    EXPECT_THAT(failure_of(source_of(server.url("/x.flv"))).text, Not(HasSubstr("H.265"))) << size;
    size += 4;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
