// What the supervisor decides and counts, without processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "app/config/camera_config.h"
#include "app/control/sent_stream.h"
#include "app/placement/quarantine.h"
#include "app/supervisor/life/message_checks.h"
#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/rig/cameras.h"
#include "app/supervisor/rig/restart_policy.h"
#include "app/supervisor/show/status_view.h"
#include "core/error.h"
#include "core/text_columns.h"
#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"
#include "ipc/encode_block.h"
#include "ipc/rig_page.h"
#include "ipc/source_blocks.h"
#include "tests/unit/camera_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const Clock::time_point start{seconds(1000)};

TEST(SentStream, DecidesOnlyWhatDependsOnIt) {
  const SentStream plain{"h264", "yuv420p", 0};
  const std::vector<SentStream> others{{"hevc", "yuv420p", 0},
                                       {"mjpeg", "yuvj422p", 0},
                                       {"h264", "yuv420p10le", 0},
                                       {"h264", "yuv420p", 90},
                                       {"h264", "yuv420p", 0, true}};
  CameraConfig asked;
  asked.encode.codec = "auto";
  EXPECT_TRUE(depends_on_stream(asked));
  EXPECT_TRUE(is_copy(resolved(asked, std::nullopt).encode));
  EXPECT_TRUE(is_copy(resolved(asked, plain).encode));
  EXPECT_TRUE(is_copy(resolved(asked, SentStream{"h264", "", 0}).encode));
  for (const SentStream& sends : others) EXPECT_EQ(resolved(asked, sends).encode, EncoderConfig()) << sends.codec;
  for (const char* codec : {"h264", "hevc", "copy"}) {
    asked.encode.codec = codec;
    EXPECT_FALSE(depends_on_stream(asked)) << codec;
    for (const SentStream& sends : others) EXPECT_EQ(resolved(asked, sends), asked) << codec;
  }
}

TEST(SentStream, IsBelievedOnlyInWordsOfFfmpeg) {
  const SentStream sends{"hevc", "yuv420p10le", 270};
  EXPECT_TRUE(is_possible(sends));
  for (const SentStream& wrong : std::vector<SentStream>{{"a line\nand another", "", 0},
                                                         {"", "", 0},
                                                         {"h264", "none at all", 0},
                                                         {"h264", "", 45},
                                                         {"h264", "", -90}})
    EXPECT_FALSE(is_possible(wrong)) << wrong.codec;
}

TEST(RestartPolicy, StartsAgainAtOnceAfterALongLife) {
  RestartPolicy policy;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(policy.on_death(start, start + seconds(10)), start + seconds(10));
}

TEST(RestartPolicy, WaitsLongerEachTimeAfterQuickDeaths) {
  RestartPolicy policy;
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 11; ++i) {
    const auto now = start + milliseconds(10);
    waits.push_back(std::chrono::duration_cast<milliseconds>(policy.on_death(start, now) - now).count());
  }
  EXPECT_THAT(waits, ElementsAre(0, 250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000));
  const auto now = start + seconds(11);
  EXPECT_EQ(policy.on_death(start, now), now) << "a long life makes up for all";
  EXPECT_EQ(policy.on_death(now, now + seconds(1)), now + seconds(1) + milliseconds(250));
}

// What it did between its deaths counts: the wait does not grow from death to death.
TEST(RestartPolicy, WaitsByHowOftenAProcessDies) {
  const auto longest_of = [](Clock::duration life) {
    RestartPolicy policy;
    Clock::duration longest{0};
    auto now = start;
    for (int i = 0; i < 100; ++i) {
      const auto restart = policy.on_death(now, now + life);
      longest = std::max(longest, restart - (now + life));
      now = restart;
    }
    return longest;
  };
  EXPECT_EQ(longest_of(seconds(9)), milliseconds(250));
  EXPECT_EQ(longest_of(seconds(5)), milliseconds(250));
  EXPECT_EQ(longest_of(seconds(3)), milliseconds(1000));
  EXPECT_EQ(longest_of(seconds(1)), seconds(30));
}

