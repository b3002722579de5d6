// A move of a camera to another worker, with either of the two workers killed at a step of it: no frame comes twice,
// the rig goes on, and every frame is accounted for; the camera is where the command says. move_deaths_test.cpp in
// tests/sim kills a worker at every step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <string>
#include <thread>

#include "tests/faults/armed_deaths.h"
#include "tests/faults/fault_rig.h"
#include "tests/integration/clips.h"
#include "tests/integration/move_rig.h"
#include "tests/integration/rig_waits.h"
#include "tests/integration/times_in.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;

constexpr double promised_recovery = 2.0 * sanitizer_slowdown;  // s, and what a hang takes to be found

// The new worker's, and the old one's, in one move after the other.
TEST(KilledInAMove, NothingComesTwiceAndAllGoesOn) {
  const std::vector<std::string> deaths{"hand_over.live=kill", "hand_over.committing=kill"};
  ArmedDeaths armed;
  for (const std::string& death : deaths) armed.add(death);
  MoveRig moves("", "drop", RigOptions{.failpoints = armed.failpoints()});
  moves.wait_for_flow();
  RigWaits waits(moves.rig());
  const std::int64_t when = utc_now_ns();
  unsigned to = MoveRig::target;
  for (const std::string& death : deaths) {
    SCOPED_TRACE(death);
    armed.arm(death);
    const Answer answer = moves.move("a", to);
    EXPECT_EQ(answer.status, 0) << answer.errors << moves.log();
    for (int fragments = 0; fragments < 2; ++fragments) moves.wait_for_flow();
    EXPECT_TRUE(armed.disarm(death)) << moves.log();
    const std::string worker = "worker " + std::to_string(to);
    EXPECT_TRUE(eventually([&] {
      const auto graph = moves.status_of("a").at("graph").at("nodes");
      return graph.size() == 2 && graph.back().at("process") == worker && !moves.status_of("a").contains("moves_to");
    })) << moves.status_of("a").dump(2)
        << moves.log();
    to = 0;
  }
  moves.end();
  const VideoFile video = read_video(moves.rig().file("a.mp4"));
  EXPECT_EQ(check_pattern_recording(video, false), "") << moves.log();
  EXPECT_LE(largest_gap(video, when), promised_recovery + 2 + waits.seconds()) << moves.log();
  EXPECT_FALSE(std::filesystem::exists(moves.rig().file("a-1.mp4"))) << "the recording was broken in two";
  const auto camera = moves.rig().camera("a");
  EXPECT_EQ(video.pictures.size(), camera.at("frames").at("recorded").get<std::size_t>()) << camera;
}

// The second encoder that worker 2 opens is that of a: what fails before the first frame is tried once more. (The
// second of two failpoints at one place counts what the first one lets pass.)
TEST(MovesThatFail, LeaveTheCameraWhereItIsWhereNoEncoderOpens) {
  MoveRig moves("", "drop", {.failpoints = "encoder.opening:2=throw,encoder.opening:2=throw"});
  moves.wait_for_flow();
  const Answer answer = moves.move("a", MoveRig::target);
  EXPECT_EQ(answer.status, 1) << answer.output;
  EXPECT_THAT(answer.errors, HasSubstr("it is not moved: ")) << moves.log();
  moves.wait_for_flow();
  EXPECT_EQ(moves.move("a", MoveRig::target).status, 0) << "then it can be; " << moves.log();
  moves.wait_for_flow();
  moves.end();
  moves.expect_whole("a.mp4");
  EXPECT_EQ(moves.rig().camera("a").at("state"), "ended");
  EXPECT_TRUE(moves.rig().camera("a").at("frames").at("dropped").empty()) << moves.rig().camera("a") << moves.log();
}

