// What a stream becomes in the midst of it, by its packets alone: each codec, as its containers have it.
#include "app/source/followed_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "stages/sinks/stream_headers.h"
#include "tests/unit/peers.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using Change = FollowedStream::Change;
using Fault = FollowedStream::Fault;
using Clock = campipe::Clock;

struct Media {
  AvInput input;
  SourceStream stream;
  std::vector<AvPacket> packets;
};

// `arguments`: of ffmpeg, for its encoder and container.
Media make_media(const std::filesystem::path& file, const std::string& size, const std::string& arguments) {
  const std::string command = "ffmpeg -v error -y -f lavfi -i testsrc2=size=" + size + ":rate=10:duration=1 " +
                              arguments + " '" + file.string() + "' 2>/dev/null";
  test::Program program({"sh", "-c", command});
  if (program.wait() != 0) return {};
  AVFormatContext* raw = nullptr;
  av_check(avformat_open_input(&raw, file.c_str(), nullptr, nullptr), file);
  Media media;
  media.input.reset(raw);
  av_check(avformat_find_stream_info(raw, nullptr), file);
  media.stream.codec = raw->streams[0]->codecpar;
  media.stream.time_base = raw->streams[0]->time_base;
  for (AvPacket packet = make_av_packet(); av_read_frame(raw, packet.get()) >= 0; packet = make_av_packet())
    media.packets.push_back(std::move(packet));
  return media;
}

std::vector<std::uint8_t> extradata_of(const SourceStream& stream) {
  return {stream.codec->extradata, stream.codec->extradata + stream.codec->extradata_size};
}

std::span<const std::uint8_t> bytes_of(const AVPacket& packet) {
  return {packet.data, static_cast<std::size_t>(packet.size)};
}

void add_header(AVPacket& packet, const std::vector<std::uint8_t>& header) {
  std::uint8_t* data = av_packet_new_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, header.size());
  std::ranges::copy(header, data);
}

void put_in_band(AVPacket& packet, AVCodecID codec, const std::vector<std::uint8_t>& header) {
  const auto bytes = ParameterSets(codec, header).in_front_of(bytes_of(packet));
  const AvPacket with = make_av_packet();
  av_check(av_new_packet(with.get(), static_cast<int>(bytes.size())), "a packet");
  av_check(av_packet_copy_props(with.get(), &packet), "a packet");
  std::ranges::copy(bytes, with->data);
  av_packet_unref(&packet);
  av_packet_move_ref(&packet, with.get());
}

// What comes out of a decoder that knows `stream`, without a fault.
std::size_t decoded(const SourceStream& stream, std::span<const AvPacket> packets) {
  const AvCodecContext context(avcodec_alloc_context3(avcodec_find_decoder(stream.codec->codec_id)));
  av_check(avcodec_parameters_to_context(context.get(), stream.codec), "the decoder");
  av_check(avcodec_open2(context.get(), nullptr, nullptr), "the decoder");
  const AvFrame frame = make_av_frame();
  std::size_t frames = 0;
  const auto receive = [&] {
    while (avcodec_receive_frame(context.get(), frame.get()) >= 0) {
      frames += (frame->flags & AV_FRAME_FLAG_CORRUPT) == 0 && frame->decode_error_flags == 0 ? 1 : 0;
    }
  };
  for (const AvPacket& packet : packets) {
    const AvPacket bare(av_packet_clone(packet.get()));
    av_packet_free_side_data(bare.get());
    if (avcodec_send_packet(context.get(), bare.get()) >= 0) receive();
  }
  avcodec_send_packet(context.get(), nullptr);
  receive();
  return frames;
}