TEST(RestartPolicy, KeepsAGpusWorkersWaitingForLessThanFiveSeconds) {
  RestartPolicy policy(seconds(2));
  for (int i = 0; i < 20; ++i) EXPECT_LE(policy.on_death(start, start) - start, seconds(2));
}

TEST(QuarantinePolicy, SetsAsideAtTheThirdFaultWithinAMinute) {
  QuarantinePolicy policy;
  EXPECT_FALSE(policy.on_fault(start));
  EXPECT_FALSE(policy.on_fault(start + seconds(30)));
  EXPECT_TRUE(policy.on_fault(start + seconds(60)));
}

// A hang that takes half a minute to be found would otherwise never be the third within a minute.
TEST(QuarantinePolicy, DoesNotCountTheTimeInWhichAHangWasNotFound) {
  QuarantinePolicy policy;
  EXPECT_FALSE(policy.on_fault(start + seconds(40), seconds(40)));
  EXPECT_FALSE(policy.on_fault(start + seconds(80), seconds(40)));
  EXPECT_TRUE(policy.on_fault(start + seconds(120), seconds(40)));
}

TEST(RestartPolicy, WaitsAfterALongLifeThatEndsAgainAndAgain) {
  RestartPolicy policy;
  const auto now = start + seconds(20);
  EXPECT_EQ(policy.on_death(start, now), now);
  EXPECT_EQ(policy.on_death(start, now, true), now + milliseconds(250));
  EXPECT_EQ(policy.on_death(start, now, true), now + milliseconds(500));
  EXPECT_EQ(policy.on_death(start, now), now);
}

TEST(QuarantinePolicy, ForgetsAfterAMinute) {
  QuarantinePolicy policy;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(policy.on_fault(start + seconds(31 * i)));
}

CameraStatus status_of(const std::string& name) {
  return {.name = name,
          .state = "running",
          .fps_in = 25,
          .fps_out = 24.96,
          .p50_ms = 3.14159,
          .p95_ms = 11,
          .dropped = 7,
          .main_cause = "queue_full",
          .worker = 1,
          .gpu = "cpu",
          .note = ""};
}

TEST(StatusTable, HasALineForEachCameraInColumns) {
  const auto lines = format_table({status_of("a"), status_of("a-rather-long-name")}, 3723.9, 100);
  ASSERT_EQ(lines.size(), 4U);
  for (const char* text : {"25.0", "3.1", "11.0", "7 queue_full", "running"}) EXPECT_THAT(lines[1], HasSubstr(text));
  EXPECT_EQ(lines[1].find("running"), lines[2].find("running"));
  EXPECT_EQ(lines[0].find("state"), lines[1].find("running"));
  EXPECT_THAT(lines[3], HasSubstr("1:02:03"));
}

TEST(StatusTable, IsNeverWiderThanTheTerminal) {
  CameraStatus failed = status_of(std::string(64, 'x'));
  failed.note = std::string(300, 'y');
  for (const unsigned width : {40U, 80U, 200U}) {
    for (const std::string& line : format_table({failed}, 1, width)) EXPECT_LE(columns_of(line), width);
  }
}

// Rows of long names can be told apart: of cameras that differ at the end, and of a camera and its outputs.
TEST(StatusTable, KeepsLongNamesApart) {
  const std::string name = "warehouse-north-entrance-camera-0";
  for (const unsigned width : {40U, 80U, 100U}) {
    std::set<std::string> rows;
    for (const char* end : {"1", "2", "1/small", "1/browser", "2/small"}) {
      rows.insert(format_table({status_of(name + end)}, 1, width).at(1));
    }
    EXPECT_EQ(rows.size(), 5U) << width;
  }
  EXPECT_THAT(format_table({status_of(name + "1/small")}, 1, 80).at(1), HasSubstr("warehouse…-camera-01/small "));
}

TEST(StatusLine, TellsItAllInOneLine) {
  CameraStatus status = status_of("dock");
  status.note = "quarantined";
  EXPECT_EQ(format_line(status),
            "dock: running, 25.0 fps in, 25.0 out, latency p50 3.1 ms, p95 11.0 ms, dropped 7 queue_full, worker 1, "
            "quarantined");
  status.gpu = "3";
  EXPECT_THAT(format_line(status), HasSubstr(", worker 1 on GPU 3, quarantined"));
}

