// What the encoders of all codecs have in common, and what is each one's own: frames are encoded, decoded by
// FFmpeg's decoders, and compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "core/ffmpeg.h"
#include "stages/encoders/encoder.h"
#include "stages/encoders/encoder_config.h"
#include "tests/unit/moving_picture.h"

// A configuration here names only what it is about.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace campipe {
namespace CAMPIPE_FILE {

using test::moving_picture;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t ms = 1'000'000;
constexpr FrameFormat small{.width = 160, .height = 128};

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

// The moving frame, with chroma that is not all the same.
FrameRef picture(const FrameFormat& format, int number) {
  FrameRef ref = moving_picture(format, number);
  for (int plane = 1; plane < plane_count(format.pixels); ++plane) {
    const PlaneSize size = plane_size(format, plane);
    auto* bytes = const_cast<std::uint8_t*>(ref.view.data[static_cast<std::size_t>(plane)]);
    for (int i = 0; i < size.width * size.height; ++i) {
      const int v = format.pixels == PixelFormat::nv12 ? i % 2 : plane - 1;
      bytes[i] = v == 0 ? 90 : 150;
    }
  }
  return ref;
}

std::vector<Packet> encode(Encoder& encoder, const FrameFormat& format, int count) {
  std::vector<Packet> packets;
  for (int i = 0; i < count; ++i) encoder.encode(picture(format, i), {.pts = i * 40 * ms}, append_to(packets));
  encoder.flush(append_to(packets));
  return packets;
}

std::vector<AvFrame> decode(const StreamParameters& parameters, const std::vector<Packet>& packets) {
  const AVCodecDescriptor* codec = avcodec_descriptor_get_by_name(parameters.codec.c_str());
  AvCodecContext decoder(avcodec_alloc_context3(avcodec_find_decoder(codec->id)));
  decoder->extradata =
      static_cast<std::uint8_t*>(av_mallocz(parameters.extradata.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  std::ranges::copy(parameters.extradata, decoder->extradata);
  decoder->extradata_size = static_cast<int>(parameters.extradata.size());
  decoder->thread_count = 1;
  av_check(avcodec_open2(decoder.get(), nullptr, nullptr), "decoder");
  std::vector<AvFrame> frames;
  const auto send = [&](const AVPacket* packet) {
    av_check(avcodec_send_packet(decoder.get(), packet), "decode");
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
    send(packet.get());
  }
  send(nullptr);
  return frames;
}

double as_full_range(int value, bool chroma) {
  return chroma ? (value - 128) * 255.0 / 224 + 128 : std::clamp((value - 16) * 255.0 / 219, 0.0, 255.0);
}

// Of a decoded picture, of all its planes, against what went in. `widened`: the encoder made it full range.
double psnr(const AVFrame& frame, int number, bool widened) {
  const FrameRef wanted = picture({.width = frame.width, .height = frame.height}, number);
  double sum = 0;
  int samples = 0;
  for (std::size_t plane = 0; plane < 3; ++plane) {
    const PlaneSize size = plane_size(wanted.view.format, static_cast<int>(plane));
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const int in = wanted.view.data[plane][y * wanted.view.stride[plane] + x];
        const double difference =
            (widened ? as_full_range(in, plane > 0) : in) - frame.data[plane][y * frame.linesize[plane] + x];
        sum += difference * difference;
        ++samples;
      }
    }
  }
  return sum == 0 ? 99 : 10 * std::log10(255.0 * 255.0 * samples / sum);
}

struct CodecCase {
  std::string codec;
  std::string encoder;
};
void PrintTo(const CodecCase& one, std::ostream* out) { *out << one.codec; }

class EveryCodec : public testing::TestWithParam<CodecCase> {};

TEST_P(EveryCodec, GivesBackWhatWentIn) {
  for (const Latency latency : {Latency::low, Latency::normal}) {
    for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12}) {
      FrameFormat format = small;
      format.pixels = pixels;
      const auto encoder = open_encoder({.codec = GetParam().codec, .crf = 15, .latency = latency}, format, 25);
      EXPECT_EQ(encoder->parameters().codec, GetParam().codec);
      EXPECT_EQ(encoder->parameters().encoder, GetParam().encoder);
      EXPECT_EQ(encoder->remark(), "");
      std::vector<Packet> packets = encode(*encoder, format, 10);
      ASSERT_EQ(packets.size(), 10U);
      for (std::size_t i = 1; i < packets.size(); ++i) EXPECT_GT(packets[i].dts, packets[i - 1].dts);
      for (const Packet& p : packets) EXPECT_LE(p.dts, p.times.pts);
      EXPECT_TRUE(packets.front().key);
      const auto frames = decode(encoder->parameters(), packets);
      ASSERT_EQ(frames.size(), 10U);
      for (int i = 0; i < 10; ++i) {
        const AVFrame& frame = *frames[static_cast<std::size_t>(i)];
        EXPECT_EQ(frame.pts, i * 40 * ms);
        EXPECT_GT(psnr(frame, i, GetParam().codec == "mjpeg"), 34) << i;
      }
    }
  }
}

