// A process that was taken over sends the supervisor what its role has no business to send: through the real channel of
// a process of a running rig. It is ended and restarted; the supervisor and everybody else go on as if nothing had been
// said.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "app/control/child.h"
#include "app/control/json_fields.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_master.h"
#include "app/control/messages/from_publisher.h"
#include "app/control/messages/from_source.h"
#include "app/control/messages/from_worker.h"
#include "app/control/stream_json.h"
#include "core/error.h"
#include "ipc/channel.h"
#include "ipc/shared_memory.h"
#include "tests/faults/fault_rig.h"
#include "tests/integration/clips.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

struct Wrong {
  std::string title;
  std::string role;
  std::string type;
  nlohmann::json body;
  std::string reason;  // as the supervisor logs it
  int descriptors = 0;
};
template <typename M>
Wrong wrong(const std::string& title, const std::string& role, const M& message, const std::string& reason,
            int descriptors = 0) {
  return {title, role, std::string(M::type), write_json(message), reason, descriptors};
}

// The process's own end of its channel.
Channel channel_of(pid_t pid) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), child_channel_fd, 0)));
  if (!fd) throw system_error("cannot borrow a process's channel", errno);
  return Channel(std::move(fd));
}

// The supervisor copies what is asked of it, which a value of so many levels would take all of its stack.
OutgoingMessage deep_message() {
  constexpr std::size_t levels = 60'000;
  const std::string flat(2 * levels - 2, 'x');
  OutgoingMessage message("put_camera", {{"request", 1}, {"name", "z"}, {"config", flat}, {"persist", false}}, {});
  const auto at = message.bytes.find('"' + flat + '"');
  if (at == std::string::npos) throw Error("the message has no such value");
  message.bytes.replace(at, 2 * levels, std::string(levels, '[') + std::string(levels, ']'));
  return message;
}

// What a check of the supervisor finds is in the simulation (tests/sim/wrong_messages.cpp): here are one message of
// each process, and those that need real memory or another worker. Cameras 0 and 2 are on worker 0, 1 and 3 on
// worker 1.
TEST(WrongMessage, EndsItsSenderAlone) {
  const std::vector<Wrong> all{
      wrong("SourceWithAnotherMemory", "source", messages::SourceRing{CameraId(0), 2, 0, false}, "is ended:", 1),
      wrong("MasterWithAnotherMemory", "master", messages::FrameRing{EdgeId(0), 2, 25, 0, "", {}}, "is ended:", 2),
      wrong("WorkerThatIsNotReadyForAnother", "worker 0", messages::NotReady{NodeId(1), ""},
            "for a node of another worker"),
      {"PublisherOfNoWords", "publisher", "no such message", {{"camera", 0}}, "which is not for this process"},
      wrong("WorkerThatDecodes", "worker 1", messages::FrameRing{EdgeId(1), 2, 25, 0, "", {}},
            "an edge that another process writes", 1),
      wrong("WorkerOfAnotherCamera", "worker 0", messages::NodeDone{{NodeId(1)}}, "for a node of another worker"),
      wrong("WorkerWithALargeBody", "worker 0",
            messages::OutputFailed{{OutputId(0), std::string(Channel::max_inline_body, 'x')}}, "is ended:"),
  };
  RigRun rig(fault_rig(0));
  ASSERT_TRUE(wait_until_recording(rig)) << rig.log();
  const UniqueFd memory = create_shared_memory("of a test", 4096);
  for (const Wrong& wrong : all) {
    SCOPED_TRACE(wrong.title);
    std::map<std::string, pid_t> before;
    for (const char* role : {"source", "master", "publisher", "worker 0", "worker 1"}) before[role] = rig.pid_of(role);
    const std::size_t logged = rig.log().size();
    ASSERT_TRUE(
        channel_of(before[wrong.role])
            .send(wrong.type, wrong.body, std::vector<int>(static_cast<std::size_t>(wrong.descriptors), memory.get())));
    rig.successor_of(wrong.role, before[wrong.role]);
    EXPECT_NE(rig.log().find(wrong.reason, logged), std::string::npos) << rig.log();
    for (const std::string& name : fault_cameras) {
      EXPECT_TRUE(rig.wait_for_growth(name + ".mp4", rig.size(name + ".mp4"))) << name << '\n' << rig.log();
    }
    for (const auto& [role, pid] : before) {
      EXPECT_TRUE(role == wrong.role || rig.find(role) == pid) << role << '\n' << rig.log();
    }
  }
  const pid_t publisher = rig.pid_of("publisher");
  ASSERT_EQ(channel_of(publisher).try_send(deep_message()), Channel::Sent::yes);
  rig.successor_of("publisher", publisher);
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
}

