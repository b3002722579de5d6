// A process dies at each place where its death could leave something half done: between two stores to shared memory,
// between a file's bytes and the note of how far it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <map>

#include "tests/faults/fault_rig.h"
#include "tests/integration/times_in.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr int frames = 150;

// Quick cameras: a death costs the same number of frames as at 25 a second, but the test takes a quarter of the time.
std::string quick_rig(int rate = 100) {
  std::string yaml =
      "defaults:\n  drop_policy: block\n  encode: {gop: 10, bitrate: 1M}\n"
      "  source: \"test://pattern?width=320&height=240&frames=150&rate=" +
      std::to_string(rate) +
      "\"\n"
      "  record: {path: \"{camera}.mp4\"}\nworkers: {count: 2}\ncameras:\n";
  for (const std::string& name : fault_cameras) yaml += "  " + name + ": {}\n";
  return yaml;
}

// Processes that die one after the other.
struct Deaths {
  std::string title;
  std::vector<std::string> places;      // at each, the first process that comes there
  std::vector<std::string> dies;        // "source", "master", "worker", "publisher"
  std::vector<std::string> whole = {};  // cameras that must have lost nothing
  int rate = 100;                       // of the cameras
  bool again = false;                   // all others that come there, too
};
void PrintTo(const Deaths& deaths, std::ostream* out) { *out << deaths.title; }

int restarts(const nlohmann::json& report, const std::string& role) {
  if (role != "worker") return report.at(role + "_restarts");
  int sum = 0;
  for (const auto& worker : report.at("workers")) sum += worker.at("restarts").get<int>();
  return sum;
}

class Dies : public testing::TestWithParam<Deaths> {};

TEST_P(Dies, AndNothingIsTornOrCountedTwice) {
  const Deaths& deaths = GetParam();
  const TemporaryFolder folder;
  std::string failpoints;
  std::map<std::string, std::filesystem::path> pending;
  for (const std::string& place : deaths.places) {
    const auto file = folder.path() / std::to_string(pending.size());
    if (!deaths.again) std::ofstream(pending[place] = file).put('\n');
    failpoints += place + (deaths.again ? "=kill," : "=kill_once" + file.string() + ",");
  }
  RigRun rig(quick_rig(deaths.rate), {.failpoints = failpoints});
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  for (const auto& [place, file] : pending)
    EXPECT_FALSE(std::filesystem::exists(file)) << "nothing died at " << place << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(check_accounting(report), "");
  for (const std::string& role : deaths.dies) EXPECT_GE(restarts(report, role), 1) << role << rig.log();
  for (const std::string& name : fault_cameras) {
    SCOPED_TRACE(name);
    const auto counts = report.at("cameras").at(name).at("frames");
    const bool whole = std::ranges::count(deaths.whole, name) > 0;
    const VideoFile recording = read_video(rig.file(name + ".mp4"));
    EXPECT_EQ(check_pattern_recording(recording, whole), "");
    EXPECT_EQ(recording.pictures.size(), counts.at("recorded").get<std::size_t>());
    EXPECT_EQ(counts.at("encoded"), counts.at("recorded"));
    EXPECT_EQ(counts.at("decoded"), frames);
    if (!whole) continue;
    EXPECT_EQ(recording.pictures.size(), std::size_t{frames}) << counts;
  }
}

const std::vector<std::string> others_than_b_and_d{"a", "c"};

INSTANTIATE_TEST_SUITE_P(
    At, Dies,
    testing::Values(
        Deaths{"SourceAndMaster", {"source.packet@b:60", "ingest.published@c:70"}, {"source", "master"}, fault_cameras},
        Deaths{"Ingest",
               {"ingest.packet@b:30", "ingest.published@b:30", "packets.reader.releasing@reports:60",
                "packets.reader.released@reports:60"},
               {"master"},
               fault_cameras},
        Deaths{"RingWriter",
               {"ring.writer.claimed:80", "ring.writer.filled:80", "ring.writer.published:80", "ring.writer.indexed:80",
                "ring.writer.head:80"},
               {"master"},
               fault_cameras},
        Deaths{"RingWriterReclaiming",
               {"stage.frame@b:60", "ring.writer.reclaiming:3"},
               {"master", "worker"},
               others_than_b_and_d},
        Deaths{"Stage", {"stage.frame@b:40", "stage.pushed@b:40"}, {"worker"}, others_than_b_and_d},
        Deaths{"RingReaderAttaches",
               {"ring.reader.attaching:3", "ring.reader.attached:3", "ingest.packet@a:60"},
               {"master", "worker"}},
        Deaths{"RingReader",
               {"ring.reader.looked:60", "ring.reader.leased:60", "ring.reader.used:60", "ring.reader.done:60"},
               {"worker"}},
        // Where frames come as quickly as a loaded machine takes them, a reader hardly ever waits.
        Deaths{"RingReaderWaiting", {"ring.reader.waiting:60"}, {"worker"}, {}, 25},
        Deaths{"PacketsWriterFilled", {"packets.writer.filled:120"}, {"source", "worker"}, {}, 100, true},
        Deaths{"PacketsWriterHead", {"packets.writer.head:120"}, {"source", "worker"}, {}, 100, true},
        Deaths{"Publisher",
               {"publisher.packet@b:30", "publisher.flushed@b:3", "publisher.committed@b:3"},
               {"publisher"},
               fault_cameras},
        Deaths{"PublisherReleases",
               {"packets.reader.releasing@waits:10", "packets.reader.released@waits:10"},
               {"publisher"},
               fault_cameras},
        // The second arrival is at the barrier of the end.
        Deaths{"BarrierAtTheEnd", {"barrier.arriving:2"}, {}, fault_cameras}),
    [](const auto& one) { return one.param.title; });

