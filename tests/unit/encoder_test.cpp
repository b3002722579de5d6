#include "stages/encoders/encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include "core/ffmpeg.h"
#include "core/log.h"
#include "stages/encoders/encoder_config.h"
#include "tests/unit/moving_picture.h"
#include "tests/unit/temporary_folder.h"

// A configuration here names only what it is about.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace campipe {
namespace CAMPIPE_FILE {

using test::moving_picture;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1'000'000'000;

struct Packet {
  std::vector<std::uint8_t> data;
  std::int64_t dts;
  bool key;
  FrameTimes times;
};

Encoder::PacketHandler append_to(std::vector<Packet>& packets) {
  return [&packets](const PacketView& p) {
    packets.push_back({{p.data.begin(), p.data.end()}, p.dts, p.key, p.times});
  };
}

FrameFormat small() { return {.width = 160, .height = 128}; }

std::vector<std::int64_t> steady(int count, double rate) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < count; ++i) times.push_back(std::llround(i * 1e9 / rate));
  return times;
}

std::vector<Packet> encode(Encoder& encoder, const FrameFormat& format, const std::vector<std::int64_t>& times) {
  std::vector<Packet> packets;
  for (std::size_t i = 0; i < times.size(); ++i) {
    encoder.encode(moving_picture(format, static_cast<int>(i)), {.pts = times[i]}, append_to(packets));
  }
  encoder.flush(append_to(packets));
  return packets;
}

std::vector<Packet> encode(const EncoderConfig& config, const std::vector<std::int64_t>& times, double rate = 25) {
  return encode(*open_encoder(config, small(), rate), small(), times);
}

void expect_sound_decode_times(const std::vector<Packet>& packets) {
  for (const Packet& p : packets) EXPECT_LE(p.dts, p.times.pts);
  for (std::size_t i = 1; i < packets.size(); ++i) EXPECT_GT(packets[i].dts, packets[i - 1].dts) << i;
}

std::vector<std::int64_t> key_times(const std::vector<Packet>& packets) {
  std::vector<std::int64_t> times;
  for (const Packet& p : packets) {
    if (p.key) times.push_back(p.times.pts);
  }
  return times;
}

bool has_idr_slice(const std::vector<std::uint8_t>& data) {
  for (std::size_t i = 0; i + 3 < data.size(); ++i) {
    if (data[i] == 0 && data[i + 1] == 0 && data[i + 2] == 1 && (data[i + 3] & 0x1f) == 5) return true;
  }
  return false;
}

// x264 writes start codes of three or four bytes.
int count_slices(const std::vector<std::uint8_t>& data) {
  int slices = 0;
  for (std::size_t i = 0; i + 3 < data.size(); ++i) {
    const int type = data[i + 3] & 0x1f;
    if (data[i] == 0 && data[i + 1] == 0 && data[i + 2] == 1 && (type == 1 || type == 5)) ++slices;
  }
  return slices;
}

