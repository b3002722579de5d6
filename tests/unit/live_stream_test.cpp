// Live streams: what viewers get, what they lose, and that others do not notice. What comes out is read back by
// libavformat and by ffprobe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "app/publisher/server/live/mime.h"
#include "app/publisher/server/live/stream.h"
#include "core/clock.h"
#include "tests/unit/command_output.h"
#include "tests/unit/encoded_clip.h"
#include "tests/unit/read_back.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::Clip;
using test::ms;
using test::Packet;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const Clip& clip() {
  static const Clip all = test::encode(Latency::low, test::steady(40));  // key frames 0, 10, 20, 30
  return all;
}

void offer(LiveStream& stream, const Clip& from, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) stream.offer(from.packets.at(i).view(), from.parameters);
}

std::vector<LivePiece> take_all(LiveViewer& viewer) {
  std::vector<LivePiece> pieces;
  LivePiece piece;
  while (viewer.take(piece, Deadline()) == LiveViewer::Next::piece) pieces.push_back(piece);
  return pieces;
}

std::vector<std::int64_t> times_ms(const std::vector<LivePiece>& pieces) {
  std::vector<std::int64_t> times;
  for (const LivePiece& piece : pieces) times.push_back(piece.times.pts / ms);
  return times;
}

std::filesystem::path write(const test::TemporaryFolder& folder, const std::vector<LivePiece>& pieces) {
  const std::filesystem::path path = folder.path() / "live";
  std::ofstream file(path, std::ios::binary);
  const auto put = [&file](const std::vector<std::uint8_t>& bytes) {
    for (const std::uint8_t byte : bytes) file.put(static_cast<char>(byte));
  };
  if (pieces.at(0).header->bytes) put(*pieces.at(0).header->bytes);
  for (const LivePiece& piece : pieces) put(*piece.bytes);
  return path;
}

// Bytes of any kind, for what is not muxed. `size` bytes each; a key frame every `gop`.
PacketView made_up(const std::vector<std::uint8_t>& bytes, int number, int gop) {
  PacketView packet;
  packet.data = bytes;
  packet.dts = number * 40 * ms;
  packet.times.pts = packet.dts;
  packet.key = number % gop == 0;
  return packet;
}

StreamParameters made_up_stream() {
  StreamParameters stream;
  stream.codec = "h264";
  stream.extradata = {0, 0, 0, 1, 0x67};
  return stream;
}

class LiveStreamForm : public testing::TestWithParam<LiveForm> {};

TEST_P(LiveStreamForm, IsReadBackAsItWas) {
  const auto stream = std::make_shared<LiveStream>();
  const auto viewer = stream->watch(GetParam());
  offer(*stream, clip(), 0, 40);
  const auto pieces = take_all(*viewer);
  ASSERT_EQ(pieces.size(), 40);
  const test::TemporaryFolder folder;
  const auto contents = test::read_back(write(folder, pieces));
  EXPECT_EQ(contents.warnings, 0);
  EXPECT_EQ(contents.shown.size(), 40);
  EXPECT_LT(contents.worst_difference, 4);
  for (std::size_t i = 0; i < contents.keys.size(); ++i) EXPECT_EQ(contents.keys[i], i % 10 == 0) << i;
  for (std::size_t i = 1; i < contents.pts.size(); ++i) EXPECT_NEAR(contents.pts[i] - contents.pts[i - 1], 40 * ms, ms);
}

TEST_P(LiveStreamForm, OfWhoComesLateBeginsAtTheNewestKeyFrame) {
  const auto stream = std::make_shared<LiveStream>();
  offer(*stream, clip(), 0, 25);
  const auto viewer = stream->watch(GetParam());
  auto pieces = take_all(*viewer);
  ASSERT_EQ(pieces.size(), 5);
  EXPECT_TRUE(pieces.front().key);
  EXPECT_FALSE(pieces.front().after_loss);
  EXPECT_EQ(pieces.front().times.pts, 20 * 40 * ms);
  offer(*stream, clip(), 25, 40);
  for (const LivePiece& piece : take_all(*viewer)) pieces.push_back(piece);
  const test::TemporaryFolder folder;
  const auto contents = test::read_back(write(folder, pieces));
  EXPECT_EQ(contents.warnings, 0);
  EXPECT_EQ(contents.shown.size(), 20);
}