struct Way {
  std::string name;
  std::string ending;
  std::string arguments;
  enum class Tells : std::uint8_t { by_itself, in_band, by_container };
  Tells tells = Tells::by_itself;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

const std::string x264 = "-c:v libx264 -pix_fmt yuv420p -g 5 -bf 0 -preset ultrafast";
const std::string x265 =
    "-c:v libx265 -pix_fmt yuv420p -preset ultrafast -x265-params log-level=none:keyint=5:bframes=0";

const std::vector<Way> ways{
    {"h264_start_codes", "h264", x264},
    {"h264_file_in_band", "mp4", x264, Way::Tells::in_band},
    {"h264_file", "mkv", x264, Way::Tells::by_container},
    {"h264_high_file_in_band", "mkv", "-c:v libx264 -pix_fmt yuv420p -g 5 -bf 2 -profile:v high", Way::Tells::in_band},
    {"hevc_start_codes", "hevc", x265},
    {"hevc_file_in_band", "mp4", x265, Way::Tells::in_band},
    {"hevc_file", "mp4", x265, Way::Tells::by_container},
    {"hevc_ten_bits_in_band", "mkv",
     "-c:v libx265 -pix_fmt yuv420p10le -preset ultrafast -x265-params log-level=none:keyint=5", Way::Tells::in_band},
    {"mpeg4", "ts", "-c:v mpeg4 -g 5"},
    {"mpeg4_file", "mp4", "-c:v mpeg4 -g 5", Way::Tells::by_container},
    {"mpeg2", "ts", "-c:v mpeg2video -g 5"},
    {"mjpeg", "avi", "-c:v mjpeg -pix_fmt yuvj420p"},
    {"vp8", "mkv", "-c:v libvpx -g 5 -deadline realtime"},
    {"vp9", "mkv", "-c:v libvpx-vp9 -g 5 -deadline realtime -cpu-used 8"},
    {"av1", "mkv", "-c:v libaom-av1 -g 5 -usage realtime -cpu-used 8"},
};

class FollowedWays : public testing::TestWithParam<Way> {};

TEST_P(FollowedWays, ChangeWithTheFirstKeyFrameThatSaysSo) {
  const Way& way = GetParam();
  const test::TemporaryFolder folder;
  Media small = make_media(folder.path() / ("small." + way.ending), "160x128", way.arguments);
  Media large = make_media(folder.path() / ("large." + way.ending), "320x240", way.arguments);
  if (small.packets.empty() || large.packets.empty()) GTEST_SKIP() << "this FFmpeg does not encode it";
  const std::vector<std::uint8_t> header = extradata_of(large.stream);
  if (way.tells == Way::Tells::by_container) add_header(*large.packets.front(), header);
  if (way.tells == Way::Tells::in_band) {
    for (const AvPacket& packet : large.packets) {
      if ((packet->flags & AV_PKT_FLAG_KEY) != 0) put_in_band(*packet, large.stream.codec->codec_id, header);
    }
  }
  FollowedStream followed("cam");
  followed.begin(small.stream);
  for (const AvPacket& packet : small.packets) {
    EXPECT_EQ(followed.take(*packet), Change::none);
    EXPECT_EQ(followed.fault(), Fault::none);
    EXPECT_EQ(&followed.packet(), packet.get());
  }
  EXPECT_EQ(extradata_of(followed.stream()), extradata_of(small.stream)) << "nothing has changed";
  std::size_t at = 0;
  for (const AvPacket& packet : large.packets) {
    EXPECT_EQ(followed.take(*packet), at == 0 ? Change::headers : Change::none) << at;
    EXPECT_EQ(followed.fault(), Fault::none) << at;
    ++at;
  }
  EXPECT_EQ(followed.stream().codec->width, 320);
  EXPECT_EQ(followed.stream().codec->height, 240);
  EXPECT_EQ(decoded(followed.stream(), large.packets), large.packets.size());
  EXPECT_EQ(followed.take(*small.packets.front()), way.tells == Way::Tells::by_itself ? Change::headers : Change::none);
}

INSTANTIATE_TEST_SUITE_P(All, FollowedWays, testing::ValuesIn(ways), [](const auto& test) { return test.param.name; });

class Followed : public testing::Test {
 protected:
  void SetUp() override {
    small_ = make_media(folder_.path() / "small.h264", "160x128", x264);
    large_ = make_media(folder_.path() / "large.h264", "320x240", x264);
    ASSERT_FALSE(small_.packets.empty() || large_.packets.empty());
  }
  [[nodiscard]] const AVPacket& key(bool large) const { return *(large ? large_ : small_).packets.front(); }