// Decodes what the encoder made; times of the frames in ticks of 1 ns.
std::vector<AvFrame> decode(const StreamParameters& parameters, const std::vector<Packet>& packets) {
  AvCodecContext decoder(avcodec_alloc_context3(avcodec_find_decoder(AV_CODEC_ID_H264)));
  decoder->extradata =
      static_cast<std::uint8_t*>(av_mallocz(parameters.extradata.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  std::ranges::copy(parameters.extradata, decoder->extradata);
  decoder->extradata_size = static_cast<int>(parameters.extradata.size());
  decoder->thread_count = 1;
  av_check(avcodec_open2(decoder.get(), nullptr, nullptr), "decoder");
  std::vector<AvFrame> frames;
  const auto drain = [&] {
    for (AvFrame frame = make_av_frame(); avcodec_receive_frame(decoder.get(), frame.get()) == 0;
         frame = make_av_frame()) {
      frames.push_back(std::move(frame));
    }
  };
  for (const Packet& p : packets) {
    AvPacket packet = make_av_packet();
    av_check(av_new_packet(packet.get(), static_cast<int>(p.data.size())), "packet");
    std::ranges::copy(p.data, packet->data);
    packet->pts = p.times.pts;
    packet->dts = p.dts;
    av_check(avcodec_send_packet(decoder.get(), packet.get()), "decode");
    drain();
  }
  av_check(avcodec_send_packet(decoder.get(), nullptr), "decode");
  drain();
  return frames;
}

TEST(Encoder, LowLatencyHoldsNoPictureBack) {
  const auto encoder = open_encoder({.gop = 50}, small(), 25);
  for (int i = 0; i < 60; ++i) {
    std::vector<Packet> packets;
    encoder->encode(moving_picture(small(), i), {.pts = i * 40 * ms + 17}, append_to(packets));
    ASSERT_EQ(packets.size(), 1u) << i;
    EXPECT_EQ(packets[0].times.pts, i * 40 * ms + 17);
    EXPECT_EQ(packets[0].dts, packets[0].times.pts);
    EXPECT_EQ(packets[0].key, i == 0 || i == 50);
  }
}

TEST(Encoder, NormalLatencyReordersAndLosesNothing) {
  const EncoderConfig config{.preset = "medium", .latency = Latency::normal};
  const auto encoder = open_encoder(config, small(), 25);
  const std::vector<std::int64_t> times = steady(100, 25);
  const std::vector<Packet> packets = encode(*encoder, small(), times);
  ASSERT_EQ(packets.size(), times.size());
  EXPECT_TRUE(packets.front().key);
  expect_sound_decode_times(packets);
  std::vector<std::int64_t> pts;
  for (const Packet& p : packets) pts.push_back(p.times.pts);
  EXPECT_FALSE(std::ranges::is_sorted(pts)) << "no B-frames: the test tests nothing";
  const std::vector<AvFrame> frames = decode(encoder->parameters(), packets);
  ASSERT_EQ(frames.size(), times.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i]->pts, times[i]);
    EXPECT_LT(test::difference(frames[i]->data[0], frames[i]->linesize[0], 160, 128, static_cast<int>(i)), 4) << i;
  }
}

TEST(Encoder, EveryTimeOfAPictureComesBackWithItsPacket) {
  for (const Latency latency : {Latency::low, Latency::normal}) {
    const auto encoder = open_encoder({.preset = "veryfast", .latency = latency}, small(), 30);
    std::vector<Packet> packets;
    for (std::int64_t i = 0; i < 40; ++i) {
      const FrameTimes times{
          .pts = i * 33'333'333 + 1, .duration = i + 7, .capture_utc = i + 1000, .arrival = i + 2000};
      encoder->encode(moving_picture(small(), static_cast<int>(i)), times, append_to(packets));
    }
    encoder->flush(append_to(packets));
    std::set<std::int64_t> seen;
    for (const Packet& p : packets) {
      const std::int64_t i = p.times.pts / 33'333'333;
      EXPECT_EQ(p.times.pts, i * 33'333'333 + 1);
      EXPECT_EQ(p.times.duration, i + 7);
      EXPECT_EQ(p.times.capture_utc, i + 1000);
      EXPECT_EQ(p.times.arrival, i + 2000);
      seen.insert(i);
    }
    EXPECT_EQ(seen.size(), 40u);
  }
}

TEST(Encoder, PicturesCloserThanATickKeepTheirTimes) {
  for (const Latency latency : {Latency::low, Latency::normal}) {
    std::vector<std::int64_t> times;
    for (std::int64_t i = 0; i < 30; ++i) times.push_back(second + i * 5);
    std::vector<Packet> packets = encode({.preset = "veryfast", .latency = latency}, times);
    for (const Packet& p : packets) EXPECT_LE(p.dts, p.times.pts);
    std::ranges::sort(packets, {}, [](const Packet& p) { return p.times.pts; });
    ASSERT_EQ(packets.size(), times.size());
    for (std::size_t i = 0; i < times.size(); ++i) EXPECT_EQ(packets[i].times.pts, times[i]);
  }
}

TEST(Encoder, AKeyFrameThatIsAskedForComesAtOnce) {
  using Gop = decltype(EncoderConfig::gop);
  for (const char* codec : {"h264", "hevc"}) {
    for (const Gop& gop : {Gop(250), Gop(std::chrono::seconds(10))}) {
      const EncoderConfig config{.codec = codec, .gop = gop};
      const auto encoder = open_encoder(config, small(), 25);
      std::vector<Packet> packets;
      for (int i = 0; i < 30; ++i) {
        if (i == 13) encoder->want_key_frame();
        encoder->encode(moving_picture(small(), i), {.pts = i * 40 * ms}, append_to(packets));
      }
      encoder->flush(append_to(packets));
      EXPECT_EQ(key_times(packets), (std::vector<std::int64_t>{0, 13 * 40 * ms})) << codec << gop.index();
    }
  }
}