TEST_P(EveryCodec, HoldsNoPictureBackWithLowLatency) {
  for (const int threads : {1, 2}) {
    const auto encoder = open_encoder({.codec = GetParam().codec, .gop = 8, .threads = threads}, small, 25);
    for (int i = 0; i < 30; ++i) {
      const FrameRef in = picture(small, i);
      std::vector<Packet> packets;
      encoder->encode(in, {.pts = i * 40 * ms + 17}, append_to(packets));
      ASSERT_EQ(packets.size(), 1U) << i;
      EXPECT_EQ(packets[0].times.pts, i * 40 * ms + 17);
      EXPECT_EQ(packets[0].dts, packets[0].times.pts);
      EXPECT_EQ(packets[0].key, i % 8 == 0 || GetParam().codec == "mjpeg") << i;
      EXPECT_EQ(in.owner.use_count(), 1);
    }
  }
}

TEST_P(EveryCodec, PutsKeyFramesWhereTheyAreAskedFor) {
  const auto encoder = open_encoder({.codec = GetParam().codec, .gop = std::chrono::milliseconds(500)}, small, 25);
  std::vector<Packet> packets;
  std::vector<std::int64_t> times{0, 200, 400, 520, 600, 1200, 1300, 1650, 1690, 1700};
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] == 520 || times[i] == 1200 || times[i] == 1700) encoder->want_key_frame();
    encoder->encode(picture(small, static_cast<int>(i)), {.pts = times[i] * ms}, append_to(packets));
  }
  encoder->flush(append_to(packets));
  std::vector<std::int64_t> keys;
  for (const Packet& p : packets) {
    if (p.key) keys.push_back(p.times.pts / ms);
  }
  EXPECT_EQ(keys, GetParam().codec == "mjpeg" ? times : (std::vector<std::int64_t>{0, 520, 1200, 1700}));
}

TEST_P(EveryCodec, LosesTheLastRowAndColumnOfOddSizes) {
  const FrameFormat odd{.width = 161, .height = 127};
  const auto encoder = open_encoder({.codec = GetParam().codec, .crf = 15}, odd, 25);
  EXPECT_EQ(encoder->parameters().format.width, 160);
  EXPECT_EQ(encoder->parameters().format.height, 126);
  const auto frames = decode(encoder->parameters(), encode(*encoder, odd, 2));
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_GT(psnr(*frames[1], 1, GetParam().codec == "mjpeg"), 34);
}

