// A GPU's decoder against the CPU's, on clips of tests/gpu/make_clips.sh in the folder $CAMPIPE_CLIPS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/cuda.h"
#include "ipc/ready_signals.h"
#include "stages/decoders/cuda_decoder.h"
#include "stages/sources/source.h"
#include "stages/sources/source_config.h"

extern "C" {
#include <libavutil/adler32.h>
}

namespace campipe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::optional<Device> first_gpu() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return std::nullopt;
  return gpu_at(0);
}

// nv12 without gaps between the rows.
struct Picture {
  std::int64_t pts = 0;
  FrameFormat format;
  std::vector<std::uint8_t> bytes;
};

// Copies a slot to the CPU once its fill is complete.
Picture download(const FrameRingWriter& ring, const DecodedFrame& decoded) {
  const Deadline deadline = Clock::now() + std::chrono::seconds(10);
  while (!ring.memory().signals()->complete(decoded.slot)) {
    if (Clock::now() >= deadline) throw Error("a fill that does not get complete");
    std::this_thread::yield();
  }
  Picture picture{decoded.pts, decoded.record.format, {}};
  const std::uint8_t* slot = ring.memory().pixels(decoded.slot).data();
  for (int plane = 0; plane < 2; ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    const PlaneSize size = plane_size(picture.format, plane);
    const auto width = static_cast<std::size_t>(size.width);
    const auto height = static_cast<std::size_t>(size.height);
    const std::size_t begin = picture.bytes.size();
    picture.bytes.resize(begin + width * height);
    cuda_check(cudaMemcpy2D(picture.bytes.data() + begin, width, slot + decoded.record.offset[at],
                            static_cast<std::size_t>(decoded.record.stride[at]), width, height, cudaMemcpyDefault),
               "cannot copy a frame to the CPU");
  }
  return picture;
}

// A file, the GPU's decoder and the ring that it writes to.
class Bench {
 public:
  Bench(const fs::path& file, const Device& gpu, MemoryKind memory = MemoryKind::cuda_vmm, unsigned slots = 4)
      : source_(open_source({.url = file.string(), .pace = Pace::fast}, [] { return false; })),
        decoder_(open_decoder(source_->stream(), {.gpu = gpu})) {
    FrameRingSpec spec;
    spec.slots = slots;
    spec.slot_bytes = decoder_->needs().bytes;
    spec.memory = memory;
    spec.device = gpu;
    spec.ready = ReadySignal::timeline;
    ring_ = std::make_shared<FrameRingWriter>(FrameRingMemory::create(spec));
    decoder_->write_to(ring_);
  }

  using Damage = std::function<void(AVPacket&)>;

  std::vector<Picture> run(const Damage& damage = {}) {
    const AvPacket packet = make_av_packet();
    std::vector<Picture> pictures;
    while (source_->read(*packet) == ReadResult::packet) {
      if (damage) damage(*packet);
      decode(packet.get(), pictures);
      av_packet_unref(packet.get());
    }
    decode(nullptr, pictures);
    return pictures;
  }
  void begin_again() {
    decoder_->flush();
    source_->rewind();
  }
  [[nodiscard]] int lost() const { return lost_; }

 private:
  void decode(const AVPacket* packet, std::vector<Picture>& pictures) {
    decoder_->send(packet, 0);
    for (;;) {
      DecodedFrame decoded;
      const auto received = decoder_->receive(decoded);
      if (received == Decoder::Receive::none) return;
      if (received == Decoder::Receive::no_slot) ++lost_;
      if (received == Decoder::Receive::frame) pictures.push_back(download(*ring_, decoded));
    }
  }

  std::unique_ptr<Source> source_;
  std::shared_ptr<FrameRingWriter> ring_;
  std::unique_ptr<Decoder> decoder_;
  int lost_ = 0;
};

// One sample of a plane of 4:2:0, as 8 bits; 10-bit ones rounded as the GPU's kernel rounds them.
std::uint8_t sample_of(const AVFrame& frame, int plane, int x, int y) {
  const std::uint8_t* row = frame.data[plane] + std::ptrdiff_t{frame.linesize[plane]} * y;
  if (frame.format != AV_PIX_FMT_YUV420P10) return row[x];
  std::uint16_t wide = 0;
  std::memcpy(&wide, row + 2 * std::ptrdiff_t{x}, sizeof wide);
  return static_cast<std::uint8_t>(std::min((wide + 2) >> 2, 255));
}

Picture as_nv12(const AVFrame& frame) {
  Picture picture{frame.best_effort_timestamp, {PixelFormat::nv12, frame.width, frame.height}, {}};
  for (int y = 0; y < frame.height; ++y) {
    for (int x = 0; x < frame.width; ++x) picture.bytes.push_back(sample_of(frame, 0, x, y));
  }
  for (int y = 0; y < frame.height / 2; ++y) {
    for (int x = 0; x < frame.width; ++x) picture.bytes.push_back(sample_of(frame, 1 + x % 2, x / 2, y));
  }
  return picture;
}