// Where the gop is a time, key frames are where they are asked for, however fast the frames come.
TEST(Encoder, GopInTimeHasTheKeyFramesThatAreAskedFor) {
  EncoderConfig config{.gop = std::chrono::milliseconds(500), .options = {{"sc_threshold", "0"}}};
  for (const Latency latency : {Latency::low, Latency::normal}) {
    config.latency = latency;
    const auto encoder = open_encoder(config, small(), 20);
    std::vector<Packet> packets;
    for (int i = 0; i < 600; ++i) {
      if (i == 7 || i == 8 || i == 590) encoder->want_key_frame();
      encoder->encode(moving_picture(small(), i), {.pts = i * 2 * ms}, append_to(packets));
    }
    encoder->flush(append_to(packets));
    EXPECT_EQ(key_times(packets), (std::vector<std::int64_t>{0, 14 * ms, 16 * ms, 1180 * ms}));
    for (const Packet& p : packets) EXPECT_EQ(has_idr_slice(p.data), p.key);
  }
}

TEST(Encoder, GopInFrames) {
  const std::vector<Packet> packets = encode({.gop = 12, .options = {{"sc_threshold", "0"}}}, steady(40, 25));
  for (std::size_t i = 0; i < packets.size(); ++i) EXPECT_EQ(packets[i].key, i % 12 == 0) << i;
}

TEST(Encoder, OptionsComeLastAndWin) {
  const std::vector<Packet> packets =
      encode({.gop = 12, .options = {{"g", "5"}, {"sc_threshold", "0"}}}, steady(20, 25));
  for (std::size_t i = 0; i < packets.size(); ++i) EXPECT_EQ(packets[i].key, i % 5 == 0) << i;
  const auto encoder = open_encoder({.options = {{"flags", "0"}}}, small(), 25);
  EXPECT_FALSE(encoder->parameters().extradata.empty()) << "but not over what the contract needs";
}

TEST(Encoder, OwnsThePictureDuringTheCallOnly) {
  for (const Latency latency : {Latency::low, Latency::normal}) {
    const auto encoder = open_encoder({.latency = latency}, small(), 25);
    for (int i = 0; i < 60; ++i) {
      const FrameRef picture = moving_picture(small(), i);
      encoder->encode(picture, {.pts = i * 40 * ms},
                      [&](const PacketView&) { EXPECT_EQ(picture.owner.use_count(), 2); });
      EXPECT_EQ(picture.owner.use_count(), 1) << "x264 has copied the frame by now";
    }
  }
}

// No copy in between: rows far apart are read where they lie, and a frame without an owner will do.
TEST(Encoder, ReadsPlanesWhereTheyLie) {
  const FrameRef dense = moving_picture(small(), 3);
  std::vector<std::uint8_t> wide(3 * 1000 * 128, 7);
  FrameRef sparse{dense.view, nullptr};
  for (std::size_t plane = 0; plane < 3; ++plane) {
    const PlaneSize size = plane_size(small(), static_cast<int>(plane));
    std::uint8_t* start = wide.data() + (2 - plane) * 1000 * 128;  // and in another order
    for (int y = 0; y < size.height; ++y) {
      std::copy_n(dense.view.data[plane] + y * dense.view.stride[plane], size.width, start + y * 1000);
    }
    sparse.view.data[plane] = start;
    sparse.view.stride[plane] = 1000;
  }
  std::vector<Packet> packets;
  open_encoder({}, small(), 25)->encode(dense, {}, append_to(packets));
  open_encoder({}, small(), 25)->encode(sparse, {}, append_to(packets));
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0].data, packets[1].data);
}

TEST(Encoder, Nv12AndI420GiveTheSameStream) {
  FrameFormat nv12 = small();
  nv12.pixels = PixelFormat::nv12;
  const auto first = open_encoder({}, small(), 25);
  const auto second_encoder = open_encoder({}, nv12, 25);
  const std::vector<Packet> a = encode(*first, small(), steady(10, 25));
  const std::vector<Packet> b = encode(*second_encoder, nv12, steady(10, 25));
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].data, b[i].data) << i;
}