  test::TemporaryFolder folder_;
  Media small_;
  Media large_;
  FollowedStream followed_{"cam"};
};

// As of an SDP that was written for other settings of the camera.
TEST_F(Followed, FirstKeyFrameCountsMoreThanWhatWasAnnounced) {
  followed_.begin(small_.stream);
  EXPECT_EQ(followed_.take(key(true)), Change::headers);
  EXPECT_EQ(followed_.stream().codec->width, 320);
  EXPECT_TRUE(ParameterSets(AV_CODEC_ID_H264, extradata_of(followed_.stream())) ==
              ParameterSets(AV_CODEC_ID_H264, extradata_of(large_.stream)));
  followed_.begin(small_.stream);
  EXPECT_EQ(followed_.take(key(true)), Change::headers) << "of the next connection, too";
}

TEST_F(Followed, HeadersThatAreTheSameStayInTheFormThatTheyHad) {
  followed_.begin(small_.stream);
  followed_.take(key(true));
  const auto before = extradata_of(followed_.stream());
  followed_.begin(large_.stream);
  EXPECT_EQ(extradata_of(followed_.stream()), before) << "else a new connection were a new file";
  EXPECT_EQ(followed_.take(key(true)), Change::none);
}

// libavformat reads ahead, and may have seen another one last.
TEST_F(Followed, ASizeThatIsNotThatOfTheSetsIsCorrected) {
  const AvCodecParameters codec(avcodec_parameters_alloc());
  av_check(avcodec_parameters_copy(codec.get(), small_.stream.codec), "parameters");
  codec->width = 320;
  SourceStream announced = small_.stream;
  announced.codec = codec.get();
  followed_.begin(announced);
  EXPECT_EQ(followed_.take(key(false)), Change::headers);
  EXPECT_EQ(followed_.stream().codec->width, 160);
  EXPECT_EQ(extradata_of(followed_.stream()), extradata_of(small_.stream));
  EXPECT_EQ(followed_.take(key(false)), Change::none);
}

TEST_F(Followed, DamagedPacketsAreNotBelieved) {
  followed_.begin(small_.stream);
  followed_.take(key(false));
  const AvPacket damaged(av_packet_clone(&key(true)));
  damaged->flags |= AV_PKT_FLAG_CORRUPT;
  EXPECT_EQ(followed_.take(*damaged), Change::none);
  EXPECT_EQ(followed_.stream().codec->width, 160);
}

// As FLV and MP4 have them: with lengths.
TEST_F(Followed, FramesWhoseUnitsLeadOutOfThemAreBroken) {
  Media media = make_media(folder_.path() / "lengths.mp4", "160x120", x264);
  followed_.begin(media.stream);
  const auto fault_of = [&](const AVPacket& packet) {
    followed_.take(packet);
    return followed_.fault();
  };
  ASSERT_GE(media.packets.size(), 3U);
  EXPECT_EQ(fault_of(*media.packets[0]), Fault::none);
  EXPECT_EQ(fault_of(*media.packets[1]), Fault::none);
  const AvPacket longer(av_packet_clone(media.packets[2].get()));
  av_check(av_packet_make_writable(longer.get()), "a packet");
  longer->data[1] = 0x7f;
  EXPECT_EQ(fault_of(*longer), Fault::broken);
  const AvPacket shorter(av_packet_clone(media.packets[2].get()));
  av_shrink_packet(shorter.get(), shorter->size - 1);
  EXPECT_EQ(fault_of(*shorter), Fault::broken);
  EXPECT_EQ(fault_of(*media.packets[2]), Fault::none);
}

TEST_F(Followed, FramesOfWhichThereIsNothingButHeadersAreBroken) {
  followed_.begin(small_.stream);
  followed_.take(key(false));
  const auto fault_of = [&](std::vector<std::uint8_t> data) {
    const AvPacket packet = make_av_packet();
    av_check(av_new_packet(packet.get(), static_cast<int>(data.size())), "a packet");
    std::ranges::copy(data, packet->data);
    followed_.take(*packet);
    return followed_.fault();
  };
  EXPECT_EQ(fault_of({0, 0, 0, 1, 0x41}), Fault::broken);
  EXPECT_EQ(fault_of({0, 0, 0, 1, 0x06, 5, 0, 0, 0, 1, 0x41, 0, 0, 0, 1, 0x41}), Fault::broken);
  EXPECT_EQ(fault_of({0, 0, 0, 1, 0x41, 0, 0, 0, 1, 0x41, 0x9a, 0x12}), Fault::none) << "a part of it is there";
  EXPECT_EQ(fault_of({0, 0, 0, 1, 0x06, 5}), Fault::none) << "no picture";
  followed_.take(*small_.packets.at(1));
  EXPECT_EQ(followed_.fault(), Fault::none);
}

// As MPEG-TS has it behind a new programme map: nothing is known of the new stream but its codec.
TEST_F(Followed, AnotherStreamOfTheSourceBeginsWithItsKeyFrame) {
  SourceStream announced = small_.stream;
  followed_.begin(announced);
  followed_.take(key(false));
  const auto before = extradata_of(followed_.stream());
  const AvCodecParameters other(avcodec_parameters_alloc());
  other->codec_type = AVMEDIA_TYPE_VIDEO;
  other->codec_id = AV_CODEC_ID_H264;
  announced.codec = other.get();
  ++announced.serial;
  EXPECT_EQ(followed_.take(*small_.packets.at(1)), Change::none);
  EXPECT_EQ(followed_.fault(), Fault::no_key_frame);
  EXPECT_EQ(followed_.take(key(false)), Change::stream);
  EXPECT_EQ(followed_.fault(), Fault::none);
  EXPECT_EQ(extradata_of(followed_.stream()), before) << "the same, so that files go on";
  announced.codec = large_.stream.codec;
  ++announced.serial;
  EXPECT_EQ(followed_.take(key(true)), Change::stream);
  EXPECT_EQ(followed_.stream().codec->width, 320);
}

// Its picture refers to sets that nobody sent.
TEST_F(Followed, KeyFrameWithoutItsParameterSetsIsNotDecodable) {
  const std::string numbered = x264 + " -x264-params sps-id=3";
  Media other = make_media(folder_.path() / "other.h264", "320x240", numbered);
  ASSERT_FALSE(other.packets.empty());
  const auto whole = bytes_of(*other.packets.front());
  const std::vector<std::uint8_t> slice{0, 0, 1, 0x65};
  const auto found = std::ranges::search(whole, slice);
  ASSERT_FALSE(found.empty());
  const AvPacket bare = make_av_packet();
  av_check(av_new_packet(bare.get(), static_cast<int>(whole.end() - found.begin())), "a packet");
  std::copy(found.begin(), whole.end(), bare->data);
  bare->flags = AV_PKT_FLAG_KEY;
  followed_.begin(small_.stream);
  EXPECT_EQ(followed_.take(*bare), Change::none);
  EXPECT_EQ(followed_.fault(), Fault::no_sets);
  EXPECT_EQ(followed_.take(*other.packets.front()), Change::headers);
  EXPECT_EQ(followed_.fault(), Fault::none);
  followed_.take(*bare);
  EXPECT_EQ(followed_.fault(), Fault::none) << "now they are known";
}

AvPacket packet_of(std::span<const std::uint8_t> bytes) {
  AvPacket packet = make_av_packet();
  av_check(av_new_packet(packet.get(), static_cast<int>(bytes.size())), "a packet");
  std::ranges::copy(bytes, packet->data);
  return packet;
}

// Frames of one size, whose sets become others in the midst of a group of pictures.
class ChangedSets : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    small_ = make(GetParam().arguments, "160x128");
    large_ = make(GetParam().arguments, "320x240");
    if (small_.packets.empty() || large_.packets.empty()) GTEST_SKIP() << "this FFmpeg does not encode it";
    ASSERT_EQ(small_.packets.size(), 10U);
    followed_.begin(small_.stream);
    take_without_fault(0, 3);
  }
  Media make(const std::string& arguments, const std::string& size) {
    return make_media(folder_.path() / ("clip" + std::to_string(++clips_) + "." + GetParam().ending), size, arguments);
  }
  [[nodiscard]] AVCodecID codec() const { return small_.stream.codec->codec_id; }
  Fault fault_of(const AVPacket& packet) {
    EXPECT_EQ(followed_.take(packet), Change::none);
    return followed_.fault();
  }
  void take_without_fault(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) EXPECT_EQ(fault_of(*small_.packets.at(i)), Fault::none) << i;
  }
  // Of another stream, before that packet.
  void put_sets_of(const Media& other, std::size_t at) {
    put_in_band(*small_.packets.at(at), codec(), extradata_of(other.stream));
  }

  test::TemporaryFolder folder_;
  int clips_ = 0;
  Media small_;
  Media large_;
  FollowedStream followed_{"cam"};
};

