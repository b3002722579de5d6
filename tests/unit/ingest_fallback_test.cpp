// A camera whose GPU gives up decoding, on a machine that needs none: a decoder that passes for a GPU's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <filesystem>

#include "core/test_pattern.h"
#include "ipc/decode_blocks.h"
#include "ipc/edge_blocks.h"
#include "ipc/frame_ring_layout.h"
#include "ipc/rig_page.h"
#include "tests/integration/clips.h"
#include "tests/unit/ring_test_support.h"
#include "tests/unit/whole_ingest.h"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Device some_gpu{{1, 2, 3}};

// Decodes on the CPU, until it has handed out so many frames or been given so many packets.
class FakeHardware final : public Decoder {
 public:
  struct Patience {
    int pictures = -1;  // -1: without end
    int packets = -1;
    bool breaks = false;  // the GPU's context instead of the decoder
    bool on_gpu = false;  // asks for a ring that a GPU can fill
  };
  FakeHardware(std::unique_ptr<Decoder> real, const Patience& patience) : real_(std::move(real)), left_(patience) {}

  SlotNeeds needs() const override {
    SlotNeeds needs = real_->needs();
    needs.on_gpu = left_.on_gpu;
    return needs;
  }
  void write_to(std::shared_ptr<FrameRingWriter> ring) override { real_->write_to(std::move(ring)); }
  bool send(const AVPacket* packet, std::int64_t utc) override {
    if (left_.packets-- == 0) give_up();
    return real_->send(packet, utc);
  }
  Receive receive(DecodedFrame& picture) override {
    const Receive received = real_->receive(picture);
    if (received == Receive::frame && left_.pictures-- == 0) give_up();
    return received;
  }
  void flush() override { real_->flush(); }

 private:
  void give_up() const {
    if (left_.breaks) throw GpuError("an illegal address", GpuError::Kind::broken);
    throw HardwareRefused("enough of it");
  }

  std::unique_ptr<Decoder> real_;
  Patience left_;
};

// A camera's ingest, and one reader of all its rings, one after the other, as a worker is.
class Camera {
 public:
  Camera(const fs::path& file, const FakeHardware::Patience& patience, bool refuse_at_open = false)
      : page_(RigPage::create(1)) {
    page_.barrier().add(0);
    page_.barrier().arrive(0, 0);
    start_.config.name = "cam";
    start_.config.source = {.url = file.string(), .pace = Pace::fast};
    decoding_.placement.decode_gpu = some_gpu;
    decoding_.placement.memory = MemoryKind::cuda_vmm;
    decoding_.placement.ready = ReadySignal::ipc_event;
    decoding_.open_decoder = [=, this](const SourceStream& stream,
                                       const DecoderOptions& options) -> std::unique_ptr<Decoder> {
      auto real = open_decoder(stream, {options.threads, {}});
      if (!on_gpu(options.gpu)) {
        ++decoders_on_cpu;
        return real;
      }
      if (refuse_at_open) throw HardwareRefused("no hardware for it");
      return std::make_unique<FakeHardware>(std::move(real), patience);
    };
  }
  // Numbers of the frames that a reader saw, in its order. `stop_after`: so many were seen.
  std::vector<std::uint32_t> run(std::size_t stop_after = SIZE_MAX) {
    test::WholeIngest ingest(start_, decoding_, page_, events());
    while (const auto ring = next_ring()) {
      FrameRingReader reader(ring, 0);
      test::reserve_seat(ring, 0);
      reader.attach(true, 8);
      FrameRingReader::Lease lease;
      while (reader.next(lease, test::after(test::seconds(20))) == FrameRingReader::Next::frame) {
        look(lease);
        if (numbers_.size() == renew_after_) ingest.renew();
        if (numbers_.size() == stop_after) ingest.stop();
      }
    }
    for (const auto& lost : page_.edge_writer(EdgeId(0), master_process).unpublished) unpublished += lost.load();
    return numbers_;
  }

  CameraConfig& config() { return start_.config; }
  void decode_on_cpu() { decoding_.placement.decode_gpu = {}; }
  // Packets go to an output that nobody reads, and motion is looked for in them.
  void copy_with_motion() {
    start_.copies = {{.output = OutputId(0), .filters = {{"motion", complete_parameters(known_filter("motion"), {})}}}};
  }
  [[nodiscard]] const MotionBlock& motion() const { return page_.look(OutputId(0), master_process).motion; }
  // Once so many frames were seen, the ring has no place for a further reader.
  void renew_after(std::size_t pictures) { renew_after_ = pictures; }

  std::vector<std::string> decoders;  // of the rings
  std::vector<std::uint64_t> epochs;
  std::string failure;
  std::string lost_gpu;
  std::uint64_t unpublished = 0;
  int decoders_on_cpu = 0;