TEST(Encoder, OddSizesLoseTheLastRowAndColumn) {
  for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12}) {
    const FrameFormat odd{.pixels = pixels, .width = 161, .height = 127};
    const auto encoder = open_encoder({}, odd, 25);
    EXPECT_EQ(encoder->parameters().format.width, 160);
    EXPECT_EQ(encoder->parameters().format.height, 126);
    const std::vector<AvFrame> frames = decode(encoder->parameters(), encode(*encoder, odd, steady(5, 25)));
    ASSERT_EQ(frames.size(), 5u);
    EXPECT_EQ(frames[0]->width, 160);
    EXPECT_EQ(frames[0]->height, 126);
    EXPECT_LT(test::difference(frames[4]->data[0], frames[4]->linesize[0], 160, 126, 4), 4);
    EXPECT_NEAR(frames[4]->data[1][0], 128, 2);
  }
}

TEST(Encoder, RefusesWhatIsNoPicture) {
  EXPECT_THROW(open_encoder({}, {.width = 1, .height = 100}, 25), Error);
  EXPECT_THROW(open_encoder({}, {.width = 100000, .height = 100000}, 25), Error);
  const auto encoder = open_encoder({}, small(), 25);
  const auto ignore = [](const PacketView&) {};
  EXPECT_THROW(encoder->encode(moving_picture({.width = 162, .height = 128}, 0), {}, ignore), Error);
}

TEST(Encoder, HandsColourAndShapeOn) {
  FrameFormat format = small();
  format.color_range = AVCOL_RANGE_JPEG;
  format.color_space = AVCOL_SPC_SMPTE170M;
  format.color_primaries = AVCOL_PRI_BT470BG;
  format.color_transfer = AVCOL_TRC_GAMMA28;
  format.chroma_location = AVCHROMA_LOC_TOPLEFT;
  format.sample_aspect_num = 4;
  format.sample_aspect_den = 3;
  const auto encoder = open_encoder({}, format, 25);
  EXPECT_EQ(encoder->parameters().format, format);
  const std::vector<AvFrame> frames = decode(encoder->parameters(), encode(*encoder, format, {0}));
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0]->color_range, AVCOL_RANGE_JPEG);
  EXPECT_EQ(frames[0]->colorspace, AVCOL_SPC_SMPTE170M);
  EXPECT_EQ(frames[0]->color_primaries, AVCOL_PRI_BT470BG);
  EXPECT_EQ(frames[0]->color_trc, AVCOL_TRC_GAMMA28);
  EXPECT_EQ(frames[0]->chroma_location, AVCHROMA_LOC_TOPLEFT);
  EXPECT_EQ(av_cmp_q(frames[0]->sample_aspect_ratio, {4, 3}), 0);
}

TEST(Encoder, ParametersOfEqualEncodersAreEqual) {
  const auto a = open_encoder({}, small(), 25);
  const auto b = open_encoder({}, small(), 25);
  EXPECT_EQ(a->parameters(), b->parameters());
  EXPECT_EQ(a->parameters().codec, "h264");
  EXPECT_EQ(a->parameters().encoder, "libx264");
  EXPECT_FALSE(a->parameters().extradata.empty());
}

// Texture that moves and flickers, so that there is something to spend bits on.
double bits_a_second(const EncoderConfig& config, const std::vector<std::int64_t>& times, double rate) {
  const auto encoder = open_encoder(config, small(), rate);
  std::mt19937 random(1);
  std::size_t bytes = 0;
  const auto count = [&](const PacketView& p) { bytes += p.data.size(); };
  for (std::size_t i = 0; i < times.size(); ++i) {
    const FrameRef picture = moving_picture(small(), static_cast<int>(times[i] / (40 * ms)));
    auto* luma = const_cast<std::uint8_t*>(picture.view.data[0]);
    for (int n = 0; n < 160 * 128; ++n) luma[n] = static_cast<std::uint8_t>(luma[n] + random() % 16);
    encoder->encode(picture, {.pts = times[i]}, count);
  }
  encoder->flush(count);
  const double length = static_cast<double>(times.back() + times[1] - times[0]) / second;
  return static_cast<double>(bytes) * 8 / length;
}

