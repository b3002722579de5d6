#include "app/publisher/recording/recording.h"

#include <gmock/gmock.h>

#include <ctime>

#include "core/clock.h"
#include "core/utc_text.h"
#include "tests/unit/read_back.h"
#include "tests/unit/recording_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::int64_t utc(int year, int month, int day, int hour, int minute, int seconds) {
  std::tm time{};
  time.tm_year = year - 1900;
  time.tm_mon = month - 1;
  time.tm_mday = day;
  time.tm_hour = hour;
  time.tm_min = minute;
  time.tm_sec = seconds;
  return std::int64_t{::timegm(&time)} * second;
}

class LocalTime {
 public:
  explicit LocalTime(const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  ~LocalTime() {
    ::unsetenv("TZ");
    ::tzset();
  }
  LocalTime(const LocalTime&) = delete;
  LocalTime& operator=(const LocalTime&) = delete;
};

TEST(SegmentBoundary, IsWhatTheLocalClockShows) {
  using namespace std::chrono_literals;
  const LocalTime zone("Asia/Kolkata");  // five and a half hours ahead
  EXPECT_EQ(next_segment_boundary(utc(2026, 5, 1, 12, 3, 4) + 5, 10min), utc(2026, 5, 1, 12, 10, 0));
  EXPECT_EQ(next_segment_boundary(utc(2026, 5, 1, 12, 10, 0), 10min), utc(2026, 5, 1, 12, 20, 0));
  EXPECT_EQ(next_segment_boundary(utc(2026, 5, 1, 12, 0, 0), 1h), utc(2026, 5, 1, 12, 30, 0));
  EXPECT_EQ(next_segment_boundary(utc(2026, 5, 1, 12, 0, 0), 24h), utc(2026, 5, 1, 18, 30, 0));
  EXPECT_EQ(next_segment_boundary(utc(2026, 5, 1, 12, 0, 0), 1500ms), utc(2026, 5, 1, 12, 0, 1) + 500 * ms);
}

TEST(SegmentBoundary, IsMidnightAfterDaysOfAnyLength) {
  using namespace std::chrono_literals;
  const LocalTime zone("Europe/Berlin");
  EXPECT_EQ(next_segment_boundary(utc(2026, 3, 28, 23, 0, 0), 24h), utc(2026, 3, 29, 22, 0, 0)) << "23 hours";
  EXPECT_EQ(next_segment_boundary(utc(2026, 10, 24, 22, 0, 0), 24h), utc(2026, 10, 25, 23, 0, 0)) << "25 hours";
  for (int minute = 0; minute < 180; ++minute) {  // around the hour that comes twice
    const std::int64_t now = utc(2026, 10, 24, 23, minute, 1);
    const std::int64_t next = next_segment_boundary(now, 10min);
    EXPECT_GT(next, now) << minute;
    EXPECT_LE(next, now + 600 * second) << minute;
  }
}

// Where a player begins and how long it says that the file is; seconds.
std::pair<double, double> extent_of(const fs::path& file) {
  const auto format = probe(file, "-show_entries format=start_time,duration").at("format");
  return {std::stod(format.value("start_time", "-1")), std::stod(format.value("duration", "-1"))};
}

class Segments : public RecordingTest, public testing::WithParamInterface<std::tuple<std::string, Latency>> {};
INSTANTIATE_TEST_SUITE_P(All, Segments,
                         testing::Combine(testing::Values("mp4", "mkv"),
                                          testing::Values(Latency::low, Latency::normal)),
                         [](const auto& one) {
                           return std::get<0>(one.param) + (std::get<1>(one.param) == Latency::low ? "Low" : "Normal");
                         });

TEST_P(Segments, MeetAtTheWallClocksBoundaries) {
  const auto& [ending, latency] = GetParam();
  config_.record->path = folder() / "{camera}" / ("%H-%M-%S." + ending);
  config_.record->segment_duration = std::chrono::seconds(2);
  const Clip clip = encode(latency, steady(200));  // 8 s, from 0.7 s behind a boundary on
  begin();
  take(clip);
  finish();
  ASSERT_THAT(files_, SizeIs(5));
  std::size_t packets = 0;
  double sum = 0;
  std::ofstream list(folder() / "list");
  for (std::size_t i = 0; i < files_.size(); ++i) {
    SCOPED_TRACE(files_[i]);
    // Key frames come at 0.7, 1.1, 1.5, 1.9, 2.3 s: the first one behind each boundary is 0.3 s late.
    const std::int64_t start = i == 0 ? origin_ : origin_ + static_cast<std::int64_t>(i) * 2 * second - 400 * ms;
    EXPECT_EQ(files_[i], expand_record_path(config_.record->path, "dock", "main", start / second));
    const auto found = packets_of(files_[i]);
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(found.front().key);
    packets += found.size();
    const auto& [start_s, duration_s] = extent_of(files_[i]);
    EXPECT_EQ(start_s, 0) << "whatever the stream's time is";
    EXPECT_NEAR(duration_s, i == 0 ? 1.6 : i == 4 ? 0.4 : 2.0, 0.002) << "until the next one begins";
    sum += duration_s;
    EXPECT_EQ(read_back(files_[i]).warnings, 0);
    list << "file '" << files_[i] << "'\n";
  }
  EXPECT_EQ(packets, clip.packets.size());
  list.close();
  const fs::path joined = folder() / ("joined." + ending);
  output_of("ffmpeg -v error -f concat -safe 0 -i '" + (folder() / "list").string() + "' -c copy '" + joined.string() +
            "' 2>&1");
  EXPECT_NEAR(extent_of(joined).second, sum, 0.05);
  EXPECT_NEAR(sum, 8, 0.01);
  EXPECT_EQ(load_record_progress(state())->recorded, clip.packets.size());
}

TEST_F(RecordingTest, TellsOfItsFilesInAnIndex) {
  config_.record->segment_duration = std::chrono::seconds(2);
  Clip clip = encode(Latency::low, steady(100));
  for (Packet& packet : clip.packets) {
    packet.times.capture_utc = utc(2001, 2, 3, 4, 5, 6) + 400 * ms + packet.times.pts;
    packet.times.capture_clock = CaptureClock::camera;
  }
  begin();
  take(clip);
  finish();
  EXPECT_EQ(index(), folder() / "dock" / "dock.index.jsonl");
  const auto lines = lines_of(index());
  ASSERT_THAT(lines, SizeIs(6));
  ASSERT_THAT(files_, SizeIs(3));
  EXPECT_EQ(lines[0].at("event"), "begin");
  EXPECT_EQ(lines[1].at("event"), "end");
  EXPECT_EQ(lines[1].at("file"), fs::path(files_[0]).filename().string());
  EXPECT_EQ(lines[1].at("start"), "2001-02-03T04:05:06.400Z");
  EXPECT_EQ(lines[1].at("end"), "2001-02-03T04:05:08.000Z");
  EXPECT_EQ(lines[1].at("clock"), "camera");
  EXPECT_EQ(lines[1].at("duration_s"), 1.6);
  EXPECT_EQ(lines[1].at("bytes"), fs::file_size(files_[0]));
  EXPECT_EQ(lines[1].at("packets"), packets_of(files_[0]).size());
  EXPECT_EQ(lines[1].at("reason"), "segment");
  EXPECT_EQ(lines[5].at("reason"), "stopped");
  const auto tags = probe(files_[0], "-show_format").at("format").at("tags");
  EXPECT_EQ(tags.at("creation_time"), "2001-02-03T04:05:06.000000Z");
}

// A disk that is mounted late, or comes back.
TEST_F(RecordingTest, GoesOnByTheIndexOfTheFolderThatIsThere) {
  const Clip clip = encode(Latency::low, steady(250));
  const fs::path there = folder() / "dock";
  const auto listed_in = [](const fs::path& in) {
    std::set<std::string> names;
    for (const auto& line : lines_of(in / "dock.index.jsonl")) {
      if (line.value("event", "") == "begin") names.insert(line.at("file"));
      if (line.value("event", "") == "deleted") names.erase(line.at("file"));
    }
    return names;
  };
  const auto files_in = [](const fs::path& in) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(in)) {
      if (entry.path().extension() == ".mp4") names.insert(entry.path().filename());
    }
    return names;
  };
  const auto take_into_another = [&] {
    const std::size_t before = files_.size();
    take_until(clip, [&] { return files_.size() > before; });
    recording_->commit();  // a file without a frame would be deleted
    rest();
  };
  begin();
  take_into_another();
  fs::rename(there, folder() / "first");
  take_into_another();
  EXPECT_EQ(listed_in(there), files_in(there));
  fs::rename(there, folder() / "second");
  fs::rename(folder() / "first", there);
  take_into_another();
  finish();
  EXPECT_EQ(listed_in(there), files_in(there));
  EXPECT_EQ(files_in(there).size(), 2U);
  EXPECT_EQ(listed_in(folder() / "second"), files_in(folder() / "second"));
  EXPECT_EQ(files_in(folder() / "second").size(), 1U);
}

