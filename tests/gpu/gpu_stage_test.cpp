// One camera's stage in a worker on a GPU: rings in that GPU's memory, filters there, x264 behind them; and what
// happens when the GPU has no room, hangs or breaks. A master's death is for gpu_ring_test and tools/gpu-check, which
// have a process for it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>

#include "app/config/stream_config.h"
#include "app/control/messages/run_node.h"
#include "app/worker/node.h"
#include "core/clock.h"
#include "core/cuda.h"
#include "core/failpoint.h"
#include "core/ffmpeg.h"
#include "ipc/drop_causes.h"
#include "ipc/encode_block.h"
#include "ipc/rig_page.h"
#include "tests/gpu/gpu_pictures.h"
#include "tests/unit/moving_picture.h"
#include "tests/unit/ring_test_support.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;
using test::after;
using test::eventually;

constexpr FrameFormat pictures{.pixels = PixelFormat::nv12, .width = 640, .height = 360};
constexpr std::size_t luma_bytes = 640 * 360;
constexpr std::size_t picture_bytes = luma_bytes * 3 / 2;

std::vector<std::uint8_t> picture(int number) {
  std::vector<std::uint8_t> bytes(picture_bytes);
  for (int y = 0; y < pictures.height; ++y) {
    for (int x = 0; x < pictures.width; ++x) {
      bytes[static_cast<std::size_t>(y * pictures.width + x)] = test::moving_luma(x, y, number);
    }
  }
  for (std::size_t i = luma_bytes; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(64 + (i % 640 + i / 640 + static_cast<std::size_t>(number)) % 128);
  }
  return bytes;
}

// Keeps what is enqueued on a stream from running, until it is opened. The GPU waits, not a thread of the process: CUDA
// has one thread for the host functions of all streams. Declared after what waits for the stream when it is destroyed.
class Gate {
 public:
  ~Gate() { open(); }
  void close(GpuStream stream) {
    cuda_check(cuda_driver().stream_wait_value(stream, reinterpret_cast<CUdeviceptr>(word_.get()), 1,
                                               CU_STREAM_WAIT_VALUE_GEQ),
               "gate");
  }
  void open() { std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word_.get())) = 1; }

 private:
  static PinnedBytes closed() {
    PinnedBytes word = allocate_pinned(sizeof(std::uint64_t));
    std::fill_n(word.get(), sizeof(std::uint64_t), std::uint8_t{0});
    return word;
  }
  PinnedBytes word_ = closed();
};

// The master of one camera.
class Master {
 public:
  // `filler`: the GPU that fills the ring; the CPU: pixels in host memory.
  explicit Master(const Device& filler) {
    FrameRingSpec spec;
    spec.slots = 12;
    spec.slot_bytes = (picture_bytes + 4095) / 4096 * 4096;
    spec.epoch = 1;
    if (on_gpu(filler)) {
      spec.memory = MemoryKind::cuda_vmm;
      spec.ready = ReadySignal::timeline;
      spec.device = filler;
      stream_ = make_cuda_stream();
      staging_ = allocate_pinned(most_fills * picture_bytes);
    }
    writer_ = std::make_unique<FrameRingWriter>(FrameRingMemory::create(spec));
  }
  ~Master() {
    if (stream_) static_cast<void>(cudaStreamSynchronize(stream_.get()));
  }

  InputRing ring_for(const Device& gpu) const {
    const FrameRingMemory& memory = writer_->memory();
    const auto mapping = FrameRingMemory::open(duplicate(memory.control_fd()), duplicate(memory.pixel_fd()),
                                               FrameRingMemory::Role::reader, gpu);
    test::reserve_seat(mapping, 0);
    return {mapping, 0, 25};
  }