TEST(ChangesToLog, AreNewStatesAndNewDrops) {
  ChangesToLog changes;
  const auto names = [&](const std::vector<CameraStatus>& cameras, Clock::time_point now) {
    std::vector<std::string> due;
    for (const CameraStatus& camera : changes.take(cameras, now)) due.push_back(camera.name);
    return due;
  };
  CameraStatus dock = status_of("dock");
  CameraStatus gate = status_of("gate");
  gate.dropped = 0;
  EXPECT_THAT(names({dock, gate}, start), ElementsAre("dock", "gate"));
  EXPECT_THAT(names({dock, gate}, start + seconds(10)), ElementsAre("dock")) << "it drops no more";
  EXPECT_THAT(names({dock, gate}, start + seconds(20)), ElementsAre());
  gate.state = "waiting";
  EXPECT_THAT(names({dock, gate}, start + seconds(30)), ElementsAre("gate"));
  dock.dropped += 3;
  EXPECT_THAT(names({dock, gate}, start + seconds(40)), ElementsAre("dock"));
  dock.dropped += 3;
  EXPECT_THAT(names({dock, gate}, start + seconds(50)), ElementsAre()) << "it drops still";
  EXPECT_THAT(names({dock, gate}, start + seconds(60)), ElementsAre("dock"));
  EXPECT_THAT(names({dock, gate}, start + std::chrono::hours(1) + seconds(45)), ElementsAre("gate")) << "for an hour";
}

// A camera with rings in which `published` frames and `encoded` packets have been.
class Accounting : public testing::Test {
 protected:
  Accounting() {
    FrameRingSpec spec;
    spec.slot_bytes = 64;
    spec.slots = 32;
    spec.base = 10;  // of an earlier master
    frames_ = std::make_unique<FrameRingWriter>(FrameRingMemory::create(spec));
    packets_ = std::make_unique<PacketRingWriter>(PacketRingMemory::create(4096, 2, 4));
    camera_.outputs.reserve(2);
    camera_.outputs.emplace_back();
    test::add_node(camera_, NodeId(0), EdgeId(0));
    camera_.frames().newest.emplace(CameraEdge::Ring{FrameRingObserver(open(frames_->memory())), 25});
    camera_.own().packets.newest = PacketRingObserver(PacketRingMemory::open(UniqueFd(::dup(packets_->memory().fd()))));
    EdgeReader& reader = camera_.frames().readers.front();
    reader.meant = 10;  // in rings of that master
    reader_ = attach(reader, 64);
  }

  std::unique_ptr<FrameRingReader> attach(EdgeReader& reader, unsigned queue_size) {
    reader.seat = camera_.frames().newest->observer.reserve();
    auto attached = std::make_unique<FrameRingReader>(open(frames_->memory()), reader.seat.value());
    attached->attach(false, queue_size);
    return attached;
  }
  static std::shared_ptr<FrameRingMemory> open(const FrameRingMemory& memory) {
    return FrameRingMemory::open(UniqueFd(::dup(memory.control_fd())), UniqueFd(::dup(memory.pixel_fd())),
                                 FrameRingMemory::Role::reader);
  }
  void publish() {
    const auto slot = frames_->claim();
    ASSERT_TRUE(slot);
    frames_->publish(slot->index, {});
    frames_->unpin(slot->index);
  }
  void encode() {
    const std::vector<std::uint8_t> data(10);
    ASSERT_TRUE(packets_->push({.data = data, .times = {}}, Clock::now(), [] { return true; }));
  }

  [[nodiscard]] FrameCounts counts_of(unsigned output = 0) const {
    return count(camera_, camera_.outputs.at(output), page_);
  }
  // By the outputs' names.
  [[nodiscard]] std::map<std::string, std::uint64_t> settled() const {
    std::map<std::string, std::uint64_t> lost;
    for (const CameraNode& node : camera_.nodes) {
      for (const auto& [name, number] : settle_node(camera_, node, page_, DropCause::worker_lost)) lost[name] = number;
    }
    return lost;
  }
  [[nodiscard]] bool balanced(unsigned output) const {
    const FrameCounts counts = counts_of(output);
    return counts.decoded == counts.encoded + counts.dropped_total;
  }
  void add_output() {
    Output& output = camera_.outputs.emplace_back();
    output.id = OutputId(1);
    output.config.name = "small";
  }

