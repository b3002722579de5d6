// Servers that send their reader elsewhere, and what is sent instead of video. "Elsewhere" is a real server, which
// counts what it is asked.
#include "tests/unit/live_test_support.h"
#include "tests/unit/web.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = SourceError::Kind;

class SourceRedirect : public WithClip {
 protected:
  static std::string clip() { return bytes_of(file("clip.ts")); }

  // That it fails, says how that could be allowed, and did not ask `elsewhere`.
  void expect_refused(const std::string& url) {
    const Failure failure = failure_of(source_of(url));
    EXPECT_EQ(failure.kind, Kind::unsupported) << failure.text;
    EXPECT_THAT(failure.text, AllOf(HasSubstr("allow_redirects: true"), HasSubstr(std::to_string(elsewhere.port())),
                                    Not(HasSubstr("token"))));
    EXPECT_EQ(elsewhere.asked(), 0);
    EXPECT_LT(failure.took, seconds(30));
  }

  Web camera;
  Web elsewhere;
};

TEST_F(SourceRedirect, AnAnswerThatLeadsElsewhereIsNotFollowed) {
  camera.answer("/live?token=1", moved(elsewhere.url("/admin?token=2")));
  expect_refused(camera.url("/live?token=1"));
}

TEST_F(SourceRedirect, OnItsOwnHostItIsFollowed) {
  camera.answer("/live", moved("/two"));
  camera.answer("/two", moved(camera.url("/folder/three")));
  camera.answer("/folder/three", moved("clip.ts"));
  camera.answer("/folder/clip.ts", found(clip()));
  const auto source = open_source(source_of(camera.url("/live")), never);
  expect_clip(*source);
  EXPECT_EQ(count_packets(*source, {50, 0}).video, 50);
}

TEST_F(SourceRedirect, ButNotForEver) {
  camera.answer("/live", moved("/live"));
  EXPECT_LT(failure_of(source_of(camera.url("/live"))).took, seconds(30));
  EXPECT_LT(camera.asked(), 20);
}

TEST_F(SourceRedirect, WhereItIsAllowedItIsFollowedAnywhere) {
  camera.answer("/live", moved(elsewhere.url("/clip.ts")));
  elsewhere.answer("/clip.ts", found(clip()));
  SourceConfig config = source_of(camera.url("/live"));
  config.allow_redirects = true;
  expect_clip(*open_source(config, never));
  EXPECT_GT(elsewhere.asked(), 0);
}

TEST_F(SourceRedirect, PiecesOfAPlaylistAreOfItsHost) {
  camera.answer("/live.m3u8", playlist("#EXTINF:4,\n" + elsewhere.url("/a.ts?token=3") + "\n"));
  expect_refused(camera.url("/live.m3u8"));
}

TEST_F(SourceRedirect, APieceThatLeadsElsewhereIsNotFollowed) {
  camera.answer("/live.m3u8", playlist("#EXTINF:4,\na.ts\n"));
  camera.answer("/a.ts", moved(elsewhere.url("/a.ts")));
  expect_refused(camera.url("/live.m3u8"));
}

TEST_F(SourceRedirect, NorAPlaylistInAPlaylist) {
  camera.answer("/all.m3u8", found("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\n" + elsewhere.url("/a.m3u8") + "\n"));
  expect_refused(camera.url("/all.m3u8"));
}

TEST_F(SourceRedirect, NorAKey) {
  camera.answer("/live.m3u8",
                playlist("#EXT-X-KEY:METHOD=AES-128,URI=\"" + elsewhere.url("/key") + "\"\n#EXTINF:4,\na.ts\n"));
  camera.answer("/a.ts", found(clip()));
  expect_refused(camera.url("/live.m3u8"));
}

TEST_F(SourceRedirect, NorAnEncryptedPiece) {
  const std::string key = "#EXT-X-KEY:METHOD=AES-128,URI=\"key\",IV=0x00000000000000000000000000000001\n";
  camera.answer("/live.m3u8", playlist(key + "#EXTINF:4,\na.ts\n"));
  camera.answer("/key", found("0123456789abcdef"));
  camera.answer("/a.ts", moved(elsewhere.url("/a.ts")));
  expect_refused(camera.url("/live.m3u8"));
}

TEST_F(SourceRedirect, FilesOfThisMachineAreNoPieces) {
  for (const std::string& url :
       {"file://" + file("clip.ts"), file("clip.ts"), "tcp://127.0.0.1:" + std::to_string(elsewhere.port()),
        std::string("concat:/etc/passwd|/etc/passwd"), std::string("data:text/plain,hello")}) {
    camera.answer("/live.m3u8", playlist("#EXTINF:4,\n" + url + "\n"));
    SourceConfig config = source_of(camera.url("/live.m3u8"), seconds(5));
    failure_of(config);
    config.allow_redirects = true;
    failure_of(config);
  }
  EXPECT_EQ(elsewhere.asked(), 0);
}

TEST_F(SourceRedirect, RtspAsksNobodyElse) {
  const Server rtsp(answering(moved(local("rtsp", elsewhere.port(), "/x?token=4"), "RTSP/1.0"), 10));
  expect_refused(local("rtsp", rtsp.port(), "/live"));
  const Server nobody([](int, const std::atomic<bool>&) {});
  const Server leading(answering(moved(local("rtsp", nobody.port(), "/x"), "RTSP/1.0"), 10));
  EXPECT_EQ(failure_of(source_of(local("rtsp", leading.port(), "/live"))).kind, Kind::unsupported);
  EXPECT_EQ(nobody.connections(), 0) << "ports of others would be told apart by connecting to them";
}

TEST_F(SourceRedirect, WhatIsNoVideoIsNamed) {
  const std::string there = elsewhere.url("/a.ts");
  const std::string sdp =
      "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=c\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=video 5004 RTP/AVP 33\r\n";
  for (const auto& [name, body] :
       std::map<std::string, std::string>{{"concat", "ffconcat version 1.0\nfile '" + there + "'\n"}, {"sdp", sdp}}) {
    camera.answer("/live", found(body));
    const Failure failure = failure_of(source_of(camera.url("/live"), seconds(5)));
    EXPECT_EQ(failure.kind, Kind::unsupported);
    EXPECT_THAT(failure.text, HasSubstr("'" + name + "'"));
  }
  EXPECT_EQ(elsewhere.asked(), 0);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
