// Which file a frame is in, how that is named and where it begins: by when the frame was taken, however late it came.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/utc_text.h"
#include "tests/unit/recording_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;

class RecordingTimes : public RecordingTest {
 protected:
  RecordingTimes() {
    config_.record->path = folder() / "{camera}" / "%H-%M-%S.mp4";
    config_.record->segment_duration = std::chrono::seconds(2);
  }

  // A frame each 40 ms, and a key frame each 0.4 s, from `taken_` on. Each comes so much later as `late` says.
  void take_late(CaptureClock clock, const std::function<std::int64_t(std::size_t)>& late) {
    const Clip clip = encode(Latency::low, steady(150));
    begin();
    for (std::size_t i = 0; i < clip.packets.size(); ++i) {
      Packet packet = clip.packets[i];
      packet.times.capture_utc = taken_ + packet.times.pts;
      packet.times.capture_clock = clock;
      packet.times.arrival = now_ns() + (packet.times.capture_utc + late(i) - utc_now_ns());
      recording_->take(packet.view(), ++number_, clip.parameters);
      recording_->tick();
    }
    finish();
  }

  // Begun by when their first frames were taken: at once, and at the first key frame behind each boundary.
  void expect_files() const {
    std::vector<std::int64_t> starts{taken_};
    for (std::int64_t key = taken_; key < taken_ + 6 * second; key += 400 * ms) {
      if (key / (2 * second) > starts.back() / (2 * second)) starts.push_back(key);
    }
    ASSERT_EQ(files_.size(), starts.size());
    const auto lines = lines_of(index());
    ASSERT_EQ(lines.size(), 2 * starts.size());
    std::size_t packets = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(files_[i], expand_record_path(config_.record->path, "dock", "main", starts[i] / second));
      EXPECT_EQ(lines[2 * i].at("start"), utc_text(starts[i]));
      EXPECT_EQ(lines[2 * i + 1].at("start"), utc_text(starts[i]));
      packets += packets_of(files_[i]).size();
    }
    EXPECT_EQ(packets, 150U);
  }

  const std::int64_t taken_ = origin_ - 300 * ms;  // 0.4 s behind a boundary of two seconds
};

TEST_F(RecordingTimes, OfTheFirstFileAreThoseOfItsFirstFrame) {
  // What was read to learn what the stream is.
  take_late(CaptureClock::arrival,
            [](std::size_t i) { return i < 60 ? 2400 * ms - static_cast<std::int64_t>(i) * 40 * ms : 0; });
  expect_files();
}

TEST_F(RecordingTimes, AreThoseOfTheFramesWhereTheyComeLate) {
  take_late(CaptureClock::arrival, [](std::size_t i) { return i % 70 > 35 ? 1700 * ms : 90 * ms; });
  expect_files();
}

TEST_F(RecordingTimes, AreThoseOfTheCamerasClock) {
  take_late(CaptureClock::camera, [](std::size_t) { return -3300 * ms; });
  expect_files();
}

// "start + place in the file" holds for all of a file but its last seconds.
TEST_F(RecordingTimes, OfACameraThatSetsItsClockBeginAnew) {
  config_.record->segment_duration = std::chrono::seconds(0);
  const Clip clip = encode(Latency::low, steady(450));
  for (const std::int64_t set_by : {3 * second, -3 * second}) {
    SCOPED_TRACE(set_by / second);
    files_.clear();
    begin();
    for (std::size_t i = 0; i < clip.packets.size(); ++i) {
      Packet packet = clip.packets[i];
      // Reports come every few seconds, and their times are not quite even.
      packet.times.capture_utc = taken_ + packet.times.pts + (i % 2 == 0 ? 3 * ms : 0) + (i < 12 ? 0 : set_by);
      packet.times.capture_clock = CaptureClock::camera;
      take(packet, clip.parameters);
    }
    finish();
    ASSERT_EQ(files_.size(), 2U);
    EXPECT_EQ(packets_of(files_[0]).size(), 250U) << "not more often than each ten seconds";
    EXPECT_EQ(packets_of(files_[1]).size(), 200U);
    const auto lines = lines_of(index());
    const auto& first = lines[lines.size() - 3];
    const auto& next = lines[lines.size() - 1];
    const auto lasts = [](const auto& line) {
      return static_cast<double>(*utc_from_text(line.at("end")) - *utc_from_text(line.at("start"))) / 1e9;
    };
    EXPECT_NEAR(lasts(first), first.at("duration_s"), 0.01);
    EXPECT_NEAR(lasts(next), next.at("duration_s"), 0.01);
    EXPECT_NEAR(static_cast<double>(*utc_from_text(next.at("start")) - taken_ - set_by) / 1e9, 10, 0.01);
  }
}

// Two frames that come behind each key frame are shown before it, and refer to what is in the file before.
TEST_F(RecordingTimes, OfFramesThatLeadUpToAKeyFrameStayWhatTheyAre) {
  Clip clip = encode(Latency::low, steady(150));
  std::vector<Packet>& packets = clip.packets;
  for (std::size_t key = 10; key < packets.size(); key += 10) {
    std::rotate(packets.begin() + static_cast<std::ptrdiff_t>(key) - 2,
                packets.begin() + static_cast<std::ptrdiff_t>(key),
                packets.begin() + static_cast<std::ptrdiff_t>(key) + 1);
  }
  for (std::size_t i = 0; i < packets.size(); ++i) packets[i].dts = (static_cast<std::int64_t>(i) - 2) * 40 * ms;
  begin();
  take(clip, 8);  // the first file begins with two frames that nobody can decode
  finish();
  ASSERT_EQ(files_.size(), 4U);
  EXPECT_EQ(unrecorded(), 2U);
  std::vector<double> shown;
  double begins = static_cast<double>(packets[8].times.pts) / 1e9;
  for (const std::string& file : files_) {
    for (const ProbedPacket& packet : packets_of(file)) shown.push_back(begins + packet.pts);
    begins += std::stod(probe(file, "-show_entries format=duration").at("format").value("duration", "0"));
  }
  std::ranges::sort(shown);
  ASSERT_EQ(shown.size(), 140U);
  for (std::size_t i = 1; i < shown.size(); ++i) EXPECT_NEAR(shown[i] - shown[i - 1], 0.04, 0.001) << i;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