 private:
  test::WholeIngestEvents events() {
    return {[this](const FrameRingMemory& ring, const SourceStream&, const std::string& decoder) {
              const std::lock_guard lock(mutex_);
              decoders.push_back(decoder);
              epochs.push_back(ring.description().epoch);
              rings_.push_back(test::reopen(ring, FrameRingMemory::Role::reader));
              changed_.notify_one();
            },
            [this](const std::string& reason) { lost_gpu = reason; },
            [this](const std::string& reason) {
              const std::lock_guard lock(mutex_);
              failure = reason;
              over_ = true;
              changed_.notify_one();
            }};
  }

  std::shared_ptr<FrameRingMemory> next_ring() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, test::seconds(20), [this] { return over_ || !rings_.empty(); })) {
      ADD_FAILURE() << "neither a ring nor an end";
      return nullptr;
    }
    if (rings_.empty()) return nullptr;
    auto ring = rings_.front();
    rings_.pop_front();
    return ring;
  }

  void look(const FrameRingReader::Lease& lease) {
    const auto code = read_pattern(lease.frame.view);
    ASSERT_TRUE(code);
    numbers_.push_back(code->number);
    EXPECT_GT(lease.times.pts, last_pts_);
    EXPECT_EQ(lease.number, numbers_.size());  // over all epochs
    last_pts_ = lease.times.pts;
  }

  RigPage page_;
  IngestStart start_;
  DecodingStart decoding_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<FrameRingMemory>> rings_;
  bool over_ = false;
  std::vector<std::uint32_t> numbers_;
  std::int64_t last_pts_ = -1;
  std::size_t renew_after_ = SIZE_MAX;
};

std::vector<std::uint32_t> numbers(std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t number = from; number < to; ++number) all.push_back(number);
  return all;
}