TEST(Encoder, BitrateComesOutAsAsked) {
  EXPECT_NEAR(bits_a_second({.bitrate = 300'000}, steady(500, 25), 25), 300e3, 30e3);
  EXPECT_NEAR(bits_a_second({.bitrate = 300'000}, steady(500, 25), 0), 300e3, 30e3) << "unknown: 25 is assumed";
  EXPECT_NEAR(bits_a_second({.bitrate = 300'000}, steady(200, 10), 10), 300e3, 30e3);
}

TEST(Encoder, BitrateOfAVariableRateComesOutAsAsked) {
  std::vector<std::int64_t> times;
  std::mt19937 random(2);
  for (std::int64_t t = 0; t < 20 * second; t += static_cast<std::int64_t>(10 + random() % 120) * ms)
    times.push_back(t);
  const EncoderConfig config{.bitrate = 300'000, .latency = Latency::normal};
  EXPECT_NEAR(bits_a_second(config, times, 25), 300e3, 45e3);
  EXPECT_NEAR(bits_a_second(config, times, 60), 300e3, 45e3) << "whatever the source announces";
}

TEST(CheckEncoder, AcceptsWhatWorks) {
  EXPECT_EQ(check_encoder({}), std::nullopt);
  EXPECT_EQ(check_encoder({.encoder = "libx264", .preset = "medium", .crf = 28.5, .gop = 50, .threads = 2}),
            std::nullopt);
  EXPECT_EQ(check_encoder({.options = {{"x264-params", "ref=2:me=hex"}, {"profile", "baseline"}}}), std::nullopt);
}

std::string refusal(const EncoderConfig& config) { return check_encoder(config).value_or("accepted"); }

// A worker's cores are shared by all its cameras, and most frames need less than one.
TEST(EncodeThreads, AreWhatThePicturesNeedWithinTheCamerasShare) {
  const FrameFormat hd{.width = 1280, .height = 720};
  const FrameFormat full_hd{.width = 1920, .height = 1080};
  const FrameFormat uhd{.width = 3840, .height = 2160};
  EXPECT_EQ(encode_threads(16.0 / 50, hd, 30), 1) << "one of 50 cameras on 16 cores";
  EXPECT_EQ(encode_threads(16, hd, 30), 1);
  EXPECT_EQ(encode_threads(16, full_hd, 30), 1);
  EXPECT_EQ(encode_threads(16, full_hd, 60), 2);
  EXPECT_EQ(encode_threads(16, uhd, 60), 8);
  EXPECT_EQ(encode_threads(2.9, uhd, 60), 2) << "a share of nearly three cores";
  EXPECT_EQ(encode_threads(0, uhd, 60), 1);
  EXPECT_EQ(encode_threads(16, uhd, 0), 3) << "a stream that does not say its rate";
  EXPECT_EQ(encode_threads(16, {.width = 16384, .height = 16384}, 240), 16);
}

// The stream is the same for every number of threads, but for what the threads' slices are.
TEST(EncodeThreads, AreTheEncodersUnlessTheUserSaysHowMany) {
  const auto slices = [](int threads, double cores) {
    const FrameFormat large{.width = 3840, .height = 2160};
    const auto encoder = open_encoder({.threads = threads}, large, 60, {.cores = cores});
    std::vector<Packet> packets;
    encoder->encode(moving_picture(large, 0), {.pts = 0}, append_to(packets));
    return count_slices(packets.at(0).data);
  };
  EXPECT_EQ(slices(0, 1), 1);
  EXPECT_EQ(slices(0, 3), 3);
  EXPECT_EQ(slices(2, 1), 2);
}

TEST(Encoder, WithoutWorkingHardwareIsLibx264AndSaysWhy) {
  if constexpr (!with_cuda) GTEST_SKIP() << "built without CUDA";
  const auto encoder = open_encoder({}, small(), 25, {.hardware = true});  // but there is no GPU behind it
  EXPECT_EQ(encoder->parameters().encoder, "libx264");
  EXPECT_FALSE(encoder->wants_gpu_frames());
  EXPECT_THAT(encoder->remark(), AllOf(StartsWith("h264_nvenc: "), HasSubstr("go to libx264")));
  EXPECT_EQ(encode(*encoder, small(), steady(3, 25)).size(), 3u);
  EXPECT_EQ(open_encoder({}, small(), 25)->remark(), "");
}

TEST(Encoder, TakesPicturesOfOneKindOfMemoryOnly) {
  FrameRef on_gpu = moving_picture(small(), 0);
  on_gpu.view.memory = MemoryKind::cuda;
  std::vector<Packet> packets;
  EXPECT_THROW(open_encoder({}, small(), 25)->encode(on_gpu, {}, append_to(packets)), Error);
}

TEST(CheckEncoder, SaysWhatIsWrong) {
  EXPECT_THAT(refusal({.codec = "vp9"}), AllOf(StartsWith("encode.codec: "), HasSubstr("vp9"), HasSubstr("mjpeg")));
  EXPECT_THAT(refusal({.encoder = "libx265x"}),
              AllOf(StartsWith("encode.encoder: "), HasSubstr("libx265x"), HasSubstr("libx264")));
  EXPECT_THAT(refusal({.encoder = "aac"}), StartsWith("encode.encoder: 'aac' is not an encoder of h264"));
  EXPECT_THAT(refusal({.encoder = "libx264rgb"}), AllOf(StartsWith("encode.encoder: "), HasSubstr("yuv420p")));
  EXPECT_THAT(refusal({.preset = "superfats"}), AllOf(StartsWith("encode.preset: "), HasSubstr("superfats")));
  EXPECT_THAT(refusal({.bitrate = 10}), StartsWith("encode.bitrate: "));
  EXPECT_THAT(refusal({.gop = 0}), StartsWith("encode.gop: "));
  EXPECT_THAT(refusal({.gop = std::chrono::seconds(0)}), StartsWith("encode.gop: "));
  EXPECT_THAT(refusal({.threads = -1}), StartsWith("encode.threads: "));
}

TEST(CheckEncoder, NamesTheOptionAndTheReason) {
  const auto option = [](const char* name, const char* value) { return refusal({.options = {{name, value}}}); };
  EXPECT_EQ(option("prset", "fast"),
            "encode.options.prset: the encoder libx264 does not know it, did you mean 'preset'?");
  EXPECT_EQ(option("qqqqqqqqqqqqqqqq", "1"), "encode.options.qqqqqqqqqqqqqqqq: the encoder libx264 does not know it");
  EXPECT_THAT(option("crf", "abc"), AllOf(StartsWith("encode.options.crf: "), HasSubstr("abc")));
  EXPECT_THAT(option("rc-lookahead", "-5"),
              AllOf(StartsWith("encode.options.rc-lookahead: "), HasSubstr("out of range")));
  EXPECT_THAT(option("profile", "low"), AllOf(StartsWith("encode: "), HasSubstr("Error setting profile low")));
  EXPECT_THAT(option("x264-params", "ref=2:refss=3"),
              AllOf(StartsWith("encode.options.x264-params: "), HasSubstr("refss")));
  EXPECT_THAT(option("x264opts", "me=nonsense"), AllOf(StartsWith("encode: "), HasSubstr("me")));
}

// Of two passes the first one writes into the current folder, as long as it goes on.
TEST(CheckEncoder, LetsNoEncoderWriteFiles) {
  const test::TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto check = [](const char* name, const char* value, const char* codec) {
    EXPECT_THAT(refusal({.codec = codec, .options = {{name, value}}}),
                AllOf(StartsWith("encode.options." + std::string(name) + ": "), HasSubstr("may name a file")))
        << value;
  };
  for (const char* value : {"pass=1", "pass=3", "ref=2:pass=1", "no-stats=0", "nostats=1", "no_stats=0"}) {
    check("x264-params", value, "h264");
    check("x264opts", value, "h264");
  }
  for (const char* value : {"pass=1", "pass=1:no-stats=0", "nopass=0"}) check("x265-params", value, "hevc");
  for (const char* value : {"+pass1", "pass2", "low_delay+pass1", "512", "+1024"}) check("flags", value, "h264");
  EXPECT_EQ(refusal({.options = {{"flags", "+low_delay"}, {"x264-params", "no-psy=1:nr=100"}}}), "accepted");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  std::filesystem::current_path(before);
}

TEST(CheckEncoder, WorksOnSeveralThreadsAndAfterLoggingWasSetUp) {
  init_logging("test", "warning");
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      const std::string preset = "nonsense" + std::to_string(i);
      for (int n = 0; n < 10; ++n) EXPECT_THAT(refusal({.preset = preset}), HasSubstr(preset));
    });
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
