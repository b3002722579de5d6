// Moves of a camera that a GPU decodes to a worker of the CPU, which cannot read that GPU's memory, and back: its
// frames come through host memory meanwhile, and none is lost. The GPU is a pretended one (core/pretended_gpus.h): all
// but the memory is as with a real one, which tests/gpu/gpu_moves.py needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "tests/integration/move_rig.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::AnyOf;
using testing::HasSubstr;

// a is on the GPU, b on the CPU.
class TwoKinds {
 public:
  explicit TwoKinds(const std::string& policy, const std::string& failpoints = "none=throw")
      : rig_("http_address: \"127.0.0.1:" + std::to_string(port_) +
                 "\"\nrtsp_address: off\nbalance: off\ndefaults:\n  queue_size: 32\n  drop_policy: " + policy +
                 "\n  encode: {codec: h264, gop: 400ms, bitrate: 1M, options: {sc_threshold: 0}}\n"
                 "  source: \"test://pattern?width=320&height=240&rate=25\"\n"
                 "  record: {path: \"{camera}.mp4\"}\ncameras:\n  a: {gpu: 0, ipc_memory: cuda_vmm}\n  b: {gpu: cpu}\n",
             {.failpoints = failpoints, .pretended_gpus = 1}) {}

  [[nodiscard]] RigRun& rig() { return rig_; }
  [[nodiscard]] std::string log() const { return rig_.log(); }
  [[nodiscard]] bool logged(const std::string& text) const { return log().find(text) != std::string::npos; }
  [[nodiscard]] nlohmann::json status_of(const std::string& camera) const {
    return nlohmann::json::parse(test::ask(static_cast<std::uint16_t>(port_), "GET /api/v1/cameras/" + camera).body);
  }
  // As the command takes it.
  [[nodiscard]] unsigned place_of(const std::string& camera) const {
    const std::string process = status_of(camera).at("graph").at("nodes").back().at("process");
    return static_cast<unsigned>(std::stoul(process.substr(process.find(' ') + 1)));
  }
  [[nodiscard]] Answer move(const std::string& camera, unsigned worker) const {
    return move_in(rig_, port_, camera, worker);
  }
  void wait_for_flow(int fragments = 2) {
    for (; fragments > 0; --fragments) {
      for (const std::string name : {"a.mp4", "b.mp4"})
        ASSERT_TRUE(rig_.wait_for_growth(name, rig_.size(name) + 2000)) << name << '\n' << log();
    }
  }
  void end() {
    rig_.signal(SIGINT);
    ASSERT_EQ(rig_.wait(), 0) << log();
    EXPECT_EQ(check_accounting(rig_.report()), "");
  }
  void expect_whole(const std::string& name) {
    EXPECT_EQ(check_pattern_recording(read_video(rig_.file(name + ".mp4")), true), "") << log();
    EXPECT_TRUE(rig_.camera(name).at("frames").at("dropped").empty()) << rig_.camera(name) << log();
  }

 private:
  int port_ = free_port();
  RigRun rig_;
};

TEST(MemoryMoves, ThereAndBackWithoutALostFrame) {
  TwoKinds kinds("drop");
  kinds.wait_for_flow();
  const unsigned gpu = kinds.place_of("a");
  const unsigned cpu = kinds.place_of("b");
  ASSERT_NE(gpu, cpu);
  const Answer there = kinds.move("a", cpu);
  ASSERT_EQ(there.status, 0) << there.errors << kinds.log();
  EXPECT_TRUE(kinds.logged("a: its frames are to come through host memory")) << kinds.log();
  EXPECT_TRUE(eventually([&] { return kinds.place_of("a") == cpu; })) << kinds.log();
  kinds.wait_for_flow();
  const Answer back = kinds.move("a", gpu);
  ASSERT_EQ(back.status, 0) << back.errors << kinds.log();
  EXPECT_TRUE(eventually([&] { return kinds.place_of("a") == gpu; })) << kinds.log();
  EXPECT_TRUE(eventually([&] { return kinds.logged("a: its frames are to come in the memory of its GPU again"); }));
  kinds.wait_for_flow();
  kinds.end();
  for (const char* name : {"a", "b"}) kinds.expect_whole(name);
}

// Its next rings are such ones too.
TEST(MemoryMovesThatLast, GoOnWithTheNextMaster) {
  TwoKinds kinds("block");
  kinds.wait_for_flow();
  ASSERT_EQ(kinds.move("a", kinds.place_of("b")).status, 0) << kinds.log();
  kinds.wait_for_flow(1);
  const pid_t master = kinds.rig().pid_of("master 0");
  ::kill(master, SIGKILL);
  kinds.rig().successor_of("master 0", master);
  kinds.wait_for_flow();
  kinds.end();
  kinds.expect_whole("a");
}

TEST(MemoryMovesThatFail, LeaveItAsItWas) {
  TwoKinds kinds("block", "hand_over.getting_ready=kill");
  kinds.wait_for_flow();
  const unsigned gpu = kinds.place_of("a");
  const Answer answer = kinds.move("a", kinds.place_of("b"));
  EXPECT_EQ(answer.status, 1) << answer.output;
  EXPECT_THAT(answer.errors, HasSubstr("it is not moved: that worker died")) << kinds.log();
  EXPECT_TRUE(kinds.logged("a: its frames are to come in the memory of its GPU again")) << kinds.log();
  kinds.wait_for_flow(3);
  EXPECT_EQ(kinds.place_of("a"), gpu);
  kinds.end();
  kinds.expect_whole("a");
}

// The master dies before the ring in host memory is there: the next one makes it.
TEST(MemoryMovesThatFail, AreNotThoseWhoseMasterDies) {
  TwoKinds kinds("block", "ingest.ring@a:2=kill");
  kinds.wait_for_flow();
  const unsigned cpu = kinds.place_of("b");
  // Where the master dies when the move has just begun, the camera stays, and may be moved again.
  Answer answer = kinds.move("a", cpu);
  for (int tries = 0; answer.status != 0 && tries < 5; ++tries) {
    EXPECT_THAT(answer.errors,
                AnyOf(HasSubstr("its frames come in another ring"), HasSubstr("while no frames of it come"),
                      HasSubstr("is about to begin with its frames")));
    kinds.wait_for_flow();
    answer = kinds.move("a", cpu);
  }
  EXPECT_EQ(answer.status, 0) << answer.errors << kinds.log();
  kinds.wait_for_flow();
  EXPECT_TRUE(eventually([&] { return kinds.place_of("a") == cpu; })) << kinds.log();
  kinds.end();
  kinds.expect_whole("a");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
