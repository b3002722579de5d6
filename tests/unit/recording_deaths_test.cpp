// A publisher that dies while it records: what its successor finds in the rig page, and makes of it.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <atomic>
#include <future>

#include "app/publisher/camera_publisher.h"
#include "core/clock.h"
#include "tests/unit/read_back.h"
#include "tests/unit/recording_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::SizeIs;

class RecordingDeaths : public RecordingTest {
 protected:
  // "begin 12-00-00.mp4", "end 12-00-00.mp4 segment", …
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> events;
    for (const auto& line : lines_of(index())) {
      const std::string reason = line.value("reason", "");
      events.push_back(line.at("event").get<std::string>() + " " + line.at("file").get<std::string>() +
                       (reason.empty() ? "" : " " + reason));
    }
    return events;
  }
  // The newest state but for this.
  void change(const std::function<void(RecordProgress& progress)>& how) const {
    RecordProgress progress = *load_record_progress(state());
    how(progress);
    store_record_progress(state(), progress);
  }
  void leave_out_damaged_lines() const {
    std::string whole;
    std::ifstream in(index());
    for (std::string line; std::getline(in, line);) {
      if (nlohmann::json::accept(line)) whole += line + "\n";
    }
    std::ofstream(index()) << whole;
  }
  static std::string name_of(const fs::path& file) { return file.filename(); }
  static double duration_of(const fs::path& file) {
    return std::stod(probe(file, "-show_entries format=duration").at("format").at("duration").get<std::string>());
  }

  Clip clip_ = encode(Latency::low, steady(100));  // 4 s, a key frame every ten
};

// Whatever the camera's key frames are, no more than two seconds of frames are in no file.
TEST_F(RecordingDeaths, AFileHasAllButTheLastSecondsWhereKeyFramesAreFarApart) {
  Clip smart = clip_;
  for (std::size_t i = 0; i < smart.packets.size(); ++i) smart.packets[i].key = i == 0 || i == 70;
  begin();
  take(smart, 0, 60);
  EXPECT_EQ(load_record_progress(state())->position.packets, 50U);
  take(smart, 60, 75);
  EXPECT_EQ(load_record_progress(state())->position.packets, 70U) << "a key frame begins a fragment";
  die();
  EXPECT_THAT(packets_of(files_[0]), SizeIs(70));
  begin();
  for (std::size_t i = 70; i < 100; ++i) {  // from the ring, again
    number_ = i;
    take(smart.packets[i], smart.parameters);
  }
  finish();
  EXPECT_THAT(packets_of(files_[0]), SizeIs(100));
  EXPECT_THAT(read_back(files_[0]).shown, SizeIs(100));
}

// As after a power failure: nobody knows of the file but the index, which is read when the next rig runs there.
TEST_F(RecordingDeaths, AFileThatARigLeftOpenGetsItsIndex) {
  begin();
  take(clip_, 0, 50);
  recording_->commit();
  die();
  const auto committed = fs::file_size(files_[0]);
  state().current = 0;
  origin_ += 10 * second;
  begin();
  take(clip_, 50);
  finish();
  const auto lines = lines_of(index());
  const auto end =
      std::ranges::find_if(lines, [](const auto& line) { return line.value("reason", "") == "interrupted"; });
  ASSERT_NE(end, lines.end());
  EXPECT_GT(fs::file_size(files_[0]), committed);
  EXPECT_EQ(end->at("bytes"), fs::file_size(files_[0]));
  EXPECT_NEAR(duration_of(files_[0]), 2, 0.001);
  EXPECT_THAT(packets_of(files_[0]), SizeIs(50));
}

// Between the store that says so, and the file's header and the index.
TEST_F(RecordingDeaths, AFileThatIsOverIsEndedByTheSuccessor) {
  begin();
  take(clip_, 0, 50);
  recording_->commit();
  die();
  change([](RecordProgress& progress) { progress.ended = FileEnd::segment; });
  origin_ += 2 * second;
  begin();
  take(clip_, 50);
  finish();
  ASSERT_THAT(files_, SizeIs(2));
  EXPECT_NEAR(duration_of(files_[0]), 2, 0.001);
  EXPECT_THAT(packets_of(files_[0]), SizeIs(50));
  EXPECT_THAT(packets_of(files_[1]), SizeIs(50));
  const std::string first = name_of(files_[0]);
  const std::string second = name_of(files_[1]);
  EXPECT_THAT(events(), ElementsAre("begin " + first, "end " + first + " segment", "begin " + second,
                                    "end " + second + " stopped"));
}