// By libavcodec alone; empty where it can decode the codec with hardware only (AV1 without dav1d).
std::vector<Picture> decode_on_cpu(const fs::path& file) {
  const auto source = open_source({.url = file.string(), .pace = Pace::fast}, [] { return false; });
  const AVCodecParameters& parameters = *source->stream().codec;
  const AvCodecContext decoder(avcodec_alloc_context3(avcodec_find_decoder(parameters.codec_id)));
  av_check(avcodec_parameters_to_context(decoder.get(), &parameters), file);
  decoder->pkt_timebase = source->stream().time_base;
  av_check(avcodec_open2(decoder.get(), nullptr, nullptr), file);
  std::vector<Picture> pictures;
  const AvFrame frame = make_av_frame();
  const auto drain = [&](const AVPacket* packet) {
    avcodec_send_packet(decoder.get(), packet);
    while (avcodec_receive_frame(decoder.get(), frame.get()) == 0) pictures.push_back(as_nv12(*frame));
  };
  const AvPacket packet = make_av_packet();
  while (source->read(*packet) == ReadResult::packet) {
    drain(packet.get());
    av_packet_unref(packet.get());
  }
  drain(nullptr);
  return pictures;
}

// FFmpeg's "framecrc" of nv12.
std::vector<std::uint32_t> read_checksums(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::uint32_t> sums;
  for (std::string line; std::getline(in, line);) {
    if (const auto at = line.rfind("0x"); line[0] != '#' && at != std::string::npos)
      sums.push_back(static_cast<std::uint32_t>(std::stoul(line.substr(at), nullptr, 16)));
  }
  return sums;
}

std::uint32_t checksum(const Picture& picture) {
  return static_cast<std::uint32_t>(av_adler32_update(0, picture.bytes.data(), picture.bytes.size()));
}

struct Difference {
  int greatest = 0;
  double mean = 0;
};

Difference difference(const Picture& a, const Picture& b) {
  Difference found;
  for (std::size_t i = 0; i < a.bytes.size(); ++i) {
    const int step = std::abs(a.bytes[i] - b.bytes[i]);
    found.greatest = std::max(found.greatest, step);
    found.mean += step;
  }
  found.mean /= static_cast<double>(a.bytes.size());
  return found;
}

void expect_same_times(const std::vector<Picture>& pictures, const std::vector<Picture>& expected) {
  ASSERT_EQ(pictures.size(), expected.size());
  for (std::size_t i = 0; i < pictures.size(); ++i) EXPECT_EQ(pictures[i].pts, expected[i].pts) << "frame " << i;
}

void expect_close(const std::vector<Picture>& pictures, const std::vector<Picture>& expected, int levels) {
  expect_same_times(pictures, expected);
  for (std::size_t i = 0; i < std::min(pictures.size(), expected.size()); ++i) {
    ASSERT_EQ(pictures[i].bytes.size(), expected[i].bytes.size());
    EXPECT_LE(difference(pictures[i], expected[i]).greatest, levels) << "frame " << i;
  }
}

class CudaDecoder : public testing::Test {
 protected:
  void SetUp() override {
    const auto gpu = first_gpu();
    if (!gpu) GTEST_SKIP() << "no GPU";
    gpu_ = *gpu;
    const char* folder = std::getenv("CAMPIPE_CLIPS");
    if (folder == nullptr) GTEST_SKIP() << "CAMPIPE_CLIPS names no folder of clips (tests/gpu/make_clips.sh)";
    clips_ = folder;
  }
  // Why the GPU refuses the clip, at whatever moment.
  std::string refusal(const std::string& clip) {
    try {
      Bench(clips_ / clip, gpu_).run();
      return "";
    } catch (const HardwareRefused& refused) {
      return refused.what();
    }
  }
  Device gpu_;
  fs::path clips_;
};

TEST_F(CudaDecoder, DecodesBitForBitLikeTheCpu) {
  for (const std::string clip : {"h264.mp4", "h264_bframes.mp4", "hevc.mp4", "vp9.webm"}) {
    SCOPED_TRACE(clip);
    const auto expected = decode_on_cpu(clips_ / clip);
    EXPECT_EQ(expected.size(), 60U);
    for (const MemoryKind memory : {MemoryKind::cuda_vmm, MemoryKind::host}) {
      Bench bench(clips_ / clip, gpu_, memory);
      expect_close(bench.run(), expected, 0);
      EXPECT_EQ(bench.lost(), 0);
    }
  }
}