  void publish(int number) {
    ASSERT_TRUE(writer_->wait_for_reader(after(5s), test::never));
    ASSERT_TRUE(writer_->wait_for_room(after(5s), test::never));
    std::optional<FrameRingWriter::Slot> slot;
    ASSERT_TRUE(eventually([&] { return (slot = writer_->claim()).has_value(); }));
    const auto bytes = picture(number);
    if (stream_) {
      // From page-locked memory: of other memory CUDA makes copies that wait, for a gate too.
      ASSERT_LT(fills_, most_fills);
      std::uint8_t* const from = staging_.get() + fills_++ * picture_bytes;
      std::ranges::copy(bytes, from);
      cuda_check(cudaMemcpyAsync(slot->pixels.data(), from, bytes.size(), cudaMemcpyDefault, stream_.get()), "fill");
      writer_->filled(slot->index, stream_.get());
    } else {
      std::ranges::copy(bytes, slot->pixels.begin());
    }
    FrameRecord record;
    record.format = pictures;
    record.offset = {0, luma_bytes};
    record.stride = {pictures.width, pictures.width};
    record.times.pts = number * 40'000'000LL;
    ASSERT_EQ(writer_->publish(slot->index, record), FrameRingWriter::Published::yes);
    writer_->unpin(slot->index);
  }

  void close() { writer_->close(); }
  GpuStream stream() const { return stream_.get(); }

 private:
  static constexpr std::size_t most_fills = 1000;
  CudaStream stream_;
  PinnedBytes staging_;
  std::size_t fills_ = 0;
  std::unique_ptr<FrameRingWriter> writer_;
};

ResolvedOutput camera(const std::vector<FilterConfig>& filters) {
  ResolvedOutput config;
  config.name = config.camera = "dock";
  config.filters = filters;
  config.encode.crf = 8;
  return config;
}

const std::vector<FilterConfig> small_and_sharp{
    {"resize", {{"width", 320}, {"height", 180}}}, {"blur", {{"sigma", 1.5}}}, {"sharpen", {{"amount", 1.0}}}};

// A worker with one camera, and a publisher that keeps its packets. `other`: a second output of the camera.
class Worker {
 public:
  Worker(const ResolvedOutput& config, const Device& gpu, bool hardware_encoder = false,
         const std::optional<ResolvedOutput>& other = std::nullopt) {
    OutputEvents events;
    events.on_packets = [this](OutputId output, const PacketRingMemory& ring, std::uint64_t,
                               const StreamParameters& parameters) {
      const std::lock_guard lock(mutex_);
      if (output == OutputId(1)) {
        other_ring_ = PacketRingMemory::open(duplicate(ring.fd()));
        return;
      }
      rings_.push_back(PacketRingMemory::open(duplicate(ring.fd())));
      parameters_ = parameters;
    };
    events.on_failed = [this](OutputId, const std::string& reason) {
      const std::lock_guard lock(mutex_);
      failure_ = reason;
    };
    events.on_gpu_lost = [this](const std::string& reason) {
      std::fprintf(stderr, "lost: %s\n", reason.c_str());
      if (leave_) _exit(42);
      lost_ = true;
    };
    messages::RunNode start;
    start.inputs = {EdgeId(0)};
    start.name = config.camera;
    start.outputs.emplace_back().config = config;
    start.outputs.back().placement.hardware_encoder = hardware_encoder;
    if (other) {
      start.outputs.emplace_back().config = *other;
      start.outputs.back().output = OutputId(1);
    }
    node_ = std::make_unique<Node>(start, gpu, page_, events, [this] { done_ = true; });
  }

  void leave_when_lost() { leave_ = true; }
  Node& node() { return *node_; }
  bool finish() {
    node_->input().finish();
    return eventually([this] { return done_.load(); });
  }
  bool lost() const { return lost_; }
  std::string failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  StreamParameters parameters() {
    const std::lock_guard lock(mutex_);
    return parameters_;
  }
  std::uint64_t dropped(DropCause cause) {
    return counter(page_.encode(OutputId(0), page_.own()).dropped, cause).load();
  }
  std::uint64_t encoded() {
    const std::lock_guard lock(mutex_);
    return rings_.empty() ? 0 : PacketRingObserver(rings_.back()).published();
  }

  std::uint64_t other_encoded() {
    const std::lock_guard lock(mutex_);
    return other_ring_ ? PacketRingObserver(other_ring_).published() : 0;
  }