// Behind the line in the index, and before the store that says that nothing is open any more.
TEST_F(RecordingDeaths, AFileThatHasEndedInTheIndexEndsThereOnce) {
  begin();
  take(clip_, 0, 50);
  recording_->commit();
  const RecordProgress open = *load_record_progress(state());
  finish();
  change([&open](RecordProgress& progress) {
    progress = open;
    progress.ended = FileEnd::stopped;
  });
  begin();
  finish();
  EXPECT_THAT(events(), ElementsAre("begin " + name_of(files_[0]), "end " + name_of(files_[0]) + " stopped"));
}

TEST_F(RecordingDeaths, WhereNothingComesAnyMoreTheFileIsEnded) {
  begin();
  take(clip_, 0, 50);
  recording_->commit();
  die();
  begin();
  finish();
  EXPECT_NEAR(duration_of(files_[0]), 2, 0.001);
  EXPECT_THAT(events(), ElementsAre("begin " + name_of(files_[0]), "end " + name_of(files_[0]) + " stopped"));
  EXPECT_EQ(load_record_progress(state())->recorded, 50U);
}

TEST_F(RecordingDeaths, AtABoundaryTheNextFileBegins) {
  config_.record->segment_duration = std::chrono::seconds(2);
  begin();
  take(clip_, 0, 40);  // until 2.3 s, which is behind the boundary
  recording_->commit();
  die();
  begin();
  take(clip_, 40, 60);
  finish();
  ASSERT_THAT(files_, SizeIs(2));
  EXPECT_THAT(packets_of(files_[0]), SizeIs(40));
  EXPECT_THAT(packets_of(files_[1]), SizeIs(20));
}

// The index is written by another thread. So many of its lines are there when the process dies, behind a change of
// segments: those of the file before may be missing as well.
class IndexIsBehind : public RecordingDeaths, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(By, IndexIsBehind, testing::Values(0, 1, 2, 3));

TEST_P(IndexIsBehind, WhatItLacksIsWrittenByTheSuccessor) {
  config_.record->segment_duration = std::chrono::seconds(2);
  begin();
  take(clip_, 0, 60);  // the first file ends at 1.6 s
  recording_->commit();
  die();
  const auto lines = lines_of(index());
  ASSERT_THAT(lines, SizeIs(3));
  std::ofstream out(index());
  for (int i = 0; i < GetParam(); ++i) out << lines[static_cast<std::size_t>(i)].dump() << '\n';
  out << (GetParam() < 3 ? lines[static_cast<std::size_t>(GetParam())].dump().substr(0, 40) : "");  // cut off
  out.close();
  begin();
  take(clip_, 60, 80);
  finish();
  leave_out_damaged_lines();
  ASSERT_THAT(files_, SizeIs(2));
  const std::string first = name_of(files_[0]);
  const std::string second = name_of(files_[1]);
  ASSERT_THAT(events(), ElementsAre("begin " + first, "end " + first + " segment", "begin " + second,
                                    "end " + second + " stopped"));
  const auto end = lines_of(index())[1];
  EXPECT_EQ(end.at("packets"), 40);
  EXPECT_EQ(end.at("bytes"), fs::file_size(files_[0]));
  EXPECT_NEAR(end.at("duration_s").get<double>(), 1.6, 0.001);
  for (const char* key : {"start", "end", "clock"}) EXPECT_EQ(end.at(key), lines[1].at(key)) << key;
}