TEST_F(RecordingTest, OutputsHaveAnIndexOfTheirOwn) {
  EXPECT_EQ(record_index_path("a/{camera}/%Y/x.mp4", "dock", "main"), "a/dock/dock.index.jsonl");
  EXPECT_EQ(record_index_path("a/{camera}/%Y/x.mp4", "dock", "small"), "a/dock/dock.small.index.jsonl");
  EXPECT_EQ(record_index_path("{camera}-%Y.mp4", "dock", "main"), "./dock.index.jsonl");
}

// Several nodes of a cluster may record into one folder.
TEST_F(RecordingTest, InAClusterFilesSayWhoMadeThem) {
  config_.node = "west";
  EXPECT_EQ(record_index_path("a/{camera}/%Y/x.mp4", "dock", "small", "west"), "a/dock/dock.small@west.index.jsonl");
  const Clip clip = encode(Latency::low, steady(60));
  const fs::path of_east = folder() / "dock" / "dock@east.index.jsonl";
  RecordLock east(of_east);
  east.take();
  begin();
  recording_->set_fence("1.0000000057");
  take(clip, 0, 20);
  const std::uint64_t safe = recording_->safe();
  ASSERT_EQ(safe, 10U);
  die();
  begin();  // a successor goes on in that file
  recording_->set_fence("1.0000000057");
  number_ = safe;
  take(clip, safe, 25);
  recording_->set_fence("1.0000000060");
  take(clip, 25);
  finish();
  ASSERT_THAT(files_, SizeIs(2));
  const std::string before = expand_record_path(config_.record->path, "dock", "main", origin_ / second);
  EXPECT_EQ(files_[0], before.substr(0, before.size() - 4) + "@west@1.0000000057.mp4");
  EXPECT_THAT(files_[1], HasSubstr("@west@1.0000000060.mp4")) << "from the next key frame on";
  EXPECT_EQ(packets_of(files_[0]).size(), 30U);
  EXPECT_EQ(packets_of(files_[1]).size(), 30U);
  const fs::path index = folder() / "dock" / "dock@west.index.jsonl";
  EXPECT_EQ(lines_of(index).size(), 4U);
  EXPECT_FALSE(fs::exists(of_east)) << "the folder's other indexes are none of its business";
}

