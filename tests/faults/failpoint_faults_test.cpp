// A process dies at each place where its death could leave something half done: between two stores to shared memory,
// between a file's bytes and the note of how far it is. Successors reach the same place again, so each dies twice or
// more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

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

struct Death {
  std::string place;
  std::string failpoints;
  std::vector<std::string> dies;        // "source", "master", "worker", "publisher"
  std::vector<std::string> whole = {};  // cameras that must have lost nothing
  int rate = 100;                       // of the cameras
};
void PrintTo(const Death& death, std::ostream* out) { *out << death.failpoints; }

int restarts(const nlohmann::json& report, const std::string& role) {
  if (role != "worker") return report.at(role + "_restarts");
  int sum = 0;
  for (const auto& worker : report.at("workers")) sum += worker.at("restarts").get<int>();
  return sum;
}

class Dies : public testing::TestWithParam<Death> {};

TEST_P(Dies, AndNothingIsTornOrCountedTwice) {
  const Death& death = GetParam();
  RigRun rig(quick_rig(death.rate), {.failpoints = death.failpoints});
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(check_accounting(report), "");
  for (const std::string& role : death.dies) EXPECT_GE(restarts(report, role), 1) << role << rig.log();
  for (const std::string& name : fault_cameras) {
    SCOPED_TRACE(name);
    const auto counts = report.at("cameras").at(name).at("frames");
    const bool whole = std::ranges::count(death.whole, name) > 0;
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
        Death{"SourcePacket", "source.packet@b:60=kill", {"source"}, fault_cameras},
        Death{"SourceAndMaster",
              "source.packet@b:60=kill,ingest.published@c:70=kill",
              {"source", "master"},
              fault_cameras},
        Death{"IngestPacket", "ingest.packet@b:60=kill", {"master"}, fault_cameras},
        Death{"IngestPublished", "ingest.published@b:60=kill", {"master"}, fault_cameras},
        Death{"RingWriterClaimed", "ring.writer.claimed:250=kill", {"master"}, fault_cameras},
        Death{"RingWriterFilled", "ring.writer.filled:250=kill", {"master"}, fault_cameras},
        Death{"RingWriterPublished", "ring.writer.published:250=kill", {"master"}, fault_cameras},
        Death{"RingWriterIndexed", "ring.writer.indexed:250=kill", {"master"}, fault_cameras},
        Death{"RingWriterHead", "ring.writer.head:250=kill", {"master"}, fault_cameras},
        Death{"RingWriterReclaiming",
              "stage.frame@b:60=kill,ring.writer.reclaiming:3=kill",
              {"master", "worker"},
              others_than_b_and_d},
        Death{"StageFrame", "stage.frame@b:60=kill", {"worker"}, others_than_b_and_d},
        Death{"StagePushed", "stage.pushed@b:60=kill", {"worker"}, others_than_b_and_d},
        Death{"RingReaderAttaching", "ring.reader.attaching:3=kill,ingest.packet@a:60=kill", {"master", "worker"}},
        Death{"RingReaderAttached", "ring.reader.attached:3=kill,ingest.packet@a:60=kill", {"master", "worker"}},
        Death{"RingReaderLooked", "ring.reader.looked:120=kill", {"worker"}},
        Death{"RingReaderLeased", "ring.reader.leased:120=kill", {"worker"}},
        Death{"RingReaderUsed", "ring.reader.used:120=kill", {"worker"}},
        Death{"RingReaderDone", "ring.reader.done:120=kill", {"worker"}},
        // Where frames come as quickly as a loaded machine takes them, a reader hardly ever waits.
        Death{"RingReaderWaiting", "ring.reader.waiting:60=kill", {"worker"}, {}, 25},
        Death{"PacketsWriterFilled", "packets.writer.filled:120=kill", {"source", "worker"}},
        Death{"PacketsWriterHead", "packets.writer.head:120=kill", {"source", "worker"}},
        Death{"PublisherPacket", "publisher.packet@b:60=kill", {"publisher"}, fault_cameras},
        Death{"PublisherFlushed", "publisher.flushed@b:4=kill", {"publisher"}, fault_cameras},
        Death{"PublisherCommitted", "publisher.committed@b:4=kill", {"publisher"}, fault_cameras},
        Death{"PublisherReleasing", "packets.reader.releasing@waits:25=kill", {"publisher"}, fault_cameras},
        Death{"PublisherReleased", "packets.reader.released@waits:25=kill", {"publisher"}, fault_cameras},
        Death{"MasterReleasing", "packets.reader.releasing@reports:250=kill", {"master"}, fault_cameras},
        Death{"MasterReleased", "packets.reader.released@reports:250=kill", {"master"}, fault_cameras},
        // The second arrival is at the barrier of the end.
        Death{"BarrierAtTheEnd", "barrier.arriving:2=kill", {}, fault_cameras}),
    [](const auto& one) { return one.param.place; });

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

TEST(Faulting, DecoderIsSetAside) {
  RigRun rig(quick_rig(), {.failpoints = "ingest.packet@c:20=segv"});
  expect_set_aside(rig, "c");
  EXPECT_THAT(rig.log(), testing::HasSubstr("c: goes on behind the packet at which its decoder crashed twice"));
  for (const std::string name : {"a", "b", "d"}) {
    EXPECT_EQ(check_pattern_recording(read_video(rig.file(name + ".mp4")), true), "") << name;
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