  RigPage page_ = RigPage::create(2);
  EdgeWriterBlock& edge_ = page_.edge_writer(EdgeId(0), master_process);
  CopyBlock& copy_ = page_.copy(OutputId(0));
  EncodeBlock& encode_ = page_.encode(OutputId(0), page_.own());
  Camera camera_;
  std::unique_ptr<FrameRingWriter> frames_;
  std::unique_ptr<PacketRingWriter> packets_;
  std::unique_ptr<FrameRingReader> reader_;
};

TEST_F(Accounting, CountWhatIsInRingsOfAllEpochsAndWhatIsInNone) {
  for (int i = 0; i < 3; ++i) publish();
  for (int i = 0; i < 2; ++i) encode();
  counter(edge_.unpublished, DropCause::worker_lost) = 5;
  camera_.frames().readers.front().recalled = 6;
  counter(encode_.dropped, DropCause::worker_lost) = 1;
  const FrameCounts counts = counts_of();
  EXPECT_EQ(counts.decoded, 10U + 3 + 5);
  EXPECT_EQ(counts.encoded, 4U + 2);
  EXPECT_EQ(counts.dropped_total, 12U);
  EXPECT_EQ(counts.dropped, (std::map<std::string, std::uint64_t>{{"queue_full", 6}, {"worker_lost", 6}}));
}

TEST_F(Accounting, SettleEntersTheRestOnce) {
  for (int i = 0; i < 3; ++i) publish();
  encode();
  camera_.frames().readers.front().recalled = 2;
  EXPECT_THAT(settled(), ElementsAre(Pair("", 13U - 5 - 2)));
  EXPECT_THAT(settled(), IsEmpty());
  const FrameCounts counts = counts_of();
  EXPECT_EQ(counts.decoded, counts.encoded + counts.dropped_total);
  EXPECT_EQ(counts.dropped.at("worker_lost"), 6U);
}

// Two tiles died, and both seats are empty when the second one is settled: would its successor get the seat of the
// first, then that one would seem to be taken for ever, and its successor would never be offered the ring.
TEST_F(Accounting, AReaderThatDiedKeepsItsSeatUntilItIsSettled) {
  CameraEdge& edge = camera_.frames();
  EdgeReader& second = edge.readers.emplace_back();
  EdgeReader& first = edge.readers.front();
  ASSERT_TRUE(edge.take_seat(second));
  ASSERT_EQ(first.seat, 0U);
  ASSERT_EQ(second.seat, 1U);
  FrameRingObserver& observer = edge.newest->observer;
  for (const EdgeReader* reader : {&first, &second}) observer.mark_reader_gone(*reader->seat);
  frames_->service();
  ASSERT_EQ(observer.reader_state(0), ReaderState::empty);
  edge.end_seat(second);
  ASSERT_TRUE(edge.take_seat(second));
  EXPECT_EQ(second.seat, 1U);
  EXPECT_EQ(observer.reader_state(0), ReaderState::empty) << "so the first can be settled";
  edge.end_seat(first);
  ASSERT_TRUE(edge.take_seat(first));
  EXPECT_EQ(first.seat, 0U);
}

// The master counts for all outputs on the edge, the worker for each output.
TEST_F(Accounting, OfAnotherOutputShareWhatTheMasterCounts) {
  add_output();
  for (int i = 0; i < 10; ++i) publish();
  counter(edge_.unpublished, DropCause::corrupt) = 2;
  camera_.frames().readers.front().recalled = 3;
  counter(encode_.dropped, DropCause::filter_failed) = 4;
  counter(page_.encode(OutputId(1), page_.own()).dropped, DropCause::rate) = 5;
  EXPECT_EQ(counts_of(1).decoded, 10U + 10 + 2);
  EXPECT_EQ(counts_of(1).dropped,
            (std::map<std::string, std::uint64_t>{{"corrupt", 2}, {"queue_full", 3}, {"rate", 5}}));
  EXPECT_THAT(settled(), ElementsAre(Pair("", 20U - 4 - 3 - 4), Pair("small", 20U - 3 - 5)));
  EXPECT_EQ(counts_of(1).dropped.at("worker_lost"), 12U);
  EXPECT_TRUE(balanced(1));
  EXPECT_TRUE(balanced(0));
}