// Packets that have come meanwhile, and the key frame that ends the file, have the new time.
TEST_F(RecordingTest, AClockThatWasSetBeginsAFileThatIsNamedByIt) {
  const Clip clip = encode(Latency::low, steady(60));
  for (const std::int64_t set_by : {3600 * second, -3600 * second}) {
    SCOPED_TRACE(set_by / second);
    files_.clear();
    begin();
    take(clip, 0, 12);
    origin_ += set_by;
    take(clip, 12, 15);
    recording_->clock_jumped();
    take(clip, 15);
    finish();
    ASSERT_THAT(files_, SizeIs(2));
    const std::int64_t next = origin_ + clip.packets[20].times.pts - clip.packets[0].times.pts;
    const std::string path = expand_record_path(config_.record->path, "dock", "main", next / second);
    EXPECT_EQ(files_[1], path);
    EXPECT_EQ(packets_of(files_[0]).size() + packets_of(files_[1]).size(), clip.packets.size());
    EXPECT_EQ(packets_of(files_[0]).size(), 20U) << "up to the next key frame";
    EXPECT_EQ(unrecorded(), 0U);
    const auto lines = lines_of(index());
    ASSERT_GE(lines.size(), 4U);
    const auto& ended = lines[lines.size() - 3];
    EXPECT_EQ(ended.at("event"), "end");
    EXPECT_NEAR(static_cast<double>(*utc_from_text(ended.at("end")) - *utc_from_text(ended.at("start"))) / second, 0.8,
                0.01);
  }
}