class IngestFallback : public testing::Test {
 protected:
  IngestFallback() {
    std::string name = (fs::temp_directory_path() / "campipe-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw system_error("cannot make " + name, errno);
    folder_ = name;
  }
  ~IngestFallback() override {
    std::error_code error;
    fs::remove_all(folder_, error);
  }
  fs::path make(const test::ClipSpec& clip) {
    test::make_clip(folder_, clip);
    return folder_ / clip.name;
  }

 private:
  fs::path folder_;
};

void expect_every_picture_once(const fs::path& file, const FakeHardware::Patience& patience) {
  Camera camera(file, patience);
  EXPECT_EQ(camera.run(), numbers(0, 60));
  EXPECT_EQ(camera.failure, "");
  EXPECT_EQ(camera.unpublished, 0U);
  EXPECT_THAT(camera.epochs, ElementsAre(1, 2));
}

TEST_F(IngestFallback, MotionInWhatIsCopiedIsSeenOnTheCpu) {
  const fs::path file = make({.name = "plain.mp4"});
  const auto expect_motion = [&](Camera& camera, int decoders) {
    camera.copy_with_motion();
    EXPECT_EQ(camera.run(), numbers(0, 60));
    EXPECT_EQ(camera.failure, "");
    EXPECT_GT(camera.motion().largest, camera.motion().threshold);
    EXPECT_EQ(camera.decoders_on_cpu, decoders);
  };
  Camera on_cpu(file, {});
  on_cpu.decode_on_cpu();
  expect_motion(on_cpu, 1);  // the camera's, whose frames are looked at
  Camera on_gpu(file, {});
  expect_motion(on_gpu, 1);  // its own
  Camera until_it_gives_up(file, {.pictures = 20});
  expect_motion(until_it_gives_up, 2);
}

TEST_F(IngestFallback, LosesAndDoublesNoPictureWhereverTheHardwareGivesUp) {
  for (const test::ClipSpec& clip : test::clips_to_begin_anew_in()) {
    if (!test::can_encode(clip.encoder)) continue;
    const fs::path file = make(clip);
    for (const int after : {0, 1, 5, 11, 12, 13, 14, 17, 24, 26, 37, 59}) {
      SCOPED_TRACE(clip.name + " after " + std::to_string(after));
      expect_every_picture_once(file, {.pictures = after});
      expect_every_picture_once(file, {.packets = after});
    }
    SCOPED_TRACE(clip.name + " while it drains");
    expect_every_picture_once(file, {.packets = 60});
  }
}

TEST_F(IngestFallback, SaysWhatDecodes) {
  const fs::path file = make({.name = "a.mp4"});
  Camera gives_up(file, {.pictures = 20});
  gives_up.run();
  EXPECT_THAT(gives_up.decoders, ElementsAre("h264 (nvdec)", "h264"));
  Camera goes_on(file, {});
  EXPECT_EQ(goes_on.run(), numbers(0, 60));
  EXPECT_THAT(goes_on.decoders, ElementsAre("h264 (nvdec)"));
  Camera refused(file, {}, true);
  EXPECT_EQ(refused.run(), numbers(0, 60));
  EXPECT_THAT(refused.decoders, ElementsAre("h264"));
  EXPECT_THAT(refused.epochs, ElementsAre(1));
}

// It begins with a key frame, and nothing is lost or comes twice.
TEST_F(IngestFallback, RenewsItsRingWhenAFurtherPlaceIsNeeded) {
  for (const bool on_cpu : {false, true}) {
    SCOPED_TRACE(on_cpu);
    Camera camera(make({.name = "a.mp4", .b_frames = 2}), {});
    if (on_cpu) camera.decode_on_cpu();
    camera.renew_after(20);
    EXPECT_EQ(camera.run(), numbers(0, 60));
    EXPECT_THAT(camera.epochs, ElementsAre(1, 2));
    EXPECT_EQ(camera.failure, "");
    EXPECT_EQ(camera.unpublished, 0U);
  }
}

TEST_F(IngestFallback, PaintsThePatternWithoutAGpu) {
  Camera camera("test://pattern?width=320&height=240&rate=25&frames=60", {});
  EXPECT_EQ(camera.run(), numbers(0, 60));
  EXPECT_THAT(camera.decoders, ElementsAre("pattern"));
}

TEST_F(IngestFallback, GoesOnInALaterRoundOfALoop) {
  Camera camera(make({.name = "a.mp4", .b_frames = 2}), {.pictures = 100});
  camera.config().source.loop = true;
  const auto seen = camera.run(200);
  ASSERT_GE(seen.size(), 200U);
  // Behind them, a B-frame may be missing whose packet was not read any more.
  for (std::size_t i = 0; i < 200; ++i) ASSERT_EQ(seen[i], i % 60) << i;
}

TEST_F(IngestFallback, WaitsForAKeyFrameWhenTheLastIsTooFarBack) {
  const fs::path file = make({.name = "a.mp4", .frames = 720, .gop = 650});
  Camera camera(file, {.packets = 640});
  auto expected = numbers(0, 640);
  const auto rest = numbers(650, 720);
  expected.insert(expected.end(), rest.begin(), rest.end());
  EXPECT_EQ(camera.run(), expected);
  EXPECT_EQ(camera.failure, "");
}

TEST_F(IngestFallback, TellsWhenTheGpuIsLost) {
  Camera camera(make({.name = "a.mp4"}), {.pictures = 20, .breaks = true});
  EXPECT_EQ(camera.run(), numbers(0, 20));
  EXPECT_THAT(camera.lost_gpu, HasSubstr("an illegal address"));
}

TEST_F(IngestFallback, DoesWithoutAGpuThatHasNoRoomForTheRing) {
  if (!with_cuda) GTEST_SKIP() << "built without CUDA";
  Camera camera(make({.name = "a.mp4"}), {.on_gpu = true});
  EXPECT_EQ(camera.run(), numbers(0, 60));
  EXPECT_THAT(camera.decoders, ElementsAre("h264"));
  EXPECT_THAT(camera.lost_gpu, IsEmpty());
}

AvPacket packet_of(std::int64_t number, bool key, int size = 10) {
  AvPacket packet = make_av_packet();
  av_check(av_new_packet(packet.get(), size), "a packet");
  packet->flags = key ? AV_PKT_FLAG_KEY : 0;
  packet->pos = number;
  return packet;
}

std::size_t kept(const ReplayWindow& window) {
  std::size_t count = 0;
  window.replay([&](const AVPacket&) { return ++count, true; });
  return count;
}

TEST(ReplayWindow, KeepsAGroupUntilTheNextKeyFrameIsSeen) {
  ReplayWindow window;
  EXPECT_FALSE(window.complete());
  window.add(*packet_of(0, false));
  EXPECT_FALSE(window.complete()) << "nothing can begin there";
  for (int i = 1; i <= 20; ++i) window.add(*packet_of(i, i % 10 == 1));
  EXPECT_EQ(kept(window), 20U);
  for (const int number : {1, 2, 10, 12}) window.seen(number);
  EXPECT_EQ(kept(window), 20U);
  EXPECT_THAT(window.seen_frames(), ElementsAre(1, 2, 10, 12));
  window.seen(11);
  EXPECT_EQ(kept(window), 10U);
  EXPECT_THAT(window.seen_frames(), ElementsAre(11, 12));
}

TEST(ReplayWindow, IsBounded) {
  ReplayWindow window;
  std::int64_t number = 0;
  for (std::size_t i = 0; i < ReplayWindow::most_packets; ++i) window.add(*packet_of(number++, i == 0));
  EXPECT_TRUE(window.complete());
  window.add(*packet_of(number++, false));
  EXPECT_FALSE(window.complete());
  for (int i = 0; i < 5; ++i) window.add(*packet_of(number++, true, 20 << 20));
  EXPECT_EQ(kept(window), 3U) << "as many groups as 64 MiB hold";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
