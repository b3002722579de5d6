// What comes of a transport stream through TsUnits is what libavformat alone makes of it, of each codec and however it
// is packed, and comes before the next unit where that is known.
#include "stages/sources/ts_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <optional>

#include "tests/unit/live_test_support.h"
#include "tests/unit/transport_stream.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using testing::Gt;
using testing::Le;

constexpr unsigned video_pid = 256;  // of FFmpeg's muxer

struct Unit {
  std::int64_t pts = 0;
  std::int64_t dts = 0;
  std::int64_t duration = 0;
  int flags = 0;
  std::string data;
  bool operator==(const Unit&) const = default;
};
void PrintTo(const Unit& unit, std::ostream* out) {
  *out << "pts " << unit.pts << " dts " << unit.dts << " duration " << unit.duration << " flags " << unit.flags << ", "
       << unit.data.size() << " bytes";
}

struct Read {
  std::vector<Unit> video;
  std::vector<Unit> sound;
  std::vector<std::size_t> before;  // of each unit of video: how much sound came before it
};

// The first zero of a start code may be at the end of the unit before.
std::string without_zeros_around(std::string data) {
  while (data.starts_with('\0')) data.erase(0, 1);
  while (data.ends_with('\0')) data.pop_back();
  return data;
}

Read read_file(const std::string& file, bool cut) {
  AVFormatContext* raw = nullptr;
  av_check(avformat_open_input(&raw, file.c_str(), nullptr, nullptr), file);
  AvInput input(raw);
  av_check(avformat_find_stream_info(raw, nullptr), file);
  const MediaStreams streams = choose_streams(*input, source_of(file), file);
  std::optional<TsUnits> units;
  if (cut && TsUnits::reads(*input)) units.emplace(*input, streams);
  Read read;
  for (AvPacket packet = make_av_packet(); (cut ? units->read(*packet) : av_read_frame(raw, packet.get())) >= 0;
       av_packet_unref(packet.get())) {
    const bool video = packet->stream_index == streams.video;
    if (!video && packet->stream_index != streams.audio) continue;
    if (video) read.before.push_back(read.sound.size());
    (video ? read.video : read.sound)
        .push_back({packet->pts, packet->dts, packet->duration, packet->flags,
                    without_zeros_around({packet->data, packet->data + packet->size})});
  }
  input.reset();
  return read;
}

class OfTransportStream : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  // 3 s at 25 frames a second, with sound.
  void make_clip(const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"-f", "lavfi", "-i",       "testsrc2=size=160x128:rate=25",
                                       "-f", "lavfi", "-i",       "sine=sample_rate=48000",
                                       "-t", "3",     "-pix_fmt", "yuv420p",
                                       "-g", "25"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.push_back(file("clip.ts"));
    run_ffmpeg(arguments);
    std::ifstream input(file("clip.ts"), std::ios::binary);
    clip_.assign(std::istreambuf_iterator<char>(input), {});
  }

  // The clip with its video packed anew: `pack` gets the number of each PES packet, and appends its packets.
  using Pack = std::function<void(int number, const TsPiece& piece, std::vector<std::string>& packets)>;
  std::string repacked(const Pack& pack) const {
    std::string all;
    int number = 0;
    for (const TsPiece& piece : take_apart(clip_, video_pid)) {
      all += piece.packet;
      if (!piece.packet.empty()) continue;
      std::vector<std::string> packets;
      pack(number++, piece, packets);
      for (const std::string& packet : packets) all += packet;
    }
    return all;
  }
  Read read(const std::string& stream, bool cut) const {
    std::ofstream(file("stream.ts"), std::ios::binary) << stream;
    return read_file(file("stream.ts"), cut);
  }
  void expect_same(const std::string& stream) {
    alone_ = read(stream, false);
    cut_ = read(stream, true);
    EXPECT_EQ(cut_.video, alone_.video);
    EXPECT_EQ(cut_.sound, alone_.sound);
  }
  // How many units came before sound that they come behind without it. None comes later.
  [[nodiscard]] int earlier() const {
    int count = 0;
    for (std::size_t i = 0; i < std::min(cut_.before.size(), alone_.before.size()); ++i) {
      EXPECT_LE(cut_.before[i], alone_.before[i]) << i;
      count += cut_.before[i] < alone_.before[i] ? 1 : 0;
    }
    return count;
  }

  TemporaryFolder folder_;
  std::string clip_;
  Read alone_;
  Read cut_;
};

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