// Two nodes at one edge: what is taken back from one, and what came while it was away, is nobody else's.
TEST_F(Accounting, OfEachReaderOfARingAreItsOwn) {
  for (int i = 0; i < 2; ++i) publish();  // for the first alone
  EdgeReader& second = camera_.frames().readers.emplace_back();
  second.node = NodeId(1);
  second.meant = 10;
  camera_.nodes.push_back(CameraNode{.id = NodeId(1), .tile = std::nullopt, .watch = ThreadWatch(thread_hangs)});
  add_output();
  camera_.outputs[1].node = NodeId(1);
  EdgeReader& slow = camera_.frames().readers[1];
  const auto reader = attach(slow, 1);
  for (int i = 0; i < 5; ++i) publish();
  EXPECT_EQ(counts_of(0).decoded, 17U);
  EXPECT_EQ(counts_of(0).dropped_total, 0U);
  EXPECT_EQ(counts_of(1).decoded, 17U);
  EXPECT_EQ(counts_of(1).dropped, (std::map<std::string, std::uint64_t>{{"queue_full", 4}, {"worker_lost", 2}}));
  camera_.frames().newest->observer.mark_reader_gone(slow.seat.value());
  publish();
  camera_.frames().end_seat(slow);
  EXPECT_EQ(counts_of(1).dropped, (std::map<std::string, std::uint64_t>{{"queue_full", 4}, {"worker_lost", 3}}));
  EXPECT_THAT(settle_node(camera_, camera_.nodes[1], page_, DropCause::worker_lost),
              ElementsAre(testing::Field(&LostFrames::number, 10U + 1)));
  EXPECT_TRUE(balanced(1));
}

TEST(IntentionalDrops, AreThoseThatTheConfigurationCauses) {
  for (std::size_t i = 0; i < drop_causes; ++i) {
    const auto cause = static_cast<DropCause>(i);
    EXPECT_EQ(is_intentional_drop(name_of(cause)), cause == DropCause::rate || cause == DropCause::unwatched);
  }
}

TEST_F(Accounting, OfWhatIsPassedOnAreItsPackets) {
  camera_.own().config.encode.codec = "copy";
  add_output();
  for (int i = 0; i < 10; ++i) publish();
  encode();
  counter(copy_.unpublished, DropCause::publisher_slow) = 6;
  counter(edge_.unpublished, DropCause::corrupt) = 1;  // of what is decoded for the other
  camera_.frames().readers.front().recalled = 2;       // likewise
  EXPECT_EQ(counts_of(0).encoded, 4U + 1);
  EXPECT_EQ(counts_of(0).decoded, 5U + 6);
  EXPECT_EQ(counts_of(0).dropped, (std::map<std::string, std::uint64_t>{{"publisher_slow", 6}}));
  EXPECT_THAT(settled(), ElementsAre(Pair("small", 20U - 2)));
  EXPECT_EQ(counts_of(1).decoded, 21U);
  EXPECT_TRUE(balanced(1));
}

TEST(CameraStates, AreDatedByTheirLastChange) {
  Output output;
  output.since = 1;
  output.become(CameraState::starting);
  EXPECT_EQ(output.since, 1);
  output.become(CameraState::running);
  EXPECT_NEAR(static_cast<double>(output.since), static_cast<double>(utc_now_ns()), 60e9);
}

TEST(CameraAccounting, OfACameraThatNeverBeganIsEmpty) {
  const RigPage page = RigPage::create(1);
  Camera camera;
  test::add_node(camera, NodeId(0), EdgeId(0));
  camera.outputs.emplace_back();
  EXPECT_THAT(settle_node(camera, camera.nodes.front(), page, DropCause::worker_lost), IsEmpty());
  const FrameCounts counts = count(camera, camera.own(), page);
  EXPECT_EQ(counts.decoded + counts.encoded + counts.dropped_total + counts.recorded, 0U);
}

