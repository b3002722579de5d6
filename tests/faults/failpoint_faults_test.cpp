// A process dies at each place where its death could leave something half done: between two stores to shared memory,
// between a file's bytes and the note of how far it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <map>

#include "tests/faults/fault_rig.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr int frames = 150;

// Quick cameras: a death costs the same number of frames as at 25 a second, but the test takes a quarter of the time.
std::string quick_rig() {
  std::string yaml =
      "defaults:\n  drop_policy: block\n  encode: {gop: 10, bitrate: 1M}\n"
      "  source: \"test://pattern?width=320&height=240&frames=150&rate=100\"\n"
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
  RigRun rig(quick_rig(), {.failpoints = failpoints});
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

INSTANTIATE_TEST_SUITE_P(
    At, Dies,
    testing::Values(
        Deaths{"OutsideOfRings",
               {"source.packet@b:60", "ingest.published@c:70", "publisher.packet@b:30", "publisher.committed@b:3"},
               {"source", "master", "publisher"},
               fault_cameras},
        Deaths{"FrameRings",
               {"ring.writer.claimed:80", "ring.writer.head:80", "ring.reader.leased:60", "ring.reader.done:60"},
               {"master", "worker"}},
        Deaths{"PacketRings", {"packets.writer.head:120"}, {"source", "worker"}, {}, true},
        // The second arrival is at the barrier of the end.
        Deaths{"BarrierAtTheEnd", {"barrier.arriving:2"}, {}, fault_cameras}),
    [](const auto& one) { return one.param.title; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