struct Codec {
  std::string name;
  std::vector<std::string> options;
};

class OfCodec : public OfTransportStream, public testing::WithParamInterface<Codec> {};

TEST_P(OfCodec, AreTheSameAndEarlier) {
  make_clip(GetParam().options);
  expect_same(clip_);
  EXPECT_EQ(cut_.video.size(), 75U);
  EXPECT_THAT(cut_.sound.size(), Gt(40U));
  EXPECT_GT(earlier(), 5);
}

INSTANTIATE_TEST_SUITE_P(
    All, OfCodec,
    testing::Values(
        Codec{"H264_aac", {"-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac"}},
        Codec{"H264_b_frames_mp2", {"-c:v", "libx264", "-preset", "fast", "-bf", "3", "-c:a", "mp2"}},
        Codec{"H264_slices_ac3", {"-c:v", "libx264", "-preset", "ultrafast", "-slices", "4", "-c:a", "ac3"}},
        Codec{"H264_interlaced_eac3",
              {"-c:v", "libx264", "-preset", "fast", "-flags", "+ildct+ilme", "-x264opts", "tff=1", "-c:a", "eac3"}},
        Codec{"H264_latm", {"-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", "-mpegts_flags", "latm"}},
        Codec{"H264_lengths",
              {"-c:v", "libx264", "-preset", "ultrafast", "-omit_video_pes_length", "0", "-c:a", "aac"}},
        Codec{"H264_constant_rate",
              {"-c:v", "libx264", "-preset", "ultrafast", "-b:v", "1M", "-muxrate", "3M", "-c:a", "aac"}},
        Codec{"HEVC", {"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-c:a", "aac"}},
        Codec{
            "HEVC_b_frames_slices",
            {"-c:v", "libx265", "-preset", "fast", "-x265-params", "log-level=none:bframes=3:slices=2", "-c:a", "mp2"}},
        Codec{"MPEG2", {"-c:v", "mpeg2video", "-bf", "2", "-b:v", "2M", "-c:a", "mp2"}},
        Codec{"MPEG2_interlaced", {"-c:v", "mpeg2video", "-bf", "2", "-flags", "+ildct+ilme", "-c:a", "ac3"}},
        Codec{"MPEG1", {"-c:v", "mpeg1video", "-bf", "2", "-c:a", "mp2"}},
        Codec{"MPEG4", {"-c:v", "mpeg4", "-c:a", "aac"}}),
    [](const auto& test) { return test.param.name; });

// H.264 with B-frames, whose video is packed anew.
class Packed : public OfTransportStream {
 protected:
  void SetUp() override {
    static std::string same;  // for all tests
    if (same.empty()) {
      make_clip({"-c:v", "libx264", "-preset", "fast", "-bf", "2", "-c:a", "mp2"});
      same = clip_;
    }
    clip_ = same;
  }

  // How each PES packet is.
  std::string with(const std::function<std::string(int number, const std::string& pes)>& change,
                   std::size_t stuffed = 0) {
    return repacked([&](int number, const TsPiece& piece, auto& packets) {
      append(packets, packer_.pack(change(number, piece.pes), piece.field, stuffed));
    });
  }
  std::string as_it_was() {
    return with([](int, const std::string& pes) { return pes; });
  }
  // All units that libavformat alone finds come, too, in their order; `more` others at most.
  void expect_all_and(std::size_t more, const std::string& stream) {
    alone_ = read(stream, false);
    cut_ = read(stream, true);
    auto at = cut_.video.begin();
    for (const Unit& unit : alone_.video) {
      at = std::find(at, cut_.video.end(), unit);
      ASSERT_NE(at, cut_.video.end()) << testing::PrintToString(unit);
      ++at;
    }
    EXPECT_THAT(cut_.video.size(), Le(alone_.video.size() + more));
    EXPECT_EQ(cut_.sound, alone_.sound);
  }