TEST_F(RecordingTest, GoesOnInTheFileOfADeadPublisher) {
  config_.record->segment_duration = std::chrono::seconds(2);
  const Clip clip = encode(Latency::low, steady(100));
  begin();
  take(clip, 0, 70);
  const std::uint64_t safe = recording_->safe();
  EXPECT_EQ(safe, 60U) << "up to the last key frame";
  die();
  begin();
  number_ = safe;
  take(clip, safe);
  finish();
  ASSERT_THAT(files_, SizeIs(3));
  std::size_t packets = 0;
  for (const std::string& file : files_) packets += packets_of(file).size();
  EXPECT_EQ(packets, clip.packets.size()) << "none twice, none missing";
  const auto lines = lines_of(index());
  EXPECT_EQ(lines.size(), 6U) << "one line for each beginning, one for each end";
  EXPECT_EQ(lines[3].at("packets"), 50);
  EXPECT_EQ(lines[3].at("duration_s"), 2.0);
}

TEST_F(RecordingTest, ClosesInTheIndexWhatAKillLeftOpen) {
  const Clip clip = encode(Latency::low, steady(60));
  begin();
  take(clip);
  die();
  page_ = RigPage::create(1);  // all processes have died
  origin_ += 60 * second;
  begin();
  take(clip);
  finish();
  const auto lines = lines_of(index());
  ASSERT_THAT(lines, SizeIs(4));
  const auto end =  // the index is read while the next file is recorded
      std::ranges::find_if(lines, [](const auto& line) { return line.value("reason", "") == "interrupted"; });
  ASSERT_NE(end, lines.end());
  EXPECT_EQ(end->at("event"), "end");
  EXPECT_EQ(end->at("file"), lines[0].at("file"));
  EXPECT_EQ(end->at("bytes"), fs::file_size(files_[0]));
  EXPECT_EQ(packets_of(files_[0]).size(), std::size_t{50}) << "at most one group of frames is lost";
}

TEST_F(RecordingTest, BeginsANewFileForAnotherStream) {
  const Clip clip = encode(Latency::low, steady(30));
  Clip other = encode(Latency::normal, steady(30, 2 * second));
  ASSERT_NE(clip.parameters, other.parameters);
  begin();
  take(clip);
  take(other);
  finish();
  ASSERT_THAT(files_, SizeIs(2));
  EXPECT_EQ(lines_of(index())[1].at("reason"), "stream changed");
  EXPECT_EQ(packets_of(files_[0]).size(), std::size_t{30});
  EXPECT_EQ(packets_of(files_[1]).size(), std::size_t{30});
}

TEST_F(RecordingTest, NamesARemedyThatHelps) {
  for (const char* codec : {"gif", "flv1", "wmv2"}) {
    Clip clip = encode(Latency::low, steady(5));
    clip.parameters.codec = codec;
    failed_.clear();
    page_ = RigPage::create(1);
    begin();
    take(clip);
    EXPECT_THAT(failed_, ElementsAre(testing::AllOf(HasSubstr("another codec"), testing::Not(HasSubstr(".mkv can")))));
    finish();
  }
}

TEST_F(RecordingTest, AStreamWithoutItsHeadersIsWaitedForAndSaidSo) {
  const Clip clip = encode(Latency::low, steady(1));
  StreamParameters bare = clip.parameters;
  bare.extradata.clear();
  begin();
  for (int i = 0; i < 5; ++i) {
    Packet packet = clip.packets[0];
    packet.data = {0, 0, 0, 1, 0x65, 0x88, 0x84, 0, 0x10};  // a key frame by itself
    packet.times.pts = packet.dts = i * 40 * ms;
    take(packet, bare);
  }
  EXPECT_THAT(paused_, ElementsAre(HasSubstr("sends no parameter sets of h264")));
  EXPECT_EQ(unrecorded(), 5U);
  finish();
}