// No player that begins with the key frame could show what comes behind it.
TEST_P(ChangedSets, BetweenKeyFramesCutTheStreamUpToTheNextOne) {
  put_sets_of(large_, 3);
  EXPECT_EQ(fault_of(*small_.packets[3]), Fault::other_sets);
  EXPECT_EQ(fault_of(*small_.packets[4]), Fault::other_sets);
  std::size_t at = 0;
  for (const AvPacket& packet : large_.packets) {
    if (at == 0) put_in_band(*packet, codec(), extradata_of(large_.stream));
    EXPECT_EQ(followed_.take(*packet), at == 0 ? Change::headers : Change::none) << at;
    EXPECT_EQ(followed_.fault(), Fault::none) << at;
    ++at;
  }
  EXPECT_EQ(decoded(followed_.stream(), large_.packets), large_.packets.size());
}

TEST_P(ChangedSets, ThatComeByThemselvesAreNoFrame) {
  const ParameterSets others(codec(), extradata_of(large_.stream));
  const AvPacket alone = packet_of(others.in_band());
  EXPECT_EQ(fault_of(*alone), Fault::none);
  EXPECT_FALSE(followed_.shows_picture());
  EXPECT_EQ(fault_of(*small_.packets[3]), Fault::other_sets);
  EXPECT_TRUE(followed_.shows_picture());
  EXPECT_EQ(followed_.take(*large_.packets[0]), Change::headers);
  EXPECT_EQ(followed_.fault(), Fault::none);
  EXPECT_EQ(decoded(followed_.stream(), large_.packets), large_.packets.size());
}