TEST_P(LiveStreamForm, IsReadByFfprobe) {
  const auto stream = std::make_shared<LiveStream>();
  const auto viewer = stream->watch(GetParam());
  offer(*stream, clip(), 0, 40);
  const test::TemporaryFolder folder;
  const auto path = write(folder, take_all(*viewer));
  const std::string seen = test::output_of(
      "ffprobe -v error -count_packets -of csv=p=0 -show_entries "
      "stream=codec_name,width,height,nb_read_packets " +
      path.string() + " 2>&1");
  EXPECT_THAT(seen, StartsWith("h264,160,128,40"));
}

INSTANTIATE_TEST_SUITE_P(Forms, LiveStreamForm, testing::Values(LiveForm::fmp4, LiveForm::mpegts),
                         [](const auto& of) { return of.param == LiveForm::fmp4 ? "Fmp4" : "MpegTs"; });

TEST(LiveStream, FragmentsTellTheStreamsOwnTime) {
  const auto stream = std::make_shared<LiveStream>();
  Clip late = clip();
  for (std::size_t i = 0; i < late.packets.size(); ++i) {
    const std::int64_t by = 3600 * test::second + (i >= 15 ? 5 * test::second : 0);  // and five that are missing
    late.packets[i].dts += by;
    late.packets[i].times.pts += by;
  }
  const auto viewer = stream->watch(LiveForm::fmp4);
  offer(*stream, late, 0, 20);
  const auto pieces = take_all(*viewer);
  ASSERT_EQ(pieces.size(), 20);
  EXPECT_EQ(pieces.back().header->serial, pieces.front().header->serial);
  const test::TemporaryFolder folder;
  const auto contents = test::read_back(write(folder, pieces));
  ASSERT_EQ(contents.pts.size(), 20);
  EXPECT_EQ(contents.pts[0], 3600 * test::second);
  EXPECT_EQ(contents.pts[15] - contents.pts[14], 5 * test::second + 40 * ms);
}

// Nobody knows how long the newest frame will last: here each says longer than it does.
TEST(LiveStream, FragmentsTellTheStreamsOwnTimeAlsoWherePicturesLastShorterThanTheySay) {
  const auto stream = std::make_shared<LiveStream>();
  Clip quick = clip();
  for (std::size_t i = 0; i < quick.packets.size(); ++i) {
    quick.packets[i].dts = quick.packets[i].times.pts = static_cast<std::int64_t>(i) * 30 * ms;
    quick.packets[i].times.duration = 40 * ms;
  }
  const auto viewer = stream->watch(LiveForm::fmp4);
  offer(*stream, quick, 0, 40);
  const test::TemporaryFolder folder;
  const auto contents = test::read_back(write(folder, take_all(*viewer)));
  EXPECT_EQ(contents.warnings, 0);
  ASSERT_EQ(contents.pts.size(), 40);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(contents.pts[i] / ms, i * 30);
}

TEST(LiveStream, TellsExactlyWhatBrowsersMustDecode) {
  const auto stream = std::make_shared<LiveStream>();
  const auto viewer = stream->watch(LiveForm::fmp4);
  offer(*stream, clip(), 0, 1);
  const auto pieces = take_all(*viewer);
  ASSERT_EQ(pieces.size(), 1);
  // The SPS begins behind a start code; profile, constraints and level are its first bytes.
  const auto& extradata = clip().parameters.extradata;
  ASSERT_THAT(std::vector(extradata.begin(), extradata.begin() + 5), ElementsAre(0, 0, 0, 1, 0x67));
  char codec[16];
  std::snprintf(codec, sizeof codec, "%02x%02x%02x", extradata[5], extradata[6], extradata[7]);
  EXPECT_EQ(pieces[0].header->mime, std::string("video/mp4; codecs=\"avc1.") + codec + "\"");
}

