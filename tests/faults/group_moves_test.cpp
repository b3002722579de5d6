// Moves of cameras of a synchronised group, by the real program: the recordings of the group keep the same frames at
// the same times, and none is missing or comes twice; also where either worker is killed at a step of the move.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "tests/faults/armed_deaths.h"
#include "tests/integration/move_rig.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/times_in.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

const std::vector<std::string> members{"left", "right", "top"};

// Each member is on a worker of its own, and there is one more, of a camera that is in no group.
class GroupRig {
 public:
  // `frames`: of each member; 0: without end.
  GroupRig(const std::string& on_missing, int frames, const std::string& keys = "", const RigOptions& options = {},
           const std::string& encoder = ", options: {sc_threshold: 0}")
      : rig_("http_address: \"127.0.0.1:" + std::to_string(port_) +
                 "\"\nrtsp_address: off\nworkers: {count: 4}\nbalance: off\ndefaults:\n  gpu: cpu\n  queue_size: 32\n"
                 "  source: \"test://pattern?width=160&height=120&rate=25&frames=" +
                 std::to_string(frames) + "\"\n  encode: {codec: h264, gop: 400ms" + encoder +
                 "}\n"
                 "  record: {path: \"{camera}.mp4\"}\n" +
                 keys + "cameras: {left: {}, right: {}, top: {}, extra: {}}\n" +
                 "sync_groups: {stereo: {cameras: [left, right, top], rate: 25, max_wait: 1s, on_missing: " +
                 on_missing + "}}\n",
             options) {}

  [[nodiscard]] RigRun& rig() { return rig_; }
  [[nodiscard]] std::string log() const { return rig_.log(); }
  [[nodiscard]] Answer move(const std::string& camera, unsigned worker) const {
    return move_in(rig_, port_, camera, worker);
  }
  [[nodiscard]] std::string place_of(const std::string& camera) const {
    const auto status =
        nlohmann::json::parse(test::ask(static_cast<std::uint16_t>(port_), "GET /api/v1/cameras/" + camera).body);
    return status.at("graph").at("nodes").back().at("process");
  }
  void wait_for_flow(int fragments = 2) {
    for (; fragments > 0; --fragments) {
      for (const std::string& name : members)
        ASSERT_TRUE(rig_.wait_for_growth(name + ".mp4", rig_.size(name + ".mp4") + 2000)) << name << '\n' << log();
    }
  }
  // All have the same frames at the same times, in one file. Returns how many.
  std::size_t expect_in_step() {
    EXPECT_EQ(check_accounting(rig_.report()), "");
    const auto first = times_of(read_video(rig_.file("left.mp4")));
    for (const std::string& name : members) {
      const VideoFile video = read_video(rig_.file(name + ".mp4"));
      EXPECT_EQ(times_of(video), first) << name << log();
      EXPECT_EQ(video.complaints, 0) << name << video.text;
      EXPECT_FALSE(std::filesystem::exists(rig_.file(name + "-1.mp4"))) << "the recording was broken in two";
      const auto frames = rig_.camera(name).at("frames");
      EXPECT_EQ(frames.at("recorded"), video.pictures.size()) << frames;
    }
    for (std::size_t i = 1; i < first.size(); ++i) EXPECT_NEAR(first[i] - first[i - 1], 40'000'000, 1'000'000) << i;
    return first.size();
  }

 private:
  int port_ = free_port();
  RigRun rig_;
};

TEST(MemberMoves, AndNoSetIsBroken) {
  constexpr int frames = 250;
  GroupRig group("repeat", frames);
  group.wait_for_flow();
  for (const auto& [name, worker] : {std::pair("left", 3U), {"right", 0U}}) {
    const Answer answer = group.move(name, worker);
    ASSERT_EQ(answer.status, 0) << answer.errors << group.log();
    EXPECT_TRUE(eventually([&] { return group.place_of(name) == "worker " + std::to_string(worker); })) << group.log();
  }
  ASSERT_EQ(group.rig().wait(), 0) << group.log();
  EXPECT_EQ(group.expect_in_step(), frames);
  std::vector<std::int64_t> numbers(frames);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::uint64_t moved = 0;
  for (const std::string& name : members) {
    EXPECT_EQ(numbers_of(read_video(group.rig().file(name + ".mp4"))), numbers) << name;
    const auto camera = group.rig().camera(name);
    EXPECT_TRUE(camera.at("frames").at("dropped").empty()) << camera << group.log();
    EXPECT_EQ(camera.at("frames").at("repeated"), 0) << camera << group.log();
    EXPECT_EQ(camera.at("group").at("sets").at("encoded"), frames) << "what was decided before it was moved";
    moved += camera.at("moves").get<std::uint64_t>();
  }
  EXPECT_EQ(moved, 2U);
}

// Its successor goes on behind the frames that are there up to some place in the order of showing, in whatever order
// they were encoded.
TEST(MembersWithBFrames, AreKilledWithoutABrokenSet) {
  constexpr int frames = 120;
  const TemporaryFolder folder;
  const auto dying = folder.path() / "dying";
  std::ofstream(dying).put('\n');
  GroupRig group("repeat", frames, "", {.failpoints = "stage.pushed@left:62=kill_once" + dying.string()},
                 ", latency: normal, options: {bf: 3, b_strategy: 0, sc_threshold: 0}");
  ASSERT_EQ(group.rig().wait(), 0) << group.log();
  EXPECT_NE(group.log().find(" died ("), std::string::npos) << group.log();
  EXPECT_EQ(group.expect_in_step(), frames);
}

// The old one of its workers.
TEST(MemberKilledInAMove, TheGroupStaysInStep) {
  const std::string death = "hand_over.committing=kill";
  ArmedDeaths armed;
  armed.add(death);
  GroupRig group("drop", 0, "", {.failpoints = armed.failpoints()});
  group.wait_for_flow();
  armed.arm(death);
  const Answer answer = group.move("left", 3);
  EXPECT_EQ(answer.status, 0) << answer.errors << group.log();
  EXPECT_TRUE(armed.disarm(death)) << group.log();
  group.wait_for_flow();
  EXPECT_TRUE(eventually([&] { return group.place_of("left") == "worker 3"; })) << group.log();
  group.rig().signal(SIGINT);
  ASSERT_EQ(group.rig().wait(), 0) << group.log();
  EXPECT_EQ(check_accounting(group.rig().report()), "");
  const auto first = times_of(read_video(group.rig().file("left.mp4")));
  EXPECT_GT(first.size(), 20U);
  for (const std::string& name : members) {
    EXPECT_EQ(times_of(read_video(group.rig().file(name + ".mp4"))), first) << name << group.log();
    EXPECT_FALSE(std::filesystem::exists(group.rig().file(name + "-1.mp4"))) << "the recording was broken in two";
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