TEST_P(ChangedSets, BackToWhatTheyWereAreNoLoss) {
  const AvPacket alone = packet_of(ParameterSets(codec(), extradata_of(large_.stream)).in_band());
  alone->flags |= AV_PKT_FLAG_KEY;
  EXPECT_EQ(fault_of(*alone), Fault::none) << "it begins nothing";
  put_sets_of(small_, 3);
  take_without_fault(3, 5);
  put_sets_of(small_, 5);
  take_without_fault(5, 10);
}

TEST_P(ChangedSets, ByTheContainerCutLikewise) {
  add_header(*small_.packets[3], extradata_of(large_.stream));
  EXPECT_EQ(fault_of(*small_.packets[3]), Fault::other_sets);
  EXPECT_EQ(fault_of(*small_.packets[4]), Fault::other_sets);
}

// H.264's pictures may have other sets from any picture on; files have them there, too.
TEST_P(ChangedSets, OfPicturesComeToPlayersInH264) {
  const bool hevc = codec() == AV_CODEC_ID_HEVC;
  const std::string offset = hevc ? ":crqpoffs=4" : " -x264-params chroma-qp-offset=4";
  Media other = make(GetParam().arguments + offset, "160x128");
  ASSERT_EQ(other.packets.size(), 10U);
  put_sets_of(other, 3);
  EXPECT_EQ(fault_of(*small_.packets[3]), hevc ? Fault::other_sets : Fault::none);
  put_sets_of(other, 5);
  const bool has_its_own = GetParam().ending == "h264" || GetParam().ending == "hevc";
  EXPECT_EQ(followed_.take(*small_.packets[5]), has_its_own ? Change::none : Change::headers);
  EXPECT_EQ(followed_.fault(), Fault::none);
  take_without_fault(6, 10);
}