  TsPacker packer_{video_pid};
};

TEST_F(Packed, AsItWas) {
  expect_same(as_it_was());
  EXPECT_GT(earlier(), 5);
}

TEST_F(Packed, WithPacketsOfTheClockAlone) {
  expect_same(repacked([&](int /*number*/, const TsPiece& piece, auto& packets) {
    for (const std::string& packet : packer_.pack(piece.pes, piece.field))
      append(packets, {packet, clock_behind(packet)});
  }));
  EXPECT_GT(earlier(), 5);
}

TEST_F(Packed, WithLengths) {
  expect_same(with([](int, std::string pes) {
    const std::size_t length = pes.size() - 6;
    pes[4] = static_cast<char>(length >> 8U);
    pes[5] = static_cast<char>(length);
    return pes;
  }));
}

// The end of such a PES packet is not known.
TEST_F(Packed, SoThatEachFillsItsLastPacket) {
  expect_same(repacked([&](int /*number*/, const TsPiece& piece, auto& packets) {
    const std::size_t field = piece.field.empty() ? 0 : piece.field.size() + 1;
    append(packets, packer_.pack(filled(piece.pes, field), piece.field));
  }));
  EXPECT_EQ(earlier(), 0);
}

TEST_F(Packed, WithTwoUnitsInEach) {
  std::string first;
  expect_same(repacked([&](int number, const TsPiece& piece, auto& packets) {
    if (number % 2 == 0) first = piece.pes;
    if (number % 2 != 0) append(packets, packer_.pack(first + body_of(piece.pes), piece.field));
  }));
  EXPECT_EQ(earlier(), 0);
}

TEST_F(Packed, WithTwoUnitsInOne) {
  std::string first;
  expect_same(repacked([&](int number, const TsPiece& piece, auto& packets) {
    if (number == 40) first = piece.pes;
    if (number != 40) append(packets, packer_.pack(number == 41 ? first + body_of(piece.pes) : piece.pes, piece.field));
  }));
}

// The second of them has no time but what libavformat makes of the ones before.
TEST_F(Packed, WithTwoUnitsInTheLastWhichFillsItsLastPacket) {
  constexpr int last = 74;
  std::string first;
  const std::string stream = repacked([&](int number, const TsPiece& piece, auto& packets) {
    if (number == last - 1) first = piece.pes;
    if (number < last - 1) append(packets, packer_.pack(piece.pes, piece.field));
    if (number == last) append(packets, packer_.pack(filled(first + body_of(piece.pes), 0)));
  });
  alone_ = read(stream, false);
  cut_ = read(stream, true);
  ASSERT_EQ(cut_.video.size(), alone_.video.size());
  for (std::size_t i = 0; i < alone_.video.size(); ++i) EXPECT_EQ(cut_.video[i].data, alone_.video[i].data) << i;
}