// Stored, and not made yet; or made, and nothing is in it.
TEST_F(RecordingDeaths, AFileThatWasAboutToBeMadeIsMade) {
  for (const bool made : {false, true}) {
    SCOPED_TRACE(made);
    const fs::path file = folder() / "dock" / (made ? "made.mp4" : "missing.mp4");
    fs::create_directories(file.parent_path());
    if (made) std::ofstream(file) << "half a header";
    store_record_file(state(), {file, clip_.parameters, {}, 0, origin_, false},
                      {.position = {}, .number = number_, .recorded = number_, .open = true});
    begin();
    take(clip_);
    finish();
    EXPECT_THAT(packets_of(file), SizeIs(100));
    EXPECT_EQ(read_back(file).warnings, 0);
  }
  EXPECT_THAT(files_, ElementsAre(folder() / "dock" / "missing.mp4", folder() / "dock" / "made.mp4")) << "no other";
  EXPECT_THAT(events(),
              ElementsAre("begin missing.mp4", "end missing.mp4 stopped", "begin made.mp4", "end made.mp4 stopped"));
}

TEST_F(RecordingDeaths, AnEmptyFileThatNothingCameIntoIsRemoved) {
  const fs::path file = folder() / "dock" / "made.mp4";
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "half a header";
  store_record_file(state(), {file, clip_.parameters, {}, 0, origin_, false}, {.position = {}, .open = true});
  begin();
  finish();
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(events().back(), "deleted made.mp4 empty");
  EXPECT_FALSE(load_record_progress(state())->open);
}

// A GOP whose beginning is gone cannot be decoded: it is in no file, and that is known.
TEST_F(RecordingDeaths, WhatIsInNoFileIsCounted) {
  begin();
  take(clip_, 0, 15);
  recording_->commit();
  die();
  fs::remove(files_[0]);
  begin();
  take(clip_, 15);
  finish();
  ASSERT_THAT(files_, SizeIs(2));
  EXPECT_THAT(packets_of(files_[1]), SizeIs(80));
  EXPECT_EQ(unrecorded(), 5U);
  EXPECT_EQ(load_record_progress(state())->recorded + unrecorded(), number_);
}

TEST_F(RecordingDeaths, WhatWasCountedIsNotCountedAgain) {
  begin();
  take(clip_, 0, 20);
  const std::uint64_t safe = recording_->safe();
  fs::rename(folder() / "dock", folder() / "elsewhere");  // at once, whatever is just being written there
  std::ofstream(folder() / "dock") << "in the way";
  take(clip_, 20, 35);
  EXPECT_THAT(paused_, SizeIs(1));
  const std::uint64_t missing = unrecorded();
  EXPECT_EQ(missing, 35 - safe);
  EXPECT_EQ(load_record_progress(state())->number, 35U) << "a successor does not take them again";
  die();
  begin();
  take(clip_, 35, 37);
  EXPECT_EQ(unrecorded(), missing + 2) << "the successor has no key frame to begin with";
  finish();
}

// A rig that ends closes its files in time, though the camera goes on.
TEST_F(RecordingDeaths, AFileIsClosedWhilePacketsStillCome) {
  CameraPublisher::Events events;
  std::promise<void> done;
  std::atomic<bool> begun{false};
  events.on_ring_done = events.on_audio_ring_done = [](std::uint64_t) {};
  events.on_record_failed = events.on_record_paused = [](const std::string& reason) { ADD_FAILURE() << reason; };
  events.on_file = [&](const std::string& path) { files_.push_back(path), begun = true; };
  events.on_done = [&] { done.set_value(); };
  CameraPublisher publisher(OutputId(0), config_, page_, events, house_, nullptr, true, run_);
  const auto ring = PacketRingMemory::create(1 << 20, 1, 0);
  std::jthread camera([&](const std::stop_token& stopping) {
    PacketRingWriter writer(ring);
    for (std::size_t i = 0; !stopping.stop_requested(); ++i) {
      Packet packet = clip_.packets[i % clip_.packets.size()];
      packet.dts = packet.times.pts = static_cast<std::int64_t>(i) * 40 * ms;
      writer.push(packet.view(), Clock::now(), [] { return false; });  // what has no room is left out
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  publisher.add({ring, 1, clip_.parameters});
  const Deadline deadline = Clock::now() + std::chrono::seconds(30);
  while (!begun && Clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  publisher.abandon();
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  camera = {};
  ASSERT_THAT(files_, SizeIs(1));
  EXPECT_EQ(lines_of(index()).back().at("reason"), "stopped");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