TEST(LiveStream, TellsHevcLikewise) {
  // hvcC: Main profile, compatible with 1 and 2, main tier, level 4.1, progressive and frame only.
  const std::vector<std::uint8_t> segment{'h', 'v', 'c', 'C', 1, 1, 0x60, 0, 0, 0, 0x90, 0, 0, 0, 0, 0, 123};
  EXPECT_EQ(mime_of_init_segment(segment), "video/mp4; codecs=\"hvc1.1.6.L123.90\"");
  EXPECT_EQ(mime_of_init_segment({}), "");
}

TEST(LiveStream, IsMuxedOnceForAllViewersOfAForm) {
  const auto stream = std::make_shared<LiveStream>();
  const auto one = stream->watch(LiveForm::fmp4);
  const auto other = stream->watch(LiveForm::fmp4);
  offer(*stream, clip(), 0, 15);
  const auto late = stream->watch(LiveForm::fmp4);
  const auto pieces = take_all(*one);
  const auto same = take_all(*other);
  const auto newest = take_all(*late);
  ASSERT_EQ(pieces.size(), 15);
  ASSERT_EQ(same.size(), 15);
  ASSERT_EQ(newest.size(), 5);
  for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(pieces[i].bytes, same[i].bytes);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(pieces[10 + i].bytes, newest[i].bytes);
}

TEST(LiveStream, OfOtherParametersIsAnotherSerial) {
  const auto stream = std::make_shared<LiveStream>();
  const auto viewer = stream->watch(LiveForm::fmp4);
  offer(*stream, clip(), 0, 5);
  EncoderConfig config = test::clip_config(Latency::low);
  config.preset = "medium";
  const Clip other = test::encode(config, test::steady(20, 5 * 40 * ms));
  offer(*stream, other, 3, 20);  // the first ones cannot be decoded
  const auto pieces = take_all(*viewer);
  ASSERT_EQ(pieces.size(), 15);
  EXPECT_GT(pieces[5].header->serial, pieces[4].header->serial);
  EXPECT_TRUE(pieces[5].key);
  EXPECT_EQ(pieces[5].header->stream, other.parameters);
  EXPECT_FALSE(pieces[5].after_loss);
}

TEST(LiveStream, WithABreakInTimeIsAnotherSerial) {
  const auto stream = std::make_shared<LiveStream>();
  const auto viewer = stream->watch(LiveForm::packets);
  offer(*stream, clip(), 0, 20);
  offer(*stream, clip(), 5, 15);  // back
  Clip later = clip();
  for (Packet& packet : later.packets) packet.dts += 30 * test::second;
  offer(*stream, later, 15, 25);  // ahead
  const auto pieces = take_all(*viewer);
  ASSERT_EQ(pieces.size(), 30);
  const std::uint64_t first = pieces[0].header->serial;
  EXPECT_EQ(pieces[19].header->serial, first);
  EXPECT_EQ(pieces[20].header->serial, first + 1);
  EXPECT_TRUE(pieces[20].key);
  EXPECT_EQ(pieces[25].header->serial, first + 2);
  EXPECT_TRUE(pieces[25].key);
}

// As a camera over RTSP may send it: all there is to know stands in front of its key frames.
TEST(LiveStream, FindsHeadersInThePictures) {
  Clip bare = clip();
  const auto headers = std::exchange(bare.parameters.extradata, {});
  for (Packet& packet : bare.packets) {
    if (packet.key) packet.data.insert(packet.data.begin(), headers.begin(), headers.end());
  }
  const auto stream = std::make_shared<LiveStream>();
  const auto viewer = stream->watch(LiveForm::fmp4);
  offer(*stream, bare, 0, 40);
  const auto pieces = take_all(*viewer);
  ASSERT_EQ(pieces.size(), 40);
  EXPECT_EQ(pieces.front().header, pieces.back().header);
  EXPECT_THAT(pieces[0].header->mime, StartsWith("video/mp4; codecs=\"avc1."));
  const test::TemporaryFolder folder;
  EXPECT_EQ(test::read_back(write(folder, pieces)).shown.size(), 40);
}