void expect_set_aside(RigRun& rig, const std::string& camera) {
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  // Not the number of restarts: after the last crash there may be nothing left to start the process for.
  EXPECT_EQ(times_in(rig.log(), "crashed its process"), 3U) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(check_accounting(report), "");
  EXPECT_EQ(report.at("cameras").at(camera).at("state"), "failed");
  EXPECT_THAT(std::string(report.at("cameras").at(camera).at("reason")), testing::HasSubstr("three times"));
  EXPECT_THAT(rig.log(), testing::HasSubstr(camera + ": quarantined"));
  for (const std::string& name : fault_cameras) {
    SCOPED_TRACE(name);
    const VideoFile recording = read_video(rig.file(name + ".mp4"));
    EXPECT_EQ(check_pattern_recording(recording, false), "");
    if (name == camera) continue;
    EXPECT_EQ(report.at("cameras").at(name).at("state"), "ended");
    EXPECT_EQ(report.at("cameras").at(name).at("frames").at("decoded"), frames);
    EXPECT_EQ(recording.pictures.back().code->number, frames - 1U) << "it did not go on to its end";
  }
}

TEST(Faulting, FilterOrEncoderIsSetAside) {
  RigRun rig(quick_rig(), {.failpoints = "stage.frame@c:20=segv"});
  expect_set_aside(rig, "c");
  for (const std::string name : {"b", "d"}) {
    EXPECT_EQ(check_pattern_recording(read_video(rig.file(name + ".mp4")), true), "") << name;
  }
}

TEST(Faulting, RecordingIsGivenUp) {
  // From the fifth packet that it takes: every successor faults on what its predecessor left.
  RigRun rig(quick_rig(), {.failpoints = "publisher.packet@c:5=segv"});
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  EXPECT_EQ(rig.camera("c").at("state"), "ended");
  EXPECT_THAT(std::string(rig.camera("c").at("reason")), testing::HasSubstr("recording stopped"));
  EXPECT_EQ(rig.camera("c").at("frames").at("decoded"), frames);
  EXPECT_EQ(times_in(rig.log(), "crashed its process"), 3U) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  for (const std::string name : {"a", "b", "d"}) {
    EXPECT_EQ(rig.camera(name).at("frames").at("recorded"), frames);
    EXPECT_EQ(check_pattern_recording(read_video(rig.file(name + ".mp4")), true), "") << name;
  }
}

TEST(Faulting, RecordingOfAnOutputIsGivenUpAlone) {
  RigRun rig(
      "cameras:\n  c:\n    source: \"test://pattern?width=320&height=240&rate=25&frames=150\"\n"
      "    encode: {gop: 10, bitrate: 1M}\n    record: {path: c.mp4}\n"
      "    outputs:\n      small: {encode: {gop: 10, bitrate: 1M}, record: {path: small.mp4}}\n",
      {.failpoints = "publisher.packet@c/small:5=segv"});
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  EXPECT_EQ(times_in(rig.log(), "crashed its process"), 3U) << rig.log();
  const auto camera = rig.camera("c");
  EXPECT_EQ(camera.at("state"), "ended");
  EXPECT_EQ(camera.at("frames").at("recorded"), 150);
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("c.mp4")), true), "");
  EXPECT_EQ(camera.at("outputs").at("small").at("state"), "ended");
  EXPECT_EQ(camera.at("outputs").at("small").at("frames").at("encoded"), 150);
  EXPECT_THAT(std::string(camera.at("outputs").at("small").at("reason")), testing::HasSubstr("recording stopped"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