  // Decodes the packets of the newest ring.
  std::vector<AvFrame> decode() {
    const StreamParameters stream = parameters();
    AvCodecContext decoder(avcodec_alloc_context3(avcodec_find_decoder(AV_CODEC_ID_H264)));
    decoder->thread_count = 1;
    decoder->extradata = static_cast<std::uint8_t*>(av_mallocz(stream.extradata.size() + AV_INPUT_BUFFER_PADDING_SIZE));
    std::ranges::copy(stream.extradata, decoder->extradata);
    decoder->extradata_size = static_cast<int>(stream.extradata.size());
    av_check(avcodec_open2(decoder.get(), nullptr, nullptr), "decoder");
    std::vector<AvFrame> frames;
    const auto drain = [&](const AVPacket* packet) {
      av_check(avcodec_send_packet(decoder.get(), packet), "decode");
      for (AvFrame frame = make_av_frame(); avcodec_receive_frame(decoder.get(), frame.get()) == 0;
           frame = make_av_frame()) {
        frames.push_back(std::move(frame));
      }
    };
    PacketRingReader reader(rings_.back());
    PacketView view;
    std::uint64_t number = 0;
    while (reader.next(view, number, Clock::now()) == PacketRingReader::Next::packet) {
      AvPacket packet = make_av_packet();
      av_check(av_new_packet(packet.get(), static_cast<int>(view.data.size())), "packet");
      std::ranges::copy(view.data, packet->data);
      drain(packet.get());
    }
    drain(nullptr);
    return frames;
  }

 private:
  RigPage page_ = RigPage::create(2);
  std::mutex mutex_;
  std::vector<std::shared_ptr<PacketRingMemory>> rings_;
  std::shared_ptr<PacketRingMemory> other_ring_;
  StreamParameters parameters_;
  std::string failure_;
  std::atomic<bool> done_{false};
  std::atomic<bool> lost_{false};
  std::atomic<bool> leave_{false};
  std::unique_ptr<Node> node_;
};

double psnr(const AVFrame& a, const AVFrame& b, int plane) {
  const int width = plane == 0 ? a.width : (a.width + 1) / 2;
  const int height = plane == 0 ? a.height : (a.height + 1) / 2;
  double sum = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int difference = a.data[plane][y * a.linesize[plane] + x] - b.data[plane][y * b.linesize[plane] + x];
      sum += difference * difference;
    }
  }
  return sum == 0 ? 99 : 10 * std::log10(255.0 * 255.0 * width * height / sum);
}

constexpr int length = 40;

// All that a camera delivers whose ring `filler` fills, on a worker of `gpu`.
std::vector<AvFrame> run(const std::vector<FilterConfig>& filters, const Device& filler, const Device& gpu,
                         bool hardware_encoder = false) {
  Master master(filler);
  Worker worker(camera(filters), gpu, hardware_encoder);
  worker.node().input().add(EdgeId(0), master.ring_for(gpu));
  for (int number = 0; number < length; ++number) master.publish(number);
  master.close();
  EXPECT_TRUE(worker.finish());
  EXPECT_EQ(worker.failure(), "");
  EXPECT_EQ(worker.encoded(), std::uint64_t{length});
  EXPECT_EQ(worker.parameters().encoder, "libx264");
  worker.node().input().drop_used_rings();
  return worker.decode();
}

void expect_alike(const std::vector<AvFrame>& got, const std::vector<AvFrame>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i]->width, expected[i]->width);
    ASSERT_EQ(got[i]->height, expected[i]->height);
    for (int plane = 0; plane < 3; ++plane) EXPECT_GE(psnr(*got[i], *expected[i], plane), 40) << i << " " << plane;
  }
}

class GpuStage : public test::GpuTest {
 protected:
  void SetUp() override {
    // Master and worker are one process here: a stream of the one that waits must not hold up the other's, as it does
    // when they share one of the few queues to the GPU that a process has by default.
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    test::GpuTest::SetUp();
    if (const auto found = test::first_gpu()) gpu_ = *found;
  }
  Device gpu_;
};

TEST_F(GpuStage, EncodesWhatTheCpuWould) {
  const auto expected = run(small_and_sharp, {}, {});
  ASSERT_EQ(expected.size(), std::size_t{length});
  expect_alike(run(small_and_sharp, gpu_, gpu_), expected);
  expect_alike(run(small_and_sharp, {}, gpu_), expected);  // a ring in host memory
}

TEST_F(GpuStage, OnlyDownloadsWithoutFilters) { expect_alike(run({}, gpu_, gpu_), run({}, {}, {})); }