TEST_P(EveryCodec, HasABitrate) {
  const auto encoder = open_encoder({.codec = GetParam().codec, .bitrate = 300'000}, small, 25);
  const std::vector<Packet> packets = encode(*encoder, small, 150);
  const auto bytes = std::accumulate(packets.begin(), packets.end(), std::size_t{0},
                                     [](std::size_t sum, const Packet& p) { return sum + p.data.size(); });
  const double rate = static_cast<double>(bytes) * 8 / 6;
  EXPECT_LT(rate, 360e3);
  if (GetParam().codec == "mjpeg") {
    EXPECT_GT(rate, 240e3) << "the others need not so many for this";
  }
}

TEST_P(EveryCodec, CanBeChecked) {
  const auto refusal = [&](EncoderConfig config) {
    config.codec = GetParam().codec;
    return check_encoder(config).value_or("accepted");
  };
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_EQ(refusal({.crf = 28, .threads = 2}), "accepted");
  EXPECT_THAT(refusal({.preset = "superfats"}), AllOf(StartsWith("encode.preset: "), HasSubstr(GetParam().encoder)));
  EXPECT_THAT(refusal({.encoder = "aac"}), StartsWith("encode.encoder: 'aac' is not an encoder of "));
  EXPECT_THAT(refusal({.bitrate = 10}), StartsWith("encode.bitrate: "));
  EXPECT_THAT(refusal({.options = {{"nonsense", "1"}}}), StartsWith("encode.options.nonsense: "));
}

INSTANTIATE_TEST_SUITE_P(Codecs, EveryCodec,
                         testing::Values(CodecCase{"h264", "libx264"}, CodecCase{"hevc", "libx265"},
                                         CodecCase{"mjpeg", "mjpeg"}),
                         [](const auto& one) { return one.param.codec; });

TEST(Hevc, TellsWhichOfX265sOwnParametersIsWrongAndTakesThoseThatAreRight) {
  const auto params = [](const std::string& text) {
    return check_encoder({.codec = "hevc", .options = {{"x265-params", text}}}).value_or("accepted");
  };
  EXPECT_EQ(params("ref=2:sao=0"), "accepted");
  EXPECT_THAT(params("ref=2:refss=3"), AllOf(StartsWith("encode.options.x265-params: "), HasSubstr("refss")));
}

// Whoever may change a camera could have the supervisor read one without end, or any file written.
TEST(EncoderOptions, NameNoFiles) {
  const auto refusal = [](const std::string& codec, const std::string& name, const std::string& value) {
    return check_encoder({.codec = codec, .options = {{name, value}}}).value_or("accepted");
  };
  const std::string file =
      (std::filesystem::temp_directory_path() / ("campipe-" + std::to_string(::getpid()))).string();
  const auto x264 = [&](const std::string& params) { return refusal("h264", "x264-params", params); };
  const auto x265 = [&](const std::string& params) { return refusal("hevc", "x265-params", params); };
  for (const std::string key : {"stats", "dump-yuv", "dump_yuv", "cqm", "cqmfile", "st\\ats", "ref=2:'stats'"})
    EXPECT_THAT(x264(key + "=" + file), StartsWith("encode.options.x264-params: ")) << key;
  for (const std::string key : {"csv", "stats", "analysis-save", "analysis_load", "lambda-file", "ref=2:csv"})
    EXPECT_THAT(x265(key + "=" + file), StartsWith("encode.options.x265-params: ")) << key;
  EXPECT_THAT(x265("scaling-list=/dev/zero"), HasSubstr("'scaling-list'")) << "it has no end";
  for (const std::string name : {"stats", "passlogfile"})
    EXPECT_THAT(refusal("h264", name, file), StartsWith("encode.options." + name + ": ")) << name;
  EXPECT_THAT(refusal("h264", "x264opts", "a='b:stats=" + file), StartsWith("encode.options.x264opts: "));
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(x264("cqm=jvt:ref=2"), "accepted");
  EXPECT_EQ(x265("scaling-list=default:ref=2"), "accepted");
}

// x265 writes to standard error itself.
TEST(Hevc, SaysNothing) {
  testing::internal::CaptureStderr();
  encode(*open_encoder({.codec = "hevc"}, small, 25), small, 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

int threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return 0;
}

TEST(Hevc, HasNoMoreThreadsThanItIsGiven) {
  std::jthread([] {}).join();  // with the first one sanitizers begin a thread of their own
  const int before = threads_of_this_process();
  const auto one = open_encoder({.codec = "hevc", .threads = 1}, small, 25);
  const int with_one = threads_of_this_process();
  const auto three = open_encoder({.codec = "hevc", .threads = 3}, small, 25);
  EXPECT_LE(with_one - before, 2) << "one that works, one that hands out";
  EXPECT_EQ(threads_of_this_process() - with_one, with_one - before + 2);
}

TEST(Mjpeg, IsOfFullRangeAndSaysSo) {
  const auto widened = open_encoder({.codec = "mjpeg"}, small, 25);
  EXPECT_EQ(widened->parameters().format.color_range, AVCOL_RANGE_JPEG);
  EXPECT_EQ(widened->parameters().format.pixels, PixelFormat::i420);
  FrameFormat full = small;
  full.color_range = AVCOL_RANGE_JPEG;
  const auto as_it_is = open_encoder({.codec = "mjpeg", .crf = 15}, full, 25);
  const auto frames = decode(as_it_is->parameters(), encode(*as_it_is, full, 1));
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0]->color_range, AVCOL_RANGE_JPEG);
  EXPECT_GT(psnr(*frames[0], 0, false), 34) << "nothing to widen";
}

// Pure red by BT.709 and by BT.601: different numbers, the same frame.
TEST(Mjpeg, KeepsColours) {
  const auto red = [](std::uint8_t color_space, std::uint8_t y, std::uint8_t u, std::uint8_t v) {
    FrameFormat format = small;
    format.color_space = color_space;
    const FrameRef in = moving_picture(format, 0);
    const std::array<std::uint8_t, 3> values{y, u, v};
    for (std::size_t plane = 0; plane < 3; ++plane) {
      const PlaneSize size = plane_size(format, static_cast<int>(plane));
      std::fill_n(const_cast<std::uint8_t*>(in.view.data[plane]), size.width * size.height, values[plane]);
    }
    const auto encoder = open_encoder({.codec = "mjpeg", .crf = 10}, format, 25);
    std::vector<Packet> packets;
    encoder->encode(in, {}, append_to(packets));
    return decode(encoder->parameters(), packets);
  };
  const auto by_709 = red(AVCOL_SPC_BT709, 63, 102, 240);
  const auto by_601 = red(AVCOL_SPC_SMPTE170M, 81, 90, 240);
  ASSERT_EQ(by_709.size() + by_601.size(), 2U);
  for (std::size_t plane = 0; plane < 3; ++plane) {
    EXPECT_NEAR(by_709[0]->data[plane][0], by_601[0]->data[plane][0], 3) << plane;
  }
  EXPECT_NEAR(by_601[0]->data[0][0], 76, 2);
  EXPECT_NEAR(by_601[0]->data[2][0], 255, 2);
}

TEST(Mjpeg, SpendsWhatItsQualityCosts) {
  const auto bytes = [](const EncoderConfig& config) {
    return encode(*open_encoder(config, small, 25), small, 1).at(0).data.size();
  };
  const std::size_t fine = bytes({.codec = "mjpeg", .crf = 10});
  const std::size_t usual = bytes({.codec = "mjpeg"});
  const std::size_t coarse = bytes({.codec = "mjpeg", .crf = 40});
  EXPECT_EQ(usual, bytes({.codec = "mjpeg", .crf = 23}));
  EXPECT_GT(fine, usual);
  EXPECT_GT(usual, coarse);
}

TEST(Copy, IsNoEncoder) {
  EXPECT_EQ(check_encoder({.codec = "copy"}), std::nullopt);
  EXPECT_THAT(check_encoder({.codec = "copy", .encoder = "libx264"}).value_or(""), StartsWith("encode.encoder: "));
  EXPECT_THROW(open_encoder({.codec = "copy"}, small, 25), Error);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
