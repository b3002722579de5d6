// When frames were taken, as MP4 says it (`prft`): in recordings and in live fragments, for all who can read that box.
#include "stages/sinks/producer_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "app/publisher/server/live/fragment_times.h"
#include "app/publisher/server/live/stream.h"
#include "core/big_endian.h"
#include "stages/sinks/recorder.h"
#include "tests/unit/producer_times.h"
#include "tests/unit/read_back.h"
#include "tests/unit/recording_test_support.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;

constexpr std::int64_t utc = 1'795'000'123'456'789'012;

// A frame of `clip` each 40 ms by the stream's time, and by a camera's clock that runs 0.1 % fast.
Clip taken_clip(Latency latency) {
  Clip clip = encode(latency, steady(60, 7 * second));
  for (Packet& packet : clip.packets) {
    packet.times.capture_utc = utc + packet.times.pts + packet.times.pts / 1000;
    packet.times.capture_clock = CaptureClock::camera;
  }
  return clip;
}

// Of the frame that is shown so long after the first one; s.
std::int64_t taken_at(double shown) {
  const std::int64_t pts = 7 * second + std::llround(shown * 25) * 40 * ms;
  return utc + pts + pts / 1000;
}

class RecordedTimes : public testing::TestWithParam<Latency> {};

TEST_P(RecordedTimes, StandBeforeEachFragment) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.mp4";
  const Clip clip = taken_clip(GetParam());
  const auto recorder = Recorder::create(in_own_folder(folder.path() / "a.mp4"), clip.parameters, {},
                                         {.time = clip.packets[0].times.pts, .utc = utc});
  for (std::size_t i = 0; i < clip.packets.size(); ++i) {
    if (i > 0 && i % 20 == 0) recorder->flush(clip.packets[i].dts);
    recorder->write(clip.packets[i].view());
  }
  recorder->flush();
  const auto times = producer_times(bytes_of(path));
  ASSERT_EQ(times.size(), 3U);
  const auto packets = packets_of(path);
  ASSERT_EQ(packets.size(), 60U);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_NEAR(times[i].shown, packets[20 * i].pts, 1e-4) << "as FFmpeg reads it";
    EXPECT_NEAR(static_cast<double>(times[i].utc - taken_at(packets[20 * i].pts)), 0, 1) << i;
  }
  EXPECT_EQ(read_back(path).warnings, 0);
}

INSTANTIATE_TEST_SUITE_P(BFrames, RecordedTimes, testing::Values(Latency::low, Latency::normal));

TEST(RecordedTimes, AreLeftOutWhereTheyAreNotKnown) {
  const TemporaryFolder folder;
  const Clip clip = encode(Latency::low, steady(20));
  const auto recorder = Recorder::create(in_own_folder(folder.path() / "a.mp4"), clip.parameters);
  for (const Packet& packet : clip.packets) recorder->write(packet.view());
  recorder->flush();
  EXPECT_TRUE(producer_times(bytes_of(folder.path() / "a.mp4")).empty());
  EXPECT_EQ(packets_of(folder.path() / "a.mp4").size(), 20U);
}

TEST(LiveTimes, StandBeforeEachFrame) {
  const auto stream = std::make_shared<LiveStream>();
  const auto viewer = stream->watch(LiveForm::fmp4);
  const Clip clip = taken_clip(Latency::normal);
  for (const Packet& packet : clip.packets) stream->offer(packet.view(), clip.parameters);
  LivePiece piece;
  Bytes all;
  std::vector<LivePiece> pieces;
  while (viewer->take(piece, Deadline()) == LiveViewer::Next::piece) {
    if (all.empty()) all = *piece.header->bytes;
    all.insert(all.end(), piece.bytes->begin(), piece.bytes->end());
    const auto times = producer_times(*piece.bytes);
    ASSERT_EQ(times.size(), 1U);
    EXPECT_NEAR(static_cast<double>(times[0].utc - piece.times.capture_utc), 0, 1);
    EXPECT_NEAR(times[0].shown, static_cast<double>(piece.times.pts) / second, 2e-5);
    pieces.push_back(piece);
  }
  ASSERT_EQ(pieces.size(), 60U);
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "live.mp4";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(all.data()), std::ssize(all));
  const auto packets = packets_of(path);
  ASSERT_EQ(packets.size(), 60U);
  for (std::size_t i = 0; i < packets.size(); ++i)
    EXPECT_NEAR(packets[i].pts - packets[0].pts,
                static_cast<double>(pieces[i].times.pts - pieces[0].times.pts) / second, 1e-4)
        << i;
  EXPECT_EQ(read_back(path).warnings, 0);
}

// Whose fragments are moved to begin at zero has the same frames taken at the same times.
TEST(LiveTimes, AreMovedWithTheFragment) {
  const auto stream = std::make_shared<LiveStream>();
  const auto viewer = stream->watch(LiveForm::mp4);
  const Clip clip = taken_clip(Latency::low);
  for (const Packet& packet : clip.packets) stream->offer(packet.view(), clip.parameters);
  LivePiece piece;
  FragmentTimes times;
  for (int i = 0; viewer->take(piece, Deadline()) == LiveViewer::Next::piece; ++i) {
    if (i == 0) times.begin(*piece.header->bytes);
    Bytes own = *piece.bytes;
    times.place(own);
    const auto found = producer_times(own);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NEAR(found[0].shown, i * 0.04, 1e-4);
    EXPECT_NEAR(static_cast<double>(found[0].utc - taken_at(i * 0.04)), 0, 1) << i;
  }
}

// Its numbers may read like the name of a box that is looked for.
TEST(LiveTimes, AreNoBox) {
  const auto box = producer_time_box(1, utc, 0x74666474);
  Bytes bytes(box.begin(), box.end());
  for (const char c : std::string("....tfdt")) bytes.push_back(static_cast<std::uint8_t>(c));
  for (const std::uint8_t byte : {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 90}) bytes.push_back(byte);
  FragmentTimes().place(bytes);
  EXPECT_EQ(get_big_endian(&bytes[bytes.size() - 8], 8), 0U);
  EXPECT_EQ(get_big_endian(&bytes[producer_media_time_at], 8), 0x74666474U - 90);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