TEST_P(ChangedSets, ThatNeverCameAreMissed) {
  const std::string numbered = codec() == AV_CODEC_ID_HEVC ? "" : " -x264-params sps-id=3";
  if (numbered.empty()) GTEST_SKIP() << "x265 numbers nothing";
  Media other = make(GetParam().arguments + numbered, "160x128");
  ASSERT_EQ(other.packets.size(), 10U);
  EXPECT_EQ(fault_of(*other.packets[1]), Fault::no_sets);
  take_without_fault(3, 10);
}

INSTANTIATE_TEST_SUITE_P(All, ChangedSets,
                         testing::Values(Way{"h264", "h264", x264}, Way{"h264_file", "mp4", x264},
                                         Way{"hevc", "hevc", x265}, Way{"hevc_file", "mp4", x265}),
                         [](const auto& test) { return test.param.name; });

// As of a camera that announces the sets of other settings, and sends none.
TEST_F(Followed, KeyFramesThatTheAnnouncedSetsAreNotOfAreFound) {
  for (const auto& [ending, encoder] : {std::pair{"mp4", x264}, std::pair{"mkv", x265}}) {
    SCOPED_TRACE(encoder);
    Media small = make_media(folder_.path() / (std::string("small.") + ending), "160x128", encoder);
    Media large = make_media(folder_.path() / (std::string("large.") + ending), "320x240", encoder);
    ASSERT_FALSE(small.packets.empty() || large.packets.empty());
    FollowedStream followed("cam", true);
    followed.begin(small.stream);
    EXPECT_EQ(followed.take(*large.packets.front()), Change::none);
    EXPECT_EQ(followed.fault(), Fault::wrong_sets);
    followed.take(*small.packets.front());
    EXPECT_EQ(followed.fault(), Fault::none);
    followed.begin(large.stream);
    followed.take(*large.packets.front());
    EXPECT_EQ(followed.fault(), Fault::none);
    add_header(*small.packets.front(), extradata_of(small.stream));
    EXPECT_EQ(followed.take(*small.packets.front()), Change::headers);
    EXPECT_EQ(followed.fault(), Fault::none);
    add_header(*large.packets.front(), extradata_of(small.stream));
    followed.take(*large.packets.front());
    EXPECT_EQ(followed.fault(), Fault::none) << "the same as before, of which frames could be decoded";
  }
}

TEST_F(Followed, AStreamThatChangesAgainAndAgainGoesOnWithTheSetsInItsPackets) {
  const auto now = Clock::now();
  const auto take = [&](bool large, int second) {
    return followed_.take(key(large), now + std::chrono::seconds(second)) != Change::none;
  };
  followed_.begin(small_.stream);
  int changes = 0;
  for (int i = 0; i < 60; ++i) changes += take(i % 2 != 0, i) ? 1 : 0;
  EXPECT_EQ(changes, 8);
  EXPECT_EQ(followed_.stream().codec->width, 160);
  EXPECT_FALSE(take(true, 60));
  EXPECT_EQ(&followed_.packet(), &key(true)) << "its sets are in it";
  EXPECT_FALSE(take(true, 70)) << "not settled yet";
  EXPECT_TRUE(take(true, 81)) << "it has become another one for good";
  EXPECT_EQ(followed_.stream().codec->width, 320);
}

TEST_F(Followed, WhereOnlyTheContainerTellsTheSetsThenComeInThePackets) {
  Media small = make_media(folder_.path() / "small.mp4", "160x128", x264);
  Media large = make_media(folder_.path() / "large.mp4", "320x240", x264);
  const auto now = Clock::now();
  followed_.begin(small.stream);
  std::vector<AvPacket> since;  // the last change, of which files and players know
  for (int i = 0; i < 20; ++i) {
    Media& from = i % 2 == 0 ? small : large;
    const AvPacket packet(av_packet_clone(from.packets.front().get()));
    add_header(*packet, extradata_of(from.stream));
    if (followed_.take(*packet, now + std::chrono::seconds(i)) != Change::none) since.clear();
    since.emplace_back(av_packet_clone(&followed_.packet()));
  }
  ASSERT_EQ(since.size(), 12U);
  EXPECT_EQ(decoded(followed_.stream(), since), 12U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