Camera camera_of(const std::string& name, const CameraIds& ids) {
  Camera camera;
  camera.id = ids.camera;
  camera.config->name = name;
  for (std::size_t n = 0; n < ids.nodes.size(); ++n) test::add_node(camera, ids.nodes[n], ids.edges[n]);
  for (const OutputId id : ids.outputs) {
    Output& output = camera.outputs.emplace_back();
    output.id = id;
    output.camera = ids.camera;
    output.own = camera.outputs.size() == 1;
    output.config.name = name + (output.is_own() ? "" : "/small");
  }
  return camera;
}

TEST(Quarantine, IsForCamerasThatMayBeDecodedApart) {
  CameraConfig camera;
  EXPECT_TRUE(may_be_quarantined(camera));
  EXPECT_FALSE(begins_in_quarantine(camera));
  camera.decode_isolation = DecodeIsolation::always;
  EXPECT_TRUE(begins_in_quarantine(camera));
  camera.decode_isolation = DecodeIsolation::never;
  EXPECT_FALSE(may_be_quarantined(camera));
  EXPECT_FALSE(begins_in_quarantine(camera));
}

// What a process sends is kept, shown and passed on: within bounds.
TEST(TextsInMessages, AreShortened) {
  Message message{"record_failed", {{"output", 0}, {"reason", std::string(100'000, 'x')}}, {}};
  shorten_texts(message);
  EXPECT_EQ(message.body.at("reason"), std::string(1024, 'x'));
  EXPECT_EQ(message.body.at("output"), 0);
}

TEST(CamerasTable, FindsCamerasAndTheirOutputsByNameAndId) {
  Cameras cameras(5);
  cameras.add(camera_of("dock", cameras.free_ids(2, 2)));
  Camera& gate = cameras.add(camera_of("gate", cameras.free_ids(1, 1)));
  EXPECT_EQ(cameras.find(NodeId(1)), cameras.find("dock"));
  EXPECT_EQ(cameras.find(EdgeId(2)), &gate) << "nor is an edge's";
  EXPECT_EQ(cameras.find(NodeId(3)), nullptr);
  EXPECT_EQ(cameras.find("gate"), &gate);
  EXPECT_EQ(cameras.find(CameraId(1)), &gate);
  EXPECT_EQ(cameras.find("dock/small"), nullptr);
  ASSERT_NE(cameras.find(OutputId(1)), nullptr);
  EXPECT_EQ(cameras.find(OutputId(1))->config.name, "dock/small");
  EXPECT_EQ(cameras.find(OutputId(2)), &gate.own()) << "an output's number is not its camera's";
  EXPECT_EQ(&cameras.of(*cameras.find(OutputId(1))), cameras.find("dock"));
  EXPECT_EQ(cameras.find(OutputId(3)), nullptr);
  EXPECT_EQ(cameras.find(CameraId(2)), nullptr);
  EXPECT_TRUE(cameras.is_id(OutputId(4)));
  EXPECT_FALSE(cameras.is_id(OutputId(5)));
}

TEST(CamerasTable, UsesIdsAgain) {
  Cameras cameras(4);
  cameras.add(camera_of("dock", cameras.free_ids(2, 2)));
  cameras.add(camera_of("gate", cameras.free_ids(1, 1)));
  EXPECT_THAT(cameras.free_ids(1, 1).outputs, ElementsAre(OutputId(3)));
  EXPECT_THROW(cameras.free_ids(1, 2), Error);
  EXPECT_THROW(cameras.free_ids(2, 1), Error);
  cameras.remove(CameraId(0));
  EXPECT_EQ(cameras.find("dock"), nullptr);
  EXPECT_EQ(cameras.find(OutputId(1)), nullptr);
  const CameraIds free = cameras.free_ids(3, 3);
  EXPECT_THAT(free.outputs, ElementsAre(OutputId(0), OutputId(1), OutputId(3)));
  EXPECT_EQ(free.camera, CameraId(0));
  EXPECT_THAT(free.nodes, ElementsAre(NodeId(0), NodeId(1), NodeId(3)));
  EXPECT_THAT(free.edges, ElementsAre(EdgeId(0), EdgeId(1), EdgeId(3)));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