TEST(LiveStream, SaysWhyThereIsNoSuchForm) {
  const auto stream = std::make_shared<LiveStream>();
  EXPECT_EQ(stream->failure(LiveForm::fmp4), "");
  EXPECT_EQ(stream->parameters(), std::nullopt);
  StreamParameters jpeg;
  jpeg.codec = "mjpeg";
  const std::vector<std::uint8_t> bytes(100);
  const auto none = stream->watch(LiveForm::fmp4);
  const auto raw = stream->watch(LiveForm::packets);
  for (int i = 0; i < 3; ++i) stream->offer(made_up(bytes, i, 1), jpeg);
  EXPECT_THAT(take_all(*none), IsEmpty());
  EXPECT_EQ(take_all(*raw).size(), 3);
  EXPECT_THAT(stream->failure(LiveForm::fmp4), HasSubstr("browsers cannot play mjpeg"));
  EXPECT_THAT(stream->failure(LiveForm::mpegts), HasSubstr("cannot carry mjpeg"));
  EXPECT_EQ(stream->failure(LiveForm::packets), "");
  offer(*stream, clip(), 0, 1);  // and now there is
  EXPECT_EQ(take_all(*none).size(), 1);
  EXPECT_EQ(stream->failure(LiveForm::fmp4), "");
}

TEST(LiveViewer, WhoIsSlowGoesOnWithTheNewestKeyFrame) {
  LiveLimits limits;
  limits.viewer_bytes = 1000;
  const auto stream = std::make_shared<LiveStream>(nullptr, "dock", limits);
  const auto slow = stream->watch(LiveForm::packets);
  const auto quick = stream->watch(LiveForm::packets);
  const std::vector<std::uint8_t> bytes(100);
  std::size_t quick_pieces = 0;
  const auto send = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      stream->offer(made_up(bytes, i, 8), made_up_stream());
      quick_pieces += take_all(*quick).size();
    }
  };
  send(0, 10);
  send(10, 11);  // one too many: 8 and 9 are there still
  EXPECT_EQ(slow->dropped(), 8);
  auto pieces = take_all(*slow);
  EXPECT_THAT(times_ms(pieces), ElementsAre(8 * 40, 9 * 40, 10 * 40));
  EXPECT_TRUE(pieces.at(0).after_loss);
  EXPECT_FALSE(pieces.at(1).after_loss);
  send(11, 22);  // a whole queue without its key frame's group: 16 is the newest that is there
  EXPECT_THAT(times_ms(take_all(*slow)), ElementsAre(16 * 40, 17 * 40, 18 * 40, 19 * 40, 20 * 40, 21 * 40));
  EXPECT_EQ(slow->dropped(), 8 + 5);
  EXPECT_EQ(quick_pieces, 22);
  EXPECT_EQ(quick->dropped(), 0);
  EXPECT_EQ(stream->counts().dropped, 13);
  EXPECT_EQ(stream->counts().sent, 22 + 9);
  EXPECT_EQ(stream->counts().bytes, 100 * (22 + 9));
}

TEST(LiveViewer, LosesUntilTheNextKeyFrameWhereNoneIsThere) {
  LiveLimits limits;
  limits.viewer_bytes = 500;
  const auto stream = std::make_shared<LiveStream>(nullptr, "dock", limits);
  const auto slow = stream->watch(LiveForm::packets);
  const std::vector<std::uint8_t> bytes(100);
  for (int i = 0; i < 22; ++i) stream->offer(made_up(bytes, i, 20), made_up_stream());
  const auto pieces = take_all(*slow);
  EXPECT_THAT(times_ms(pieces), ElementsAre(20 * 40, 21 * 40));
  EXPECT_TRUE(pieces.at(0).after_loss);
  EXPECT_EQ(slow->dropped(), 20);
}