// A camera that alternates between two sizes makes no file for each moment.
TEST_F(RecordingTest, AStreamThatChangesAgainAndAgainIsWaitedFor) {
  const Clip clip = encode(Latency::low, steady(1));
  begin();
  for (int i = 0; i < 200; ++i) {
    Packet packet = clip.packets[0];
    packet.times.pts = packet.dts = i * 40 * ms;
    StreamParameters stream = clip.parameters;
    stream.frame_rate = i % 2 == 0 ? 25 : 12.5;
    take(packet, stream);
  }
  const std::uint64_t missing = unrecorded();
  finish();
  EXPECT_THAT(paused_, ElementsAre(HasSubstr("the stream changes")));
  EXPECT_LE(files_.size(), 20U);
  EXPECT_EQ(files_.size() + missing, 200U) << "what is not recorded is counted";
}

TEST_F(RecordingTest, OverwritesWhatAnotherRunLeftAndNothingOfItsOwn) {
  config_.record->path = folder() / "{camera}.mp4";
  config_.record->overwrite = true;
  std::ofstream(folder() / "dock.mp4") << "of yesterday";
  fs::last_write_time(folder() / "dock.mp4", fs::file_time_type::clock::now() - std::chrono::hours(24));
  const Clip clip = encode(Latency::low, steady(30));
  const Clip other = encode(Latency::normal, steady(30, 2 * second));
  begin();
  take(clip);
  take(other);
  finish();
  EXPECT_THAT(files_, ElementsAre(folder() / "dock.mp4", folder() / "dock-1.mp4"));
  EXPECT_EQ(packets_of(files_[0]).size(), std::size_t{30});
}

// The supervisor has forgotten what the camera recorded before it was changed.
TEST_F(RecordingTest, OverwritesNothingOfItsOwnRunWhereACameraComesAnew) {
  config_.record->path = folder() / "{camera}.mp4";
  config_.record->overwrite = true;
  for (int i = 0; i < 2; ++i) {
    begin();
    take(encode(Latency::low, steady(30, i * 2 * second)));
    finish();
    page_ = RigPage::create(1);
  }
  EXPECT_THAT(files_, ElementsAre(folder() / "dock.mp4", folder() / "dock-1.mp4"));
  EXPECT_EQ(packets_of(files_[0]).size(), std::size_t{30});
}

TEST_F(RecordingTest, OverwritesWhatAnEarlierHourLeft) {
  config_.record->path = folder() / "{camera}" / "%M.mp4";
  config_.record->overwrite = true;
  for (int i = 0; i < 2; ++i) {
    begin();
    take(encode(Latency::low, steady(30)));
    finish();
    page_ = RigPage::create(1);
    origin_ += 3600 * second;
  }
  EXPECT_THAT(files_, SizeIs(2));
  EXPECT_EQ(files_[0], files_[1]);
}

// The rig page is as it was at some moment of the store: the old file with the old counters, or the new one.
TEST_F(RecordingTest, ADeathWhileItsStateIsStoredChangesNothing) {
  const Clip clip = encode(Latency::low, steady(20));
  store_record_file(state(), {"first.mp4", clip.parameters, {}, 1, 3, true},
                    {.position = {}, .number = 7, .recorded = 5, .open = true});
  const std::uint32_t before = state().current;
  store_record_file(state(), {"second.mp4", clip.parameters, {}, 4, 6, false},
                    {.position = {}, .number = 9, .recorded = 8});
  EXPECT_EQ(load_record_file(state())->path, "second.mp4");
  state().current = before;  // all but the last store has happened
  EXPECT_EQ(load_record_file(state())->path, "first.mp4");
  EXPECT_EQ(load_record_file(state())->begin, 1);
  EXPECT_EQ(load_record_progress(state())->recorded, 5U);
  EXPECT_EQ(load_record_progress(state())->number, 7U);
  EXPECT_TRUE(load_record_progress(state())->open);
}

TEST_F(RecordingTest, EndsWhereNoWaitingHelps) {
  Clip clip = encode(Latency::low, steady(5));
  clip.parameters.codec = "vp8";
  begin();
  take(clip);
  EXPECT_THAT(failed_, ElementsAre(HasSubstr("cannot hold vp8; one that ends in .mkv can")));
  EXPECT_THAT(paused_, IsEmpty());
  EXPECT_EQ(recording_->safe(), 5U);
  EXPECT_EQ(state().failed, 1U);
  finish();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