// Each master has cameras of its own. Here GPU 0, which campipe_faults pretends to have, decodes a, and the CPU b.
TEST(MessagesOfAMaster, AreAboutItsOwnCameras) {
  const std::vector<Wrong> all{
      wrong("Over", "master 0", messages::DecodingOver{CameraId(1), "lost"}, "a camera that another master decodes"),
      wrong("Left", "master 0", messages::DecodingLeft{{CameraId(1)}}, "a camera that another master decodes"),
      wrong("State", "master", messages::DecodingState{CameraId(0), false, "away"},
            "a camera that another master decodes"),
      wrong("Fed", "master 0", messages::SourceRingDone{CameraId(1), 1}, "a camera that another master decodes"),
      wrong("Ring", "master 0", messages::FrameRing{EdgeId(1), 2, 25, 0, "", {}}, "an edge that another process writes",
            2),
  };
  RigRun rig(
      "http_address: off\nrtsp_address: off\ndefaults:\n  record: {path: \"{camera}.mp4\"}\n"
      "  source: \"test://pattern?width=320&height=240&rate=25\"\n  encode: {gop: 10}\n"
      "cameras:\n  a: {gpu: 0}\n  b: {gpu: cpu}\n",
      RigOptions{.failpoints = "none=throw", .pretended_gpus = 1});
  for (const Wrong& wrong : all) {
    SCOPED_TRACE(wrong.title);
    for (const char* file : {"a.mp4", "b.mp4"})
      ASSERT_TRUE(rig.wait_for_growth(file, std::max<std::uintmax_t>(rig.size(file), 2000))) << rig.log();
    std::map<std::string, pid_t> before;
    for (const char* role : {"master", "master 0"}) before[role] = rig.pid_of(role);
    const UniqueFd memory = create_shared_memory("of a test", 4096);
    ASSERT_TRUE(
        channel_of(before[wrong.role])
            .send(wrong.type, wrong.body, std::vector<int>(static_cast<std::size_t>(wrong.descriptors), memory.get())));
    rig.successor_of(wrong.role, before[wrong.role]);
    EXPECT_NE(rig.log().rfind(wrong.reason), std::string::npos) << rig.log();
    for (const auto& [role, pid] : before) EXPECT_EQ(rig.find(role) == pid, role != wrong.role) << role;
  }
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
}

const SentStream hevc{"hevc", "yuv420p", 0, false};

// Of cameras that do not depend on it, twice, and of one that does: at worst that one is encoded. What was right when
// it was sent may come when its camera has gone: it is no fault, and nothing becomes of it.
TEST(RightMessage, OfWhatACameraSendsDoesNoHarm) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "plain.mp4", .frames = 50});
  RigRun rig(
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n"
      "  a: {source: \"test://pattern?width=160&height=120\", record: {path: a.mp4}}\n"
      "  b: {source: \"" +
      (clips.path() / "plain.mp4").string() +
      "\", loop: true, record: {path: b.mp4}}\n"
      "  c: {source: \"test://pattern?width=160&height=120\", enabled: false}\n");
  for (const char* file : {"a.mp4", "b.mp4"}) ASSERT_TRUE(rig.wait_for_growth(file, 2000)) << rig.log();
  const pid_t source = rig.pid_of("source");
  const pid_t worker = rig.pid_of("worker 0");
  ASSERT_TRUE(channel_of(worker).send("output_failed", {{"output", 2}, {"reason", "a test says so"}}));
  for (const unsigned camera : {0U, 1U, 0U, 1U}) {
    Channel channel = channel_of(source);
    ASSERT_TRUE(channel.send(std::string(messages::FoundStream::type),
                             write_json(messages::FoundStream{CameraId(camera), hevc})));
  }
  for (const char* file : {"a.mp4", "b-1.mp4"}) {
    EXPECT_TRUE(rig.wait_for_growth(file, rig.size(file) + 2000)) << rig.log();
  }
  EXPECT_EQ(rig.pid_of("source"), source);
  EXPECT_EQ(rig.pid_of("worker 0"), worker);
  EXPECT_EQ(rig.log().find("a: sends"), std::string::npos) << rig.log();
  const std::string told = "b: sends hevc";
  EXPECT_EQ(rig.log().find(told), rig.log().rfind(told)) << rig.log();
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(rig.camera("c").at("state"), "disabled");
}

// Believed once for each ring that it was sent.
TEST(LostRing, IsNoRingThatAProcessWasNeverSent) {
  RigRun rig(fault_rig(0));
  ASSERT_TRUE(wait_until_recording(rig)) << rig.log();
  const pid_t publisher = rig.pid_of("publisher");
  const nlohmann::json lost{{"output", 0}, {"reason", "a test says so"}};
  ASSERT_TRUE(channel_of(publisher).send("ring_lost", lost));
  ASSERT_TRUE(eventually([&] { return rig.log().find("a test says so") != std::string::npos; })) << rig.log();
  EXPECT_EQ(rig.pid_of("publisher"), publisher);
  ASSERT_TRUE(channel_of(publisher).send("ring_lost", lost));
  rig.successor_of("publisher", publisher);
  for (const std::string name : {"b", "c", "d"}) {
    EXPECT_TRUE(rig.wait_for_growth(name + ".mp4", rig.size(name + ".mp4"))) << name << '\n' << rig.log();
  }
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 3) << rig.log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
