// HLS playlists that would have libavformat open and keep things without end, and ordinary ones.
#include <filesystem>

#include "tests/unit/live_test_support.h"
#include "tests/unit/peak_memory.h"
#include "tests/unit/web.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using std::chrono::seconds;
using testing::HasSubstr;
using Kind = SourceError::Kind;

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

class HlsLimits : public WithClip {
 protected:
  static void SetUpTestSuite() {
    WithClip::SetUpTestSuite();
    run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", "-hls_time", "1", "-hls_list_size", "0", "-hls_segment_filename",
                file("piece%d.ts"), file("pieces.m3u8")});
  }

  HlsLimits() {
    camera.answer("/a.ts", found(bytes_of(file("clip.ts"))));
    camera.answer("/a.m3u8", playlist("#EXTINF:4,\na.ts\n"));
  }

  static std::string master(const std::string& lines) { return found("#EXTM3U\n" + lines); }
  static std::string variant(const std::string& url) { return "#EXT-X-STREAM-INF:BANDWIDTH=1000\n" + url + "\n"; }

  void expect_refused(const std::string& reason) {
    const PeakMemory memory;
    const Failure failure = failure_of(source_of(camera.url("/live.m3u8"), seconds(20)));
    EXPECT_EQ(failure.kind, Kind::unsupported) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr(reason));
    EXPECT_LT(memory.mib(), most_memory);
  }

  Web camera;
};

TEST_F(HlsLimits, APlaylistOfPlaylistsThatNamesItself) {
  camera.answer("/live.m3u8", master(repeated(variant("live.m3u8"), 20)));
  expect_refused("where only pieces of video may be named");
}

TEST_F(HlsLimits, ThousandsOfStreams) {
  camera.answer("/live.m3u8", master(repeated(variant("a.m3u8"), 3000)));
  expect_refused("names 3000 streams, and at most 32 are taken");
}

TEST_F(HlsLimits, APlaylistWithoutEnd) {
  camera.answer("/live.m3u8", playlist(repeated("# nothing\n", 1'000'000)));
  expect_refused("a playlist of more than 1 MiB");
}

TEST_F(HlsLimits, MorePiecesThanTheirUrlsFitInto) {
  const std::string folder(3000, 'f');
  camera.answer("/live.m3u8", master(variant(folder + "/a.m3u8")));
  camera.answer("/" + folder + "/a.m3u8", playlist(repeated("#EXTINF:4,\na\n", 70'000)));
  expect_refused("a playlist of 70000 pieces");
}

// libavformat would take the pieces, one behind the other, for a playlist.
TEST_F(HlsLimits, APlaylistCutIntoPieces) {
  camera.answer("/live.m3u8", playlist("#EXTINF:4,\n1.m3u8\n#EXTINF:4,\n2.m3u8\n"));
  camera.answer("/1.m3u8", found("#EXT"));
  camera.answer("/2.m3u8", found("M3U\n" + repeated("#EXT-X-STREAM-INF:\nx\n", 100'000)));
  expect_refused("");
}

// MP4, whose index goes on and on.
TEST_F(HlsLimits, AVideoThatNeverBegins) {
  const auto word = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 255U);
    return bytes;
  };
  std::string box = word(16) + "ftypisom" + word(0);
  std::uint32_t size = 0x7f000000;
  for (const char* name : {"moov", "trak", "mdia", "minf", "stbl", "stts"}) box += word(--size) + name;
  box += word(0) + word(0x0e000000);
  camera.answer("/live.m3u8", found(box + std::string(std::size_t{70} << 20, '\1')));
  const PeakMemory memory;
  const Failure failure = failure_of(source_of(camera.url("/live.m3u8")));
  EXPECT_EQ(failure.kind, Kind::unsupported) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("more than is taken before there is a frame: 64 MiB"));
  EXPECT_LT(memory.mib(), 70 + most_memory);  // it is sent by this process, too
}

TEST_F(HlsLimits, ALivePlaylistMayNotBecomeOneOfPlaylists) {
  camera.answer("/live.m3u8", playlist("#EXTINF:1,\na.ts\n", true));
  const auto source = open_source(source_of(camera.url("/live.m3u8")), never);
  camera.answer("/live.m3u8", master(repeated(variant("live.m3u8"), 20)));
  EXPECT_THROW(count_packets(*source, {1000, 0}), SourceError);
}

TEST_F(HlsLimits, SeveralStreamsOfOrdinarySize) {
  camera.answer("/live.m3u8", master(repeated(variant("a.m3u8"), 8)));
  const auto source = open_source(source_of(camera.url("/live.m3u8")), never);
  expect_clip(*source);
  EXPECT_EQ(count_packets(*source, {100, 0}).video, 100);
}

TEST_F(HlsLimits, AsManyStreamsAsAreTaken) {
  camera.answer("/live.m3u8", master(repeated(variant("a.m3u8"), 32)));
  const PeakMemory memory;
  SourceConfig config = source_of(camera.url("/live.m3u8"));
  config.audio = Audio::off;
  const auto source = open_source(config, never);
  EXPECT_EQ(count_packets(*source, {50, 0}).video, 50);
  EXPECT_LT(memory.mib(), most_memory);
}

TEST_F(HlsLimits, LivePlaylistsAreReadAgain) {
  const auto list = [](int first) {
    std::string lines = "#EXT-X-MEDIA-SEQUENCE:" + std::to_string(first) + "\n";
    for (int i = first; i < first + 2; ++i) lines += "#EXTINF:1,\npiece" + std::to_string(i) + ".ts\n";
    return playlist(lines, true);
  };
  for (int i = 0; std::filesystem::exists(file("piece" + std::to_string(i) + ".ts")); ++i) {
    camera.answer("/piece" + std::to_string(i) + ".ts", found(bytes_of(file("piece" + std::to_string(i) + ".ts"))));
  }
  camera.answer("/live.m3u8", list(0));
  const auto source = open_source(source_of(camera.url("/live.m3u8")), never);
  EXPECT_FALSE(source->stream().finite);
  EXPECT_EQ(count_packets(*source, {30, 0}).video, 30);
  camera.answer("/live.m3u8", list(2));
  EXPECT_EQ(count_packets(*source, {50, 0}).video, 50);
}

TEST_F(HlsLimits, EncryptedPiecesWithAKeyOfTheSameHost) {
  std::ofstream(file("key"), std::ios::binary) << "0123456789abcdef";
  std::ofstream(file("key.info")) << "key\n" << file("key") << "\n";
  run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", "-hls_time", "1", "-hls_list_size", "0", "-hls_key_info_file",
              file("key.info"), "-hls_segment_filename", file("secret%d.ts"), file("secret.m3u8")});
  for (const auto& entry : std::filesystem::directory_iterator(file(""))) {
    const std::string name = entry.path().filename();
    if (name.starts_with("secret") || name == "key") camera.answer("/" + name, found(bytes_of(entry.path())));
  }
  const auto source = open_source(source_of(camera.url("/secret.m3u8")), never);
  expect_clip(*source);
  EXPECT_EQ(count_packets(*source, {1000, 1000}).video, 100);
}

// What it names is then of the folder that it was found in.
TEST_F(HlsLimits, APlaylistThatWasMoved) {
  camera.answer("/live.m3u8", moved("/folder/a.m3u8"));
  camera.answer("/folder/a.m3u8", playlist("#EXTINF:4,\na.ts\n"));
  camera.answer("/folder/a.ts", found(bytes_of(file("clip.ts"))));
  camera.answer("/a.ts", found(""));
  expect_clip(*open_source(source_of(camera.url("/live.m3u8")), never));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