// Camera a's frames change their size after `large` of them. Worker 0 comes to its second ring, which is that of the
// smaller ones, when let_worker_come() is called.
class ChangingRig {
 public:
  ChangingRig(int large, const std::string& policy) {
    make_clip(clips_.path(), {.name = "large.h264", .frames = large});
    make_clip(clips_.path(), {.name = "small.h264", .width = 192, .height = 160, .frames = 400});
    std::ofstream(clips_.path() / "both.h264", std::ios::binary)
        << read_text(clips_.path() / "large.h264") << read_text(clips_.path() / "small.h264");
    // With times, by which it is read.
    const std::string clip = (clips_.path() / "both.ts").string();
    Program ffmpeg(
        {"ffmpeg", "-v", "error", "-r", "25", "-i", (clips_.path() / "both.h264").string(), "-c", "copy", clip});
    EXPECT_EQ(ffmpeg.wait(), 0);
    std::ofstream{worker_held_};
    moves_.emplace("    source: \"" + clip +
                       "\"\n    pace: realtime\n    encode: {gop: 10s, bitrate: 1M}\n"
                       "    filters: [{motion: {}}, {resize: {width: 320, height: 240}}]\n",
                   policy, RigOptions{.failpoints = "stage.attaching@a:2=hold" + worker_held_.string()});
  }
  MoveRig& moves() { return *moves_; }
  void let_worker_come() const { std::filesystem::remove(worker_held_); }
  [[nodiscard]] bool logs(const std::string& text) const {
    return eventually([&] { return moves_->log().find(text) != std::string::npos; });
  }
  // All of them, in one file.
  void expect_whole() {
    moves_->end();
    const VideoFile video = read_video(moves_->rig().file("a.mp4"));
    MoveRig::expect_even(video, 40'000'000);
    const auto camera = moves_->rig().camera("a");
    EXPECT_TRUE(camera.at("frames").at("dropped").empty()) << camera << moves_->log();
    EXPECT_EQ(video.pictures.size(), camera.at("frames").at("decoded").get<std::size_t>()) << camera;
    EXPECT_EQ(camera.at("worker_restarts"), 0);
  }

 private:
  TemporaryFolder clips_;
  std::filesystem::path worker_held_ = clips_.path() / "worker-held";
  std::optional<MoveRig> moves_;
};

// Whoever came first to the ring would have its first frames for itself.
TEST(Changes, AreNotFollowedByAMoveBeforeTheWorkerIsThere) {
  ChangingRig rig(50, "drop");
  ASSERT_TRUE(rig.logs("its frames are 192x160 now")) << rig.moves().log();
  Answer answer;
  const auto asked = [&] {
    answer = rig.moves().move("a", MoveRig::target);
    return answer;
  };
  EXPECT_TRUE(eventually([&] {
    return asked().errors.find("its worker is about to begin with its frames") != std::string::npos;
  })) << answer.errors
      << rig.moves().log();
  rig.let_worker_come();
  EXPECT_TRUE(eventually([&] { return asked().status == 0; })) << answer.errors << rig.moves().log();
  rig.expect_whole();
}

// The worker is waited for, though the rig is to end.
TEST(Changes, LoseNothingWhereTheRigEndsBeforeTheWorkerIsThere) {
  ChangingRig rig(50, "drop");
  ASSERT_TRUE(rig.logs("its frames are 192x160 now")) << rig.moves().log();
  const std::jthread once_it_ends([&] {
    EXPECT_TRUE(rig.logs("handing over what has been decoded")) << rig.moves().log();
    rig.let_worker_come();
  });
  rig.expect_whole();
}

// Both nodes are held up for ten frames, as by a driver or an encoder's first frame; four have room in its queue.
// A file is read in time, whatever a worker does.
TEST(HeldUp, WaitsForBothWorkers) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "clip.mkv", .frames = 500});
  MoveRig moves("    source: \"" + (clips.path() / "clip.mkv").string() + "\"\n    pace: realtime\n    queue_size: 4\n",
                "drop", {.failpoints = "hand_over.committing=wait400ms,hand_over.live=wait400ms"});
  moves.wait_for_flow();
  ASSERT_EQ(moves.move("a", MoveRig::target).status, 0) << moves.log();
  moves.wait_for_flow();
  moves.wait_for_flow();
  moves.end();
  EXPECT_EQ(moves.check_losses("a"), "") << moves.log();
  if (!was_late(moves.rig().camera("a"))) moves.expect_whole("a.mp4");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
