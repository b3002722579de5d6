// The publisher dies while it records segments: its successor goes on in the file that was open, and over all files
// each frame is there once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;

std::string segments_rig(int frames) {
  return "http_address: off\nrtsp_address: off\ncameras:\n  cam:\n    source: "
         "\"test://pattern?width=320&height=240&rate=25&frames=" +
         std::to_string(frames) +
         "\"\n    encode: {gop: 10, bitrate: 1M}\n"
         "    record: {path: \"{camera}/%Y%m%d-%H%M%S.mp4\", segment_duration: 1s}\n";
}

std::vector<fs::path> recordings_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".mp4") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<nlohmann::json> lines_of(const fs::path& file) {
  std::vector<nlohmann::json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// A file that is written: frames are in it, not its header alone.
bool has_fragment(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  return bytes.find("moof") != std::string::npos;
}

// Its fragments have become the contents of one box.
bool has_index(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  return bytes.find("mdat") < bytes.find("moov");
}

// How often each file begins and ends in the index.
std::map<std::string, std::map<std::string, int>> events_of(const fs::path& index) {
  std::map<std::string, std::map<std::string, int>> events;
  for (const auto& line : lines_of(index)) ++events[line.at("file")][line.at("event")];
  return events;
}

// One after the other, each at another place: within a file, and between two. So few that they are restarted within a
// second or two.
TEST(PublisherDies, SegmentsGoOn) {
  constexpr int frames = 225;
  const std::vector<std::string> places{"publisher.storing:3", "publisher.creating:2", "index.ending:2",
                                        "recording.index_appended:2"};
  const TemporaryFolder folder;
  std::string failpoints;
  std::map<std::string, fs::path> pending;
  for (const std::string& place : places) {
    std::ofstream(pending[place] = folder.path() / std::to_string(pending.size())).put('\n');
    failpoints += place + "=kill_once" + pending[place].string() + ",";
  }
  RigRun rig(segments_rig(frames), {.failpoints = failpoints});
  ASSERT_EQ(rig.wait(2 * long_time), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  for (const auto& [place, file] : pending) EXPECT_FALSE(fs::exists(file)) << "none died at " << place << rig.log();
  // The index has a thread of its own, which may come to its place in the moment in which the camera's does.
  const std::size_t restarts = rig.report().at("publisher_restarts");
  EXPECT_TRUE(restarts == pending.size() || restarts + 1 == pending.size()) << rig.log();
  EXPECT_EQ(rig.camera("cam").at("frames").at("recorded"), frames);
  EXPECT_EQ(rig.camera("cam").at("frames").at("unrecorded"), 0);
  std::vector<std::int64_t> numbers;
  double seconds = 0;
  const auto files = recordings_in(rig.file("cam"));
  EXPECT_GE(static_cast<int>(files.size()), frames / 25 - 1);
  for (const fs::path& file : files) {
    const VideoFile video = read_video(file);
    EXPECT_EQ(video.complaints, 0) << file << video.text;
    EXPECT_EQ(video.start_s, 0) << file;
    EXPECT_TRUE(has_index(file)) << file;
    seconds += video.duration_s;
    const auto more = numbers_of(video);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  EXPECT_NEAR(seconds, frames / 25.0, 0.2);
  ASSERT_EQ(numbers.size(), static_cast<std::size_t>(frames));
  for (int i = 0; i < frames; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i);
  const auto events = events_of(rig.file("cam") / "cam.index.jsonl");
  EXPECT_EQ(events.size(), files.size());
  for (const auto& [file, counts] : events) {
    EXPECT_THAT(counts, testing::UnorderedElementsAre(testing::Pair("begin", 1), testing::Pair("end", 1))) << file;
  }
  for (const auto& line : lines_of(rig.file("cam") / "cam.index.jsonl")) {
    if (line.at("event") != "end") continue;
    EXPECT_THAT(line.at("reason"), testing::AnyOf("segment", "stopped")) << line;
    EXPECT_TRUE(line.contains("packets")) << line;
  }
}

// Recordings whose folder has become something else; one of them is stopped then.
TEST(RecordingPaused, AtTheEndIsAFailureUnlessItIsStopped) {
  const auto port = static_cast<std::uint16_t>(free_port());
  RigRun rig("http_address: 127.0.0.1:" + std::to_string(port) +
             "\nrtsp_address: off\ndefaults:\n  source: \"test://pattern?width=320&height=240&rate=25\"\n"
             "  encode: {gop: 10, bitrate: 1M}\n  record: {path: \"rec/{camera}.mp4\"}\ncameras:\n  cam: {}\n"
             "  stopped: {}\n");
  const auto paused = [&](const std::string& camera) {
    return nlohmann::json::parse(ask(port, "GET /api/v1/cameras/" + camera).body).contains("recording_paused");
  };
  for (const char* file : {"rec/cam.mp4", "rec/stopped.mp4"}) ASSERT_TRUE(rig.wait_for_growth(file, 2000)) << rig.log();
  fs::rename(rig.file("rec"), rig.file("old"));
  std::ofstream(rig.file("rec")) << "in the way";
  ASSERT_TRUE(eventually([&] { return paused("cam") && paused("stopped"); })) << rig.log();
  const std::string json = "Content-Type: application/json\r\n";
  EXPECT_EQ(ask(port, "POST /api/v1/cameras/stopped/stop-recording", json, "{}").status, 200);
  EXPECT_TRUE(eventually([&] { return !paused("stopped"); })) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  EXPECT_TRUE(rig.camera("cam").contains("recording_paused"));
  EXPECT_FALSE(rig.camera("stopped").contains("recording_paused"));
  const auto frames = rig.camera("cam").at("frames");
  EXPECT_GT(frames.at("unrecorded"), 0);
  EXPECT_EQ(frames.at("recorded").get<int>() + frames.at("unrecorded").get<int>(), frames.at("encoded")) << frames;
}

// As on a network disk whose server is gone: who opens a file there waits. Only the thread that keeps the index does.
TEST(DiskHangs, NobodyWaitsForAnIndex) {
  const TemporaryFolder folder;
  const auto port = static_cast<std::uint16_t>(free_port());
  const std::string camera = ":\n    source: \"test://pattern?width=160&height=120&rate=25\"\n    encode: {gop: 10}\n";
  RigRun rig("http_address: 127.0.0.1:" + std::to_string(port) + "\nrtsp_address: off\ncameras:\n  hangs" + camera +
                 "    record: {path: \"" + (folder.path() / "{camera}.mp4").string() + "\", max_size: 1G}\n  well" +
                 camera + "    record: {path: well.mp4}\n",
             {.failpoints = "index.opening@hangs.index.jsonl=hang"});
  for (const fs::path& file : {fs::path("well.mp4"), folder.path() / "hangs.mp4"}) {
    ASSERT_TRUE(rig.wait_for_growth(file, 20'000)) << file << rig.log();
  }
  for (const std::string path : {"status", "cameras/hangs", "recordings"}) {
    EXPECT_EQ(ask(port, "GET /api/v1/" + path).status, 200) << path;
  }
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(rig.report().at("publisher_restarts"), 0) << rig.log();
  for (const char* name : {"hangs", "well"}) {
    const auto frames = rig.camera(name).at("frames");
    EXPECT_EQ(frames.at("recorded"), frames.at("encoded")) << name;
  }
  for (const fs::path& file : {rig.file("well.mp4"), folder.path() / "hangs.mp4"}) {
    EXPECT_EQ(check_pattern_recording(read_video(file), true), "") << file;
  }
}

// Half a minute, until the thread is taken for hung. Whoever waits for that disk, too, is to blame as well, since each
// of them would have the publisher killed again.
TEST(DiskHangs, APublisherThatWaitsForItIsReplaced) {
  const TemporaryFolder flags;
  const std::string camera =
      ":\n    source: \"test://pattern?width=160&height=120&rate=25\"\n    encode: {gop: 10, bitrate: 100k}\n"
      "    record: {path: \"{camera}.mp4\"}\n";
  const std::vector<std::string> hanging{"hangs", "hangs-too"};
  std::string yaml = "http_address: off\nrtsp_address: off\ncameras:\n  well" + camera;
  std::string failpoints;
  for (const std::string& name : hanging) {
    yaml += "  " + name + camera;
    std::ofstream(flags.path() / name).put('\n');
    failpoints += "publisher.flushed@" + name + ":2=hang_once" + (flags.path() / name).string() + ",";
  }
  RigRun rig(yaml, {.failpoints = failpoints});
  ASSERT_TRUE(eventually([&] { return rig.log().find("publisher died") != std::string::npos; }, 2 * long_time))
      << rig.log();
  EXPECT_THAT(rig.log(), testing::HasSubstr("in its disk"));
  EXPECT_THAT(rig.log(), testing::HasSubstr("waits for its disk, too"));
  for (const char* name : {"well", "hangs", "hangs-too"})
    EXPECT_TRUE(rig.wait_for_growth(name + std::string(".mp4"), rig.size(name + std::string(".mp4")))) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(rig.report().at("publisher_restarts"), 1) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  for (const char* name : {"well", "hangs", "hangs-too"}) {
    const auto frames = rig.camera(name).at("frames");
    EXPECT_EQ(frames.at("recorded"), frames.at("encoded")) << name;
    EXPECT_EQ(check_pattern_recording(read_video(rig.file(name + std::string(".mp4"))), true), "") << name;
  }
}

// Two rigs with the same configuration, started by mistake.
TEST(TwoRigs, TheSecondOneWaitsAndTouchesNothing) {
  const TemporaryFolder folder;
  const std::string yaml =
      "cameras:\n  cam:\n    source: \"test://pattern?width=160&height=120&rate=25\"\n    encode: {gop: 10}\n"
      "    record: {path: \"" +
      (folder.path() / "{camera}-%H%M%S.mp4").string() + "\", segment_duration: 1s, max_size: 1M}\nhttp_address: ";
  const auto first_port = static_cast<std::uint16_t>(free_port());
  RigRun first(yaml + "127.0.0.1:" + std::to_string(first_port) + "\nrtsp_address: off\n");
  ASSERT_TRUE(eventually([&] { return recordings_in(folder.path()).size() >= 2; })) << first.log();
  const auto port = static_cast<std::uint16_t>(free_port());
  RigRun second(yaml + "127.0.0.1:" + std::to_string(port) + "\nrtsp_address: off\n");
  const auto problem = [&]() -> std::string {
    try {
      return nlohmann::json::parse(ask(port, "GET /api/v1/cameras/cam").body).value("recording_paused", "");
    } catch (const std::exception&) {  // nobody answers yet
      return "";
    }
  };
  ASSERT_TRUE(eventually([&] { return second.running() && !problem().empty(); })) << second.log();
  EXPECT_THAT(problem(), testing::HasSubstr("process " + std::to_string(first.supervisor())));
  EXPECT_THAT(problem(), testing::HasSubstr("record.path"));
  const auto files = recordings_in(folder.path()).size();
  ASSERT_TRUE(eventually([&] { return recordings_in(folder.path()).size() >= files + 2; })) << "the first one goes on";
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.log();
  EXPECT_EQ(check_accounting(first.report()), "");
  EXPECT_TRUE(eventually([&] { return second.running() && problem().empty(); })) << second.log();
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait(), 0) << second.log();
  EXPECT_EQ(check_accounting(second.report()), "");
  for (const auto& line : lines_of(folder.path() / "cam.index.jsonl")) {
    EXPECT_NE(line.value("reason", ""), "interrupted") << line << ": by a rig that took the other's file for left open";
  }
}

TEST(RigDies, TheNextOneClosesItsFilesInTheIndex) {
  const std::string yaml = segments_rig(0);
  const TemporaryFolder folder;
  const fs::path index = folder.path() / "cam" / "cam.index.jsonl";
  const std::string here =
      yaml.substr(0, yaml.find("{camera}")) + (folder.path() / "{camera}").string() + yaml.substr(yaml.find("/%Y"));
  const auto is_open = [](const auto& file) { return !file.second.contains("end"); };
  const auto is_left_with_frames = [&](const auto& file) {
    return is_open(file) && has_fragment(index.parent_path() / file.first);
  };
  {
    RigRun rig(here);
    const auto signal_all = [&](int number) {
      for (const pid_t process : rig.processes()) ::kill(process, number);
    };
    // One file is over, and the next one is in the index, too, and has frames in it: without any it would be deleted.
    // All are stopped to look, so that it stays so until all are dead.
    ASSERT_TRUE(eventually([&] {
      signal_all(SIGSTOP);
      try {
        const auto known = events_of(index);
        if (known.size() >= 2 && std::ranges::count_if(known, is_open) == 1 &&
            std::ranges::count_if(known, is_left_with_frames) == 1)
          return true;
      } catch (const nlohmann::json::parse_error&) {  // a line that is being written
      }
      signal_all(SIGCONT);
      return false;
    })) << rig.log();
    signal_all(SIGKILL);
    rig.wait();
  }
  const auto before = events_of(index);
  EXPECT_EQ(std::ranges::count_if(before, is_open), 1);
  RigRun next(here);
  ASSERT_TRUE(eventually([&] {
    try {
      return events_of(index).size() > before.size();
    } catch (const nlohmann::json::parse_error&) {
      return false;  // a line that is being written
    }
  })) << next.log();
  next.signal(SIGTERM);
  ASSERT_EQ(next.wait(), 0) << next.log();
  const auto after = events_of(index);
  EXPECT_EQ(std::ranges::count_if(after, is_open), 0);
  std::vector<std::string> reasons;
  for (const auto& line : lines_of(index)) {
    if (line.at("event") == "end") reasons.push_back(line.at("reason"));
  }
  EXPECT_THAT(reasons, testing::Contains("interrupted").Times(1));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