// Who has taken the key frame already does not go on in the middle of what follows it.
TEST(LiveViewer, LosesUntilTheNextKeyFrameWhereItsOwnIsTaken) {
  LiveLimits limits;
  limits.viewer_bytes = 500;
  const auto stream = std::make_shared<LiveStream>(nullptr, "dock", limits);
  const auto slow = stream->watch(LiveForm::packets);
  const std::vector<std::uint8_t> bytes(100);
  stream->offer(made_up(bytes, 0, 20), made_up_stream());
  EXPECT_EQ(take_all(*slow).size(), 1);
  for (int i = 1; i < 8; ++i) stream->offer(made_up(bytes, i, 20), made_up_stream());
  EXPECT_THAT(take_all(*slow), IsEmpty());
  for (int i = 8; i < 22; ++i) stream->offer(made_up(bytes, i, 20), made_up_stream());
  EXPECT_THAT(times_ms(take_all(*slow)), ElementsAre(20 * 40, 21 * 40));
  EXPECT_EQ(slow->dropped(), 19);
}

TEST(LiveViewer, WhoTakesNothingForTooLongLoses) {
  LiveLimits limits;
  limits.viewer_wait = 20ms;
  const auto stream = std::make_shared<LiveStream>(nullptr, "dock", limits);
  const auto slow = stream->watch(LiveForm::packets);
  const std::vector<std::uint8_t> bytes(10);
  const auto since = Clock::now();
  stream->offer(made_up(bytes, 0, 2), made_up_stream());
  int sent = 1;
  const Deadline deadline = since + 10s;
  while (slow->dropped() == 0 && Clock::now() < deadline) {
    std::this_thread::yield();
    stream->offer(made_up(bytes, sent++, 2), made_up_stream());
  }
  EXPECT_GE(Clock::now() - since, 20ms);
  EXPECT_GT(slow->dropped(), 0);
  stream->offer(made_up(bytes, sent + sent % 2, 2), made_up_stream());  // the next key frame, if the last was none
  EXPECT_TRUE(take_all(*slow).at(0).key);
}

// What was there before a viewer came is not the viewer's slowness.
TEST(LiveViewer, GetsTheWholeNewestGroupHoweverLargeItIs) {
  LiveLimits limits;
  limits.viewer_bytes = 500;
  const auto stream = std::make_shared<LiveStream>(nullptr, "dock", limits);
  const std::vector<std::uint8_t> bytes(100);
  for (int i = 0; i < 50; ++i) stream->offer(made_up(bytes, i, 100), made_up_stream());
  const auto viewer = stream->watch(LiveForm::packets);
  for (int i = 50; i < 55; ++i) stream->offer(made_up(bytes, i, 100), made_up_stream());
  EXPECT_EQ(take_all(*viewer).size(), 55);
  EXPECT_EQ(viewer->dropped(), 0);
}

TEST(LiveStream, KeepsOnlyTheKeyFrameOfAGroupThatIsTooLarge) {
  LiveLimits limits;
  limits.group_bytes = 1000;
  const auto stream = std::make_shared<LiveStream>(nullptr, "dock", limits);
  const std::vector<std::uint8_t> bytes(100);
  const auto send = [&](int from, int to) {
    for (int i = from; i < to; ++i) stream->offer(made_up(bytes, i, 20), made_up_stream());
  };
  send(0, 10);
  EXPECT_EQ(stream->newest_group().size(), 10);
  send(10, 15);
  EXPECT_EQ(stream->newest_group().size(), 1);
  const auto viewer = stream->watch(LiveForm::packets);
  send(15, 22);
  EXPECT_THAT(times_ms(take_all(*viewer)), ElementsAre(0, 20 * 40, 21 * 40));
  EXPECT_EQ(viewer->dropped(), 0);
  EXPECT_EQ(stream->newest_group().size(), 2);
  limits = {};
  limits.group_packets = 3;
  const auto counted = std::make_shared<LiveStream>(nullptr, "dock", limits);
  for (int i = 0; i < 3; ++i) counted->offer(made_up(bytes, i, 20), made_up_stream());
  EXPECT_EQ(counted->newest_group().size(), 3);
  counted->offer(made_up(bytes, 3, 20), made_up_stream());
  EXPECT_EQ(counted->newest_group().size(), 1);
}