// libavformat hands out such a PES packet in parts.
TEST_F(Packed, WithUnitsOfMoreThanItKeeps) {
  const std::string filler = std::string("\0\0\1\x0c", 4) + std::string(500'000, '\xff') + '\x80';
  expect_same(with([&](int number, const std::string& pes) { return number % 5 == 0 ? pes + filler : pes; }));
  EXPECT_GT(earlier(), 5);
}

TEST_F(Packed, WithUnitsInTwo) {
  expect_same(repacked([&](int /*number*/, const TsPiece& piece, auto& packets) {
    const std::size_t half = piece.pes.size() / 2;
    append(packets, packer_.pack(piece.pes.substr(0, half), piece.field));
    append(packets, packer_.pack(make_pes(piece.pes.substr(half), {.time = {}})));
  }));
  EXPECT_EQ(earlier(), 0);
}

TEST_F(Packed, WithOneUnitInTwo) {
  expect_all_and(1, repacked([&](int number, const TsPiece& piece, auto& packets) {
                   const std::size_t size = piece.pes.size() / (number == 40 ? 2 : 1);
                   append(packets, packer_.pack(piece.pes.substr(0, size), piece.field));
                   if (number == 40) append(packets, packer_.pack(make_pes(piece.pes.substr(size), {.time = {}})));
                 }));
}

TEST_F(Packed, WithParameterSetsByThemselves) {
  const std::string slice("\0\0\1\x65", 4);
  int found = 0;
  expect_same(repacked([&](int /*number*/, const TsPiece& piece, auto& packets) {
    const std::size_t picture = piece.pes.find(slice);
    found += picture != std::string::npos ? 1 : 0;
    append(packets, packer_.pack(piece.pes.substr(0, picture), piece.field));
    if (picture != std::string::npos) append(packets, packer_.pack(make_pes(piece.pes.substr(picture), {.time = {}})));
  }));
  EXPECT_GT(found, 1);
}

TEST_F(Packed, WithTimesForSomeAlone) {
  expect_same(with(
      [](int number, const std::string& pes) { return number % 5 == 0 ? pes : make_pes(body_of(pes), {.time = {}}); }));
  EXPECT_EQ(earlier(), 0);
}

TEST_F(Packed, StuffedInTheMidst) {
  expect_same(with([](int, const std::string& pes) { return pes; }, 1));
  EXPECT_EQ(earlier(), 0);
}

TEST_F(Packed, OnceStuffedInTheMidst) {
  expect_all_and(1, repacked([&](int number, const TsPiece& piece, auto& packets) {
                   append(packets, packer_.pack(piece.pes, piece.field, number == 40 ? 1 : 0));
                 }));
}

// What is missing may be the beginning or the end of a unit, or all of it.
TEST_F(Packed, WithMissingPackets) {
  int packet = 0;
  std::vector<std::size_t> whole;
  const std::string stream = repacked([&](int number, const TsPiece& piece, auto& packets) {
    const std::size_t before = packets.size();
    const auto made = packer_.pack(piece.pes, piece.field);
    for (const std::string& one : made) {
      if (++packet % 37 != 0 || number < 20) packets.push_back(one);
    }
    if (packets.size() - before == made.size()) whole.push_back(static_cast<std::size_t>(number));
  });
  const Read original = read(clip_, false);
  cut_ = read(stream, true);
  ASSERT_EQ(original.video.size(), 75U);
  EXPECT_LT(whole.size(), 75U);
  for (const std::size_t number : whole) {
    EXPECT_EQ(std::ranges::count(cut_.video, original.video[number].data, &Unit::data), 1) << number;
  }
  EXPECT_THAT(cut_.video.size(), Le(75U));
}

TEST_F(Packed, WithJunkBetweenPackets) {
  int number = 0;
  std::string stream;
  const std::string clip = as_it_was();
  for (std::size_t i = 0; i < clip.size(); i += ts_packet_size) {
    stream += clip.substr(i, ts_packet_size);
    if (++number > 200 && number % 53 == 0) stream += std::string(static_cast<std::size_t>(number % 300), '\x46');
  }
  EXPECT_EQ(read(stream, true).video, read(clip, false).video);
}

TEST(OfTransportStreams, AreReadInPacketsOf188BytesAlone) {
  const TemporaryFolder folder;
  const std::string plain = (folder.path() / "clip.ts").string();
  const std::string timed = (folder.path() / "clip.m2ts").string();
  for (const std::string& file : {plain, timed}) {
    run_ffmpeg({"-f", "lavfi", "-i", "testsrc2=size=160x128:rate=25:duration=1", "-c:v", "mpeg2video", file});
    AVFormatContext* raw = nullptr;
    av_check(avformat_open_input(&raw, file.c_str(), nullptr, nullptr), file);
    const AvInput input(raw);
    EXPECT_EQ(TsUnits::reads(*input), file == plain);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
