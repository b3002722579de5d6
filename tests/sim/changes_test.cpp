// Some dozens of seeds of the simulated rig whose configuration is changed.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/many_seeds.h"
#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::uint64_t changing_seeds = 150;
constexpr auto changed = sim::Varies::configuration;
constexpr std::uint64_t disk_breaks = 5;            // a fault's detail
constexpr std::uint64_t depends_on_its_source = 7;  // a change's detail: `codec: auto`

// What the seeds reach together.
std::vector<std::string> awaited_of_changes() {
  std::vector<std::string> all{"a camera is removed",
                               "a camera is changed",
                               "a camera is disabled",
                               "a reload is taken",
                               "a reload is refused",
                               "a request finds no publisher",
                               "answer 200 to enable_camera",
                               "answer 200 to put_camera",
                               "answer 200 to reload",
                               "answer 200 to set_recording",
                               "answer 201 to put_camera",
                               "answer 404 to remove_camera",
                               "answer 409 to put_camera",
                               "message disabled_camera to publisher",
                               "message forget_camera to source",
                               "message forget_camera to master",
                               "message forget_node to worker",
                               "message forget_output to publisher",
                               "message record to publisher",
                               "message record_paused from publisher",
                               "message record_resumed from publisher",
                               "message record_failed from publisher",
                               "message push_state from publisher",
                               "message packet_ring from source",
                               "message audio_ring to publisher",
                               "message audio_ring_done from publisher",
                               "message sent_stream from source",
                               "a recording is paused",
                               "a push goes on",
                               "a camera is run as its source sends",
                               "message server to publisher"};
  for (const sim::FaultKind kind : {sim::FaultKind::disk_full, sim::FaultKind::targets_away})
    all.push_back(std::string("fault ") + sim::name_of(kind));
  for (std::size_t kind = 0; kind < sim::change_kinds; ++kind)
    all.push_back(std::string("change ") + sim::name_of(static_cast<sim::ChangeKind>(kind)));
  for (std::size_t trouble = 1; trouble < sim::load_troubles; ++trouble)
    all.push_back(std::string("load trouble ") + sim::name_of(static_cast<sim::LoadTrouble>(trouble)));
  return all;
}

TEST(SimulatedChanges, HoldForManySeeds) {
  sim::Seeds seeds(sim::simulated_rigs(changed), 100s, changed);
  sim::expect_seeds_hold(seeds, changing_seeds, awaited_of_changes());
}

// So many changes, of which the last ones are the same.
sim::Outcome changed_rig(int changes) {
  sim::Course course{100s, true, {}, {}, {}};
  for (int i = 0; i < changes; ++i) {
    const auto left = static_cast<std::uint64_t>(changes - i);
    const auto kind = left % 5 == 0 ? sim::ChangeKind::remove : sim::ChangeKind::put;
    course.changes.push_back({kind, 2s + i * 400ms, left, left, false, sim::LoadTrouble::none});
  }
  return sim::Seeds(sim::simulated_rigs(changed), 100s, changed).run(1, course);
}

TEST(SimulatedChanges, LeaveNothing) {
  const sim::Outcome few = changed_rig(12);
  const sim::Outcome many = changed_rig(60);
  EXPECT_EQ(few.failure, std::nullopt);
  EXPECT_EQ(many.failure, std::nullopt);
  EXPECT_EQ(many.descriptors, few.descriptors);
  EXPECT_TRUE(many.reached.contains("answer 200 to remove_camera"));
}

// A changed camera comes once nothing is left of the one before: what is asked meanwhile is asked of it.
TEST(SimulatedChanges, ARecordingThatIsStoppedWhileItsCameraIsChangedStaysOff) {
  const sim::Fault late{sim::FaultKind::late, sim::Part::master, 4500ms, 5s, 0};
  sim::Course course{100s, true, {late}, {}, {}};
  course.changes.push_back({sim::ChangeKind::put, 5s, 0, 16, false, sim::LoadTrouble::none});
  course.changes.push_back({sim::ChangeKind::stop_recording, 5400ms, 0, 1, false, sim::LoadTrouble::none});
  const sim::Outcome outcome = sim::Seeds(sim::simulated_rigs(changed), 100s, changed).run(1, course);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_TRUE(outcome.reached.contains("answer 200 to set_recording"));
}