TEST(LiveStream, TellsWhetherSomebodyWatches) {
  std::vector<bool> told;
  const auto stream = std::make_shared<LiveStream>([&told](bool watched) { told.push_back(watched); });
  auto one = stream->watch(LiveForm::fmp4);
  auto other = stream->watch(LiveForm::packets);
  EXPECT_EQ(stream->counts().viewers, 2);
  one.reset();
  EXPECT_THAT(told, ElementsAre(true, true));
  other.reset();
  EXPECT_THAT(told, ElementsAre(true, true, false));
  EXPECT_EQ(stream->counts().viewers, 0);
  stream->close();
  LivePiece piece;
  EXPECT_EQ(stream->watch(LiveForm::fmp4)->take(piece, Deadline()), LiveViewer::Next::over);
  EXPECT_EQ(told.size(), 3);
}

TEST(LiveViewer, IsToldWhenSomethingIsThere) {
  const auto stream = std::make_shared<LiveStream>();
  const auto viewer = stream->watch(LiveForm::packets);
  int calls = 0;
  viewer->on_ready([&calls] { ++calls; });
  EXPECT_EQ(calls, 0);
  offer(*stream, clip(), 0, 3);
  EXPECT_EQ(calls, 1);  // there was something already
  EXPECT_EQ(take_all(*viewer).size(), 3);
  offer(*stream, clip(), 3, 4);
  EXPECT_EQ(calls, 2);
  stream->close();
  EXPECT_EQ(calls, 3);
  LivePiece piece;
  EXPECT_EQ(viewer->take(piece, Deadline()), LiveViewer::Next::over);
  const auto late = std::make_shared<LiveStream>();
  offer(*late, clip(), 0, 1);
  late->watch(LiveForm::packets)->on_ready([&calls] { ++calls; });
  EXPECT_EQ(calls, 4);
}

TEST(LiveViewer, WaitsForWhatComes) {
  const auto stream = std::make_shared<LiveStream>();
  const auto viewer = stream->watch(LiveForm::packets);
  LivePiece piece;
  EXPECT_EQ(viewer->take(piece, Clock::now() + 1ms), LiveViewer::Next::timeout);
  std::jthread camera([&] { offer(*stream, clip(), 0, 1); });
  EXPECT_EQ(viewer->take(piece, Clock::now() + 10s), LiveViewer::Next::piece);
  std::jthread stopper([&] { viewer->stop(); });
  EXPECT_EQ(viewer->take(piece, Clock::now() + 10s), LiveViewer::Next::over);
}

// Viewers come and go on their threads, in all forms, while the camera sends; for the sanitizers, and for the order of
// what is told.
TEST(LiveStream, StandsViewersThatComeAndGo) {
  std::atomic<bool> watched = false;
  const auto stream = std::make_shared<LiveStream>([&watched](bool now) { watched = now; });
  std::atomic<bool> stop = false;
  std::vector<std::jthread> viewers;
  for (const LiveForm form : {LiveForm::packets, LiveForm::fmp4, LiveForm::mpegts, LiveForm::fmp4}) {
    viewers.emplace_back([&stream, &stop, form] {
      while (!stop) {
        const auto viewer = stream->watch(form);
        const auto calls = std::make_shared<std::atomic<int>>(0);
        viewer->on_ready([calls] { ++*calls; });
        LivePiece piece;
        for (int i = 0; i < 5; ++i) viewer->take(piece, Clock::now() + 1ms);
      }
    });
  }
  for (int round = 0; round < 20; ++round) offer(*stream, clip(), 0, 40);
  stop = true;
  viewers.clear();
  EXPECT_EQ(stream->counts().viewers, 0);
  EXPECT_FALSE(watched);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