// GPUs before Ampere and those for computing (A100, H200) have no decoder for it.
TEST_F(CudaDecoder, DecodesAv1BitForBit) {
  if (const std::string reason = refusal("av1.mkv"); !reason.empty()) {
    EXPECT_THAT(reason, HasSubstr("av1"));
    GTEST_SKIP() << reason;
  }
  const auto expected = read_checksums(clips_ / "av1.mkv.crc");
  ASSERT_EQ(expected.size(), 60U);
  const auto pictures = Bench(clips_ / "av1.mkv", gpu_).run();
  ASSERT_EQ(pictures.size(), expected.size());
  for (std::size_t i = 0; i < pictures.size(); ++i) EXPECT_EQ(checksum(pictures[i]), expected[i]) << "frame " << i;
}

TEST_F(CudaDecoder, RoundsTenBitsToEight) {
  for (const MemoryKind memory : {MemoryKind::cuda_vmm, MemoryKind::host}) {
    expect_close(Bench(clips_ / "hevc10.mp4", gpu_, memory).run(), decode_on_cpu(clips_ / "hevc10.mp4"), 1);
  }
}

// The inverse transform of JPEG is not defined bit for bit.
TEST_F(CudaDecoder, DecodesMjpeg) {
  const auto pictures = Bench(clips_ / "mjpeg.avi", gpu_).run();
  expect_close(pictures, decode_on_cpu(clips_ / "mjpeg.avi"), 3);
  for (const Picture& picture : pictures) EXPECT_EQ(picture.format.color_range, AVCOL_RANGE_JPEG);
}

// Some GPUs do; what they decode drifts from the CPU's by roundings, until the next key frame.
TEST_F(CudaDecoder, RefusesMpeg4OrDecodesIt) {
  if (const std::string reason = refusal("mpeg4.avi"); !reason.empty()) {
    EXPECT_THAT(reason, HasSubstr("mpeg4"));
    return;
  }
  const auto pictures = Bench(clips_ / "mpeg4.avi", gpu_).run();
  const auto expected = decode_on_cpu(clips_ / "mpeg4.avi");
  expect_same_times(pictures, expected);
  for (std::size_t i = 0; i < std::min(pictures.size(), expected.size()); ++i) {
    EXPECT_LE(difference(pictures[i], expected[i]).mean, 2.0) << "frame " << i;
  }
}

TEST_F(CudaDecoder, SaysWhyItRefuses) {
  EXPECT_THAT(refusal("h264_422.mp4"), HasSubstr("does not decode yuv422p frames"));
  EXPECT_THAT(refusal("h264_422.mp4"), HasSubstr("High 4:2:2"));
  EXPECT_THAT(refusal("odd.mp4"), HasSubstr("odd size (321x241)"));
  EXPECT_THAT(refusal("tiny.mp4"), HasSubstr("not within range"));
}

TEST_F(CudaDecoder, RefusesAGpuThatIsNotThere) {
  const auto source = open_source({.url = (clips_ / "h264.mp4").string()}, [] { return false; });
  EXPECT_THROW(open_decoder(source->stream(), {.gpu = Device{{1, 2, 3}}}), HardwareRefused);
}

// A slot whose fill runs still is waited for.
TEST_F(CudaDecoder, LosesNothingWithTheFewestSlots) {
  Bench bench(clips_ / "h264.mp4", gpu_, MemoryKind::cuda_vmm, 2);
  EXPECT_EQ(bench.run().size(), 60U);
  EXPECT_EQ(bench.lost(), 0);
}

TEST_F(CudaDecoder, BeginsAgainAfterAFlush) {
  Bench bench(clips_ / "h264_bframes.mp4", gpu_);
  const auto first = bench.run();
  bench.begin_again();
  expect_close(bench.run(), first, 0);
}

TEST_F(CudaDecoder, DecodesManyCamerasAtOnce) {
  const auto expected = decode_on_cpu(clips_ / "h264_bframes.mp4");
  std::vector<std::vector<Picture>> pictures(8);
  {
    std::vector<std::jthread> cameras;
    for (auto& own : pictures) {
      cameras.emplace_back([&] { own = Bench(clips_ / "h264_bframes.mp4", gpu_).run(); });
    }
  }
  for (const auto& own : pictures) expect_close(own, expected, 0);
}

// Whatever comes out, or a refusal: never a crash, and the GPU is as good as before.
TEST_F(CudaDecoder, SurvivesDamage) {
  for (const std::string clip : {"h264_bframes.mp4", "hevc.mp4", "vp9.webm", "av1.mkv", "mjpeg.avi"}) {
    SCOPED_TRACE(clip);
    int packets = 0;
    const auto damage = [&](AVPacket& packet) {
      av_check(av_packet_make_writable(&packet), "a packet");
      if (++packets % 3 != 0) return;
      for (int at = packets % 97; at < packet.size; at += 211) packet.data[at] ^= 0x5a;
    };
    try {
      Bench(clips_ / clip, gpu_).run(damage);
    } catch (const HardwareRefused& refused) {
      RecordProperty(clip, refused.what());
    }
    EXPECT_EQ(Bench(clips_ / "h264.mp4", gpu_).run().size(), 60U);
  }
}

}  // namespace
}  // namespace campipe