// It came without a word, as one does that its source has decided about, and its recording stayed off.
TEST(SimulatedChanges, ACameraInQuarantineThatIsPutAgainIsAChangedOne) {
  sim::Course course{100s, true, {}, {}, {}};
  for (const auto at : {8s, 9s, 10s}) course.faults.push_back({sim::FaultKind::crash, sim::Part::source, at, 0s, 0});
  for (const auto at : {2s, 15s})
    course.changes.push_back({sim::ChangeKind::put, at, 0, depends_on_its_source, false, sim::LoadTrouble::none});
  const sim::Outcome outcome = sim::Seeds(sim::simulated_rigs(changed), 100s, changed).run(1, course);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_EQ(outcome.reached.at("a camera is changed"), 2U);
  EXPECT_TRUE(outcome.reached.contains("a camera is quarantined"));
}

// Likewise.
TEST(SimulatedChanges, ACameraInQuarantineThatIsEnabledIsAChangedOne) {
  sim::Course course{100s, true, {}, {}, {}};
  for (const auto at : {8s, 9s, 10s}) course.faults.push_back({sim::FaultKind::crash, sim::Part::source, at, 0s, 0});
  course.changes.push_back({sim::ChangeKind::put, 2s, 0, depends_on_its_source, false, sim::LoadTrouble::none});
  course.changes.push_back({sim::ChangeKind::enable, 15s, 0, 1, false, sim::LoadTrouble::none});
  const sim::Outcome outcome = sim::Seeds(sim::simulated_rigs(changed), 100s, changed).run(1, course);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_EQ(outcome.reached.at("a camera is changed"), 2U);
  EXPECT_TRUE(outcome.reached.contains("a camera is quarantined"));
}

// What was read is not obeyed before the process that read it has ended.
TEST(SimulatedChanges, ACameraIsAsItWasUntilAReloadIsTaken) {
  constexpr std::uint64_t without_record = 4;
  constexpr std::uint64_t with_record = 39;
  sim::Course course{100s, true, {}, {}, {}};
  course.changes.push_back({sim::ChangeKind::put, 3s, 0, without_record, false, sim::LoadTrouble::none});
  course.changes.push_back({sim::ChangeKind::reload, 27s, 0, with_record, false, sim::LoadTrouble::lingers});
  course.changes.push_back({sim::ChangeKind::record, 27400ms, 0, 35, false, sim::LoadTrouble::none});
  const sim::Outcome outcome = sim::Seeds(sim::simulated_rigs(changed), 100s, changed).run(1130, course);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_TRUE(outcome.reached.contains("answer 409 to set_recording"));
}

// The publisher finds the disk full, which the supervisor hears of when the recording has been stopped and begun again.
TEST(SimulatedChanges, ARecordingThatIsBegunAgainIsNotPaused) {
  const sim::Seeds rig(sim::simulated_rigs(changed), 100s, changed);
  sim::Course course{100s, true, {}, {}, {}};
  course.faults.push_back({sim::FaultKind::late, sim::Part::publisher, 9500ms, 4s, 0});
  course.faults.push_back({sim::FaultKind::disk_full, sim::Part::publisher, 10s, 1200ms, 1});
  course.changes.push_back({sim::ChangeKind::stop_recording, 9900ms, 0, 1, false, sim::LoadTrouble::none});
  course.changes.push_back({sim::ChangeKind::record, 9950ms, 0, 1, false, sim::LoadTrouble::none});
  const sim::Outcome outcome = rig.run(4, course);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_TRUE(outcome.reached.contains("message record_paused from publisher"));
  EXPECT_FALSE(outcome.reached.contains("message record_resumed from publisher"));
}

TEST(SimulatedChanges, ARecordingThatFailsWhilePausedIsNotPaused) {
  sim::Course course{100s, true, {}, {}, {}};
  course.faults.push_back({sim::FaultKind::disk_full, sim::Part::publisher, 10s, 6s, 1});
  course.faults.push_back({sim::FaultKind::disk_full, sim::Part::publisher, 12s, 5s, disk_breaks});
  const sim::Outcome outcome = sim::Seeds(sim::simulated_rigs(changed), 100s, changed).run(1196, course);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_TRUE(outcome.reached.contains("message record_paused from publisher"));
  EXPECT_TRUE(outcome.reached.contains("message record_failed from publisher"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