// Both read the same slot; with 12 of them, each has to come back.
TEST_F(GpuStage, TwoOutputsShareEachPicture) {
  for (const Device& filler : {gpu_, Device{}}) {
    Master master(filler);
    Worker worker(camera(small_and_sharp), gpu_, false, camera({{"rotate", {{"angle", 90}}}}));
    worker.node().input().add(EdgeId(0), master.ring_for(gpu_));
    for (int number = 0; number < length; ++number) master.publish(number);
    master.close();
    ASSERT_TRUE(worker.finish());
    EXPECT_EQ(worker.failure(), "");
    EXPECT_EQ(worker.encoded(), std::uint64_t{length});
    EXPECT_EQ(worker.other_encoded(), std::uint64_t{length});
    worker.node().input().drop_used_rings();
    expect_alike(worker.decode(), run(small_and_sharp, {}, {}));
  }
}

// On GPUs without an encoder, and on those with one whose sessions are all in use.
TEST_F(GpuStage, GoesOnWithLibx264WhereTheHardwareDoesNotOpen) {
  bool has_encoder = false;
  {
    Worker worker(camera({}), gpu_, true);
    Master master(gpu_);
    worker.node().input().add(EdgeId(0), master.ring_for(gpu_));
    master.publish(0);
    ASSERT_TRUE(eventually([&] { return worker.encoded() == 1; }));
    has_encoder = worker.parameters().encoder != "libx264";
    master.close();
    ASSERT_TRUE(worker.finish());
  }
  if (has_encoder) GTEST_SKIP() << "this GPU has an encoder";
  expect_alike(run(small_and_sharp, gpu_, gpu_, true), run(small_and_sharp, {}, {}));
}

std::vector<DeviceBytes> all_memory() {
  std::vector<DeviceBytes> taken;
  for (std::size_t size = std::size_t{1} << 36; size >= 4096;) {
    try {
      taken.push_back(allocate_on_device(size));
    } catch (const GpuError&) {
      size /= 2;
    }
  }
  return taken;
}

TEST_F(GpuStage, DropsFramesWhileThereIsNoMemoryAndTriesAgain) {
  Master master(gpu_);
  Worker worker(camera(small_and_sharp), gpu_);
  worker.node().input().add(EdgeId(0), master.ring_for(gpu_));
  auto taken = all_memory();
  int number = 0;
  for (; number < 3; ++number) master.publish(number);
  EXPECT_TRUE(eventually([&] { return worker.dropped(DropCause::no_gpu_memory) == 3; }));
  taken.clear();
  EXPECT_TRUE(eventually([&] {
    master.publish(number++);
    std::this_thread::sleep_for(20ms);
    return worker.encoded() > 0;
  }));
  master.close();
  ASSERT_TRUE(worker.finish());
  EXPECT_EQ(worker.failure(), "");
  EXPECT_FALSE(worker.lost());
  EXPECT_EQ(worker.encoded() + worker.dropped(DropCause::no_gpu_memory), static_cast<std::uint64_t>(number));
}

TEST_F(GpuStage, GivesUpAGpuThatDoesNotFinish) {
  Master master(gpu_);
  Worker worker(camera(small_and_sharp), gpu_);
  Gate gate;
  worker.node().input().add(EdgeId(0), master.ring_for(gpu_));
  gate.close(master.stream());
  master.publish(0);
  EXPECT_TRUE(eventually([&] { return worker.lost(); }));
  gate.open();
  master.close();
  EXPECT_TRUE(worker.finish());
}

// The ring is the CPU's, since writer and reader share the context here.
void run_into_a_fault(const Device& gpu) {
  Master master(Device{});
  Worker worker(camera(small_and_sharp), gpu);
  worker.leave_when_lost();
  worker.node().input().add(EdgeId(0), master.ring_for(gpu));
  master.publish(0);
  if (!eventually([&] { return worker.encoded() == 1; })) _exit(1);
  gpu_fault();
  master.publish(1);
  static_cast<void>(eventually([] { return false; }));
  _exit(2);
}

TEST_F(GpuStage, LeavesAtOnceWhenTheContextIsLost) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_into_a_fault(gpu_), testing::ExitedWithCode(42), "lost: .*illegal");
}

}  // namespace
}  // namespace campipe
