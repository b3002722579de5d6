// A process that was taken over sends the supervisor what its role has no business to send: through the real channel of
// a process of a running rig. It is ended and restarted; the supervisor and everybody else go on as if nothing had been
// said.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>

#include "app/child.h"
#include "core/error.h"
#include "ipc/channel.h"
#include "ipc/shared_memory.h"
#include "tests/faults/fault_rig.h"
#include "tests/integration/clips.h"

namespace campipe::test {
namespace {

struct Wrong {
  std::string title;
  std::string role;
  std::string type;
  nlohmann::json body;
  int descriptors = 0;
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.title; }

// The process's own end of its channel.
Channel channel_of(pid_t pid) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), child_channel_fd, 0)));
  if (!fd) throw system_error("cannot borrow a process's channel", errno);
  return Channel(std::move(fd));
}

class WrongMessage : public testing::TestWithParam<Wrong> {};

TEST_P(WrongMessage, EndsItsSenderAlone) {
  const Wrong& wrong = GetParam();
  RigRun rig(fault_rig(0));
  ASSERT_TRUE(wait_until_recording(rig)) << rig.log();
  std::map<std::string, pid_t> before;
  for (const char* role : {"master", "publisher", "worker 0", "worker 1"}) before[role] = rig.pid_of(role);
  const UniqueFd memory = create_shared_memory("of a test", 4096);
  ASSERT_TRUE(
      channel_of(before[wrong.role])
          .send(wrong.type, wrong.body, std::vector<int>(static_cast<std::size_t>(wrong.descriptors), memory.get())));
  rig.successor_of(wrong.role, before[wrong.role]);
  for (const std::string& name : fault_cameras) {
    EXPECT_TRUE(rig.wait_for_growth(name + ".mp4", rig.size(name + ".mp4"))) << name << '\n' << rig.log();
  }
  for (const auto& [role, pid] : before) {
    EXPECT_TRUE(role == wrong.role || rig.find(role) == pid) << role << '\n' << rig.log();
  }
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_books(rig.report()), "");
}

// Cameras 0 and 2 are on worker 0, 1 and 3 on worker 1.
INSTANTIATE_TEST_SUITE_P(
    Of, WrongMessage,
    testing::Values(
        Wrong{"MasterThatRequests", "master", "request", {{"request", 1}, {"op", "remove_camera"}, {"name", "a"}}},
        Wrong{"MasterThatPublishes", "master", "camera_done", {{"camera", 0}}},
        Wrong{"MasterThatEncodes", "master", "packet_ring", {{"camera", 0}, {"epoch", 9}, {"stream", {}}}, 1},
        Wrong{"MasterWithoutCamera", "master", "source_over", {{"camera", 4096}, {"failure", ""}}},
        Wrong{"MasterWithTooManyDescriptors", "master", "frame_ring", {{"camera", 0}}, 3},
        Wrong{"MasterWithAnotherMemory",
              "master",
              "frame_ring",
              {{"camera", 0}, {"epoch", 9}, {"frame_rate", 25}, {"rotation", 0}, {"decoder", ""}, {"memory", "host"}},
              2},
        Wrong{"MasterThatSeesNoStream", "master", "sent_stream", {{"camera", 0}, {"sends", {{"codec", "a\nb"}}}}},
        Wrong{"WorkerThatSeesAStream",
              "worker 0",
              "sent_stream",
              {{"camera", 0}, {"sends", {{"codec", "hevc"}, {"pixels", ""}, {"rotation", 0}, {"untimed", false}}}}},
        Wrong{"WorkerThatRequests", "worker 0", "request", {{"request", 1}, {"op", "reload"}}},
        Wrong{"WorkerOfAnotherCamera", "worker 0", "camera_done", {{"camera", 1}}},
        // Nothing of these cameras is over.
        Wrong{"MasterThatGivesUp", "master", "source_over", {{"camera", 0}, {"failure", ""}, {"at_end", false}}},
        Wrong{"MasterWithAnEndOfNoEnd", "master", "source_over", {{"camera", 0}, {"failure", ""}, {"at_end", true}}},
        Wrong{"WorkerThatGivesUp", "worker 0", "camera_done", {{"camera", 0}}},
        Wrong{"PublisherThatGivesUp", "publisher", "camera_done", {{"camera", 0}}},
        Wrong{"WorkerThatDecodes", "worker 1", "frame_ring", {{"camera", 1}}, 1},
        Wrong{"PublisherThatDecodes", "publisher", "source_over", {{"camera", 0}, {"failure", "none"}}},
        Wrong{"PublisherOfNoWords", "publisher", "no such message", {{"camera", 0}}},
        Wrong{"PublisherWithoutCamera", "publisher", "file", {{"camera", "first"}, {"path", "x"}}}),
    [](const auto& of) { return of.param.title; });

// Of cameras that do not depend on it, twice, and of one that does: at worst that one is encoded.
TEST(RightMessage, OfWhatACameraSendsDoesNoHarm) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "plain.mp4", .frames = 50});
  RigRun rig(
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n"
      "  a: {source: \"test://pattern?width=160&height=120\", record: {path: a.mp4}}\n"
      "  b: {source: \"" +
      (clips.path() / "plain.mp4").string() + "\", loop: true, record: {path: b.mp4}}\n");
  for (const char* file : {"a.mp4", "b.mp4"}) ASSERT_TRUE(rig.wait_for_growth(file, 2000)) << rig.log();
  const pid_t master = rig.pid_of("master");
  const nlohmann::json hevc{{"codec", "hevc"}, {"pixels", "yuv420p"}, {"rotation", 0}, {"untimed", false}};
  for (const int camera : {0, 1, 0, 1}) {
    ASSERT_TRUE(channel_of(master).send("sent_stream", {{"camera", camera}, {"sends", hevc}}));
  }
  for (const char* file : {"a.mp4", "b-1.mp4"}) {
    EXPECT_TRUE(rig.wait_for_growth(file, rig.size(file) + 2000)) << rig.log();
  }
  EXPECT_EQ(rig.pid_of("master"), master);
  EXPECT_EQ(rig.log().find("a: sends"), std::string::npos) << rig.log();
  const std::string told = "b: sends hevc";
  EXPECT_EQ(rig.log().find(told), rig.log().rfind(told)) << rig.log();
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_books(rig.report()), "");
}

}  // namespace
}  // namespace campipe::test
