// When the pieces of HLS were made, and playlists that begin anew.
#include "stages/sources/hls_times.h"

#include <filesystem>

#include "core/utc_text.h"
#include "tests/unit/live_test_support.h"
#include "tests/unit/web.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr AVRational base{1, 1000};
constexpr microseconds noon = seconds(1'772'366'400);  // 2026-03-01T12:00:00Z

TEST(DateTime, IsReadWithItsZone) {
  const auto read = [](std::string_view text) { return read_date_time(text); };
  EXPECT_EQ(read("2026-03-01T12:00:00Z"), noon);
  EXPECT_EQ(read("2026-03-01T12:00:00.250Z"), noon + milliseconds(250));
  EXPECT_EQ(read("2026-03-01T13:30:00.5+01:30"), noon + milliseconds(500));
  EXPECT_EQ(read("2026-03-01T04:00:00-0800 "), noon);
  EXPECT_EQ(read("2026-03-01T14:00:00+02"), noon);
  for (const char* text : {"", "2026-03-01", "2026-03-01T12:00:00", "2026-13-01T12:00:00Z", "2026-03-01T12:00:00+1",
                           "2026-03-01T12:00:00Zulu", "2026-03-01T12:00:00+0x:00"})
    EXPECT_EQ(read(text), std::nullopt) << text;
}

class HlsPieces : public testing::Test {
 protected:
  static std::string url(const std::string& name) { return "http://cam/live/" + name; }
  // `time`: ms.
  std::optional<milliseconds> at(std::int64_t time, bool key = false) {
    const AvPacket packet = make_av_packet();
    packet->pts = time;
    packet->flags = key ? AV_PKT_FLAG_KEY : 0;
    const auto found = times_.time_of(*packet, base);
    return found ? std::optional(std::chrono::duration_cast<milliseconds>(*found - noon)) : std::nullopt;
  }
  static std::optional<milliseconds> after(std::int64_t ms) { return milliseconds(ms); }

  HlsTimes times_;
};

const std::string list =
    "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-PROGRAM-DATE-TIME:2026-03-01T12:00:00Z\n#EXTINF:2.0,\na.ts\n"
    "#EXTINF:2.0,\r\nb.ts?x=/y\r\n#EXTINF:2,\nc.ts\n";

TEST_F(HlsPieces, HaveTheirTimesFromTheirFirstFrameOn) {
  EXPECT_TRUE(times_.read(list, url("all.m3u8")));
  EXPECT_EQ(at(90'000, true), std::nullopt);
  times_.open_piece(url("key"));
  times_.open_piece(url("a.ts"));
  EXPECT_EQ(at(100'000), std::nullopt) << "of the piece before";
  EXPECT_EQ(at(100'040, true), after(0));
  EXPECT_EQ(at(100'200), after(160));
  EXPECT_EQ(at(100'120), after(80));
}

// All that the analysis reads is opened before the first frame comes.
TEST_F(HlsPieces, ThatWereOpenedTogetherAreToldApart) {
  times_.read(list, url("all.m3u8"));
  for (const char* name : {"a.ts", "b.ts?x=/y", "c.ts"}) times_.open_piece(url(name));
  for (std::int64_t i = 0; i < 150; ++i) EXPECT_EQ(at(500 + 40 * i, i % 5 == 0), after(40 * i)) << i;
}

// Its media runs 1 % fast, by its own time of day.
TEST_F(HlsPieces, WhoseClockDriftsAreFollowed) {
  for (std::int64_t piece = 0; piece < 60; ++piece) {
    const std::string utc = utc_text((noon.count() + piece * 2'000'000) * 1000);
    times_.read("#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:" + utc + "\n#EXTINF:2,\n" + std::to_string(piece) + ".ts\n",
                url("all.m3u8"));
    times_.open_piece(url(std::to_string(piece) + ".ts"));
    for (std::int64_t frame = 0; frame < 50; ++frame) {
      const auto found = at(piece * 2020 + frame * 40 * 101 / 100, frame == 0);
      ASSERT_TRUE(found.has_value());
      EXPECT_NEAR(static_cast<double>(found->count()), static_cast<double>(piece * 2000 + frame * 40), 60) << piece;
    }
  }
}

TEST_F(HlsPieces, AfterADiscontinuityBeginAnew) {
  times_.read(
      "#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:2026-03-01T12:00:00Z\n#EXTINF:2,\na.ts\n#EXT-X-DISCONTINUITY\n"
      "#EXTINF:2,\nb.ts\n#EXT-X-PROGRAM-DATE-TIME:2026-03-01T12:30:00Z\n#EXTINF:2,\nc.ts\n",
      url("all.m3u8"));
  times_.open_piece(url("a.ts"));
  EXPECT_EQ(at(1000, true), after(0));
  times_.open_piece(url("b.ts"));
  EXPECT_EQ(at(50'000, true), std::nullopt) << "nobody says when it was";
  times_.open_piece(url("c.ts"));
  EXPECT_EQ(at(52'000, true), after(30 * 60 * 1000));
}

TEST_F(HlsPieces, OfSoundAndOfFilesHaveNone) {
  times_.read("#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"sound.m3u8\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv\n",
              url("master.m3u8"));
  times_.read(list, url("sound.m3u8"));
  times_.open_piece(url("a.ts"));
  EXPECT_EQ(at(0, true), std::nullopt);
  times_.read(list + "#EXT-X-ENDLIST\n", url("video.m3u8"));
  times_.open_piece(url("b.ts?x=/y"));
  EXPECT_EQ(at(0, true), std::nullopt);
}

TEST_F(HlsPieces, WithLowerNumbersThanAllBeforeAreOfAServerThatBeganAnew) {
  const auto numbered = [](int first) {
    return "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:" + std::to_string(first) + "\n#EXTINF:2,\na.ts\n#EXTINF:2,\nb.ts\n";
  };
  EXPECT_TRUE(times_.read(numbered(100), url("all.m3u8")));
  EXPECT_TRUE(times_.read(numbered(99), url("all.m3u8"))) << "from a cache";
  EXPECT_TRUE(times_.read(numbered(101), url("all.m3u8")));
  EXPECT_TRUE(times_.read(numbered(0), url("others.m3u8")));
  EXPECT_FALSE(times_.read(numbered(0), url("all.m3u8")));
}

class HlsServer : public WithClip {
 protected:
  static void SetUpTestSuite() {
    WithClip::SetUpTestSuite();
    run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", "-hls_time", "1", "-hls_list_size", "0", "-hls_segment_filename",
                file("piece%d.ts"), file("pieces.m3u8")});
  }
  HlsServer() {
    for (int i = 0; std::filesystem::exists(file(piece(i))); ++i)
      web_.answer("/" + piece(i), found(bytes_of(file(piece(i)))));
  }
  static std::string piece(int number) { return "piece" + std::to_string(number) + ".ts"; }
  // Two pieces.
  static std::string live(int sequence, int first, const std::string& more = "") {
    std::string lines = "#EXT-X-MEDIA-SEQUENCE:" + std::to_string(sequence) + "\n" + more;
    for (int i = first; i < first + 2; ++i) lines += "#EXTINF:1,\n" + piece(i) + "\n";
    return playlist(lines, true);
  }

  Web web_;
};

TEST_F(HlsServer, SaysWhenFramesWereTaken) {
  web_.answer("/live.m3u8", live(5, 0, "#EXT-X-PROGRAM-DATE-TIME:2026-03-01T13:00:00.000+01:00\n"));
  const auto source = open_source(source_of(web_.url("/live.m3u8")), never);
  const AvPacket packet = make_av_packet();
  std::optional<std::int64_t> first;
  for (int i = 0; i < 45; ++i) {
    ReadResult result = ReadResult::audio;
    while (result == ReadResult::audio) {
      av_packet_unref(packet.get());
      result = source->read(*packet);
    }
    ASSERT_EQ(result, ReadResult::packet);
    if (!first) first = packet->pts;
    const auto taken = capture_time(*packet);
    ASSERT_TRUE(taken.has_value()) << i;
    const std::int64_t passed = av_rescale_q(packet->pts - *first, source->stream().time_base, {1, 1'000'000});
    EXPECT_EQ(*taken / 1000, noon.count() + passed) << i;
    av_packet_unref(packet.get());
  }
}

TEST_F(HlsServer, ThatBeganAnewIsOpenedAnew) {
  web_.answer("/live.m3u8", live(1000, 0));
  SourceConfig config = source_of(web_.url("/live.m3u8"));
  config.read_timeout = seconds(60);
  const auto source = open_source(config, never);
  web_.answer("/live.m3u8", live(0, 2));
  try {
    count_packets(*source, {1000, 0});
    FAIL() << "nothing is wrong with it";
  } catch (const SourceError& error) {
    EXPECT_EQ(error.kind, SourceError::Kind::lost);
    EXPECT_THAT(error.what(), HasSubstr("begun its playlist anew"));
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
