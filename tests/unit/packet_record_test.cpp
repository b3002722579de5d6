// Packets as records of a packet ring: what a decoder needs arrives, and what cannot be is not taken.
#include "app/rings/packet_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

extern "C" {
#include <libavutil/mem.h>
}

namespace campipe::test {
namespace CAMPIPE_FILE {

using Bytes = std::vector<std::uint8_t>;

Bytes counting(std::size_t size) {
  Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  return bytes;
}

class PacketRecords : public testing::Test {
 protected:
  PacketRecords() : codec_(avcodec_parameters_alloc()), packet_(make_av_packet()) {
    codec_->codec_type = AVMEDIA_TYPE_VIDEO;
    codec_->codec_id = AV_CODEC_ID_H264;
    codec_->codec_tag = 7;
    codec_->format = AV_PIX_FMT_YUV420P;
    codec_->bit_rate = 5'000'000;
    codec_->bits_per_coded_sample = 24;
    codec_->bits_per_raw_sample = 8;
    codec_->profile = 100;
    codec_->level = 41;
    codec_->width = 1920;
    codec_->height = 1080;
    codec_->sample_aspect_ratio = {4, 3};
    codec_->field_order = AV_FIELD_PROGRESSIVE;
    codec_->color_range = AVCOL_RANGE_MPEG;
    codec_->color_primaries = AVCOL_PRI_BT709;
    codec_->color_trc = AVCOL_TRC_BT709;
    codec_->color_space = AVCOL_SPC_BT709;
    codec_->chroma_location = AVCHROMA_LOC_LEFT;
    codec_->video_delay = 2;
    const Bytes extra = counting(40);
    codec_->extradata = static_cast<std::uint8_t*>(av_mallocz(extra.size() + AV_INPUT_BUFFER_PADDING_SIZE));
    std::ranges::copy(extra, codec_->extradata);
    codec_->extradata_size = static_cast<int>(extra.size());

    stream_.codec = codec_.get();
    stream_.time_base = {1, 12800};
    stream_.start = 512;
    stream_.frame_rate = 25;
    stream_.decoder = "h264";
    stream_.in_bursts = true;
    stream_.discontinuous = true;
    stream_.rotation = 90;

    data_ = counting(500);
    av_new_packet(packet_.get(), static_cast<int>(data_.size()));
    std::ranges::copy(data_, packet_->data);
    packet_->pts = 1024;
    packet_->dts = AV_NOPTS_VALUE;
    packet_->duration = 512;
    packet_->flags = AV_PKT_FLAG_KEY | AV_PKT_FLAG_CORRUPT;
    add_side_data(AV_PKT_DATA_NEW_EXTRADATA, counting(12));
    note_ = {.packet = 77,
             .arrival = 1,
             .arrival_utc = 2,
             .waited = 3,
             .late = 4,
             .offset = -5,
             .media_offset = 1'700'000'000'000'000'000,
             .capture_utc = 7,
             .capture_clock = CaptureClock::camera};
  }

  void add_side_data(AVPacketSideDataType type, const Bytes& data) {
    std::ranges::copy(data, av_packet_new_side_data(packet_.get(), type, data.size()));
  }
  Bytes written(bool with_stream = true) const {  // NOLINT: for what it throws, too
    Bytes bytes;
    write_packet(bytes, 3, *packet_, note_, with_stream ? &stream_ : nullptr);
    return bytes;
  }
  static bool is_taken(const Bytes& bytes) {
    PacketRecord record;
    return read_record(bytes, record);
  }

  AvCodecParameters codec_;
  SourceStream stream_;
  AvPacket packet_;
  PacketNote note_;
  Bytes data_;
};

TEST_F(PacketRecords, EverythingThatADecoderNeedsArrives) {
  PacketRecord record;
  ASSERT_TRUE(read_record(written(), record));
  EXPECT_EQ(record.kind, RecordKind::packet);
  EXPECT_EQ(record.connection, 3U);
  const AVPacket& packet = *record.packet;
  EXPECT_EQ(Bytes(packet.data, packet.data + packet.size), data_);
  EXPECT_EQ(packet.pts, 1024);
  EXPECT_EQ(packet.dts, AV_NOPTS_VALUE);
  EXPECT_EQ(packet.duration, 512);
  EXPECT_EQ(packet.pos, 77);
  EXPECT_EQ(packet.flags, AV_PKT_FLAG_KEY | AV_PKT_FLAG_CORRUPT);
  ASSERT_EQ(packet.side_data_elems, 1);
  EXPECT_EQ(packet.side_data[0].type, AV_PKT_DATA_NEW_EXTRADATA);
  EXPECT_EQ(Bytes(packet.side_data[0].data, packet.side_data[0].data + packet.side_data[0].size), counting(12));
  for (int i = 0; i < AV_INPUT_BUFFER_PADDING_SIZE; ++i) EXPECT_EQ(packet.data[packet.size + i], 0);
  EXPECT_EQ(record.note.packet, 77);
  EXPECT_EQ(record.note.arrival, 1);
  EXPECT_EQ(record.note.arrival_utc, 2);
  EXPECT_EQ(record.note.waited, 3);
  EXPECT_EQ(record.note.late, 4);
  EXPECT_EQ(record.note.offset, -5);
  EXPECT_EQ(record.note.media_offset, note_.media_offset);
  EXPECT_EQ(record.note.capture_utc, 7);
  EXPECT_EQ(record.note.capture_clock, CaptureClock::camera);
}

TEST_F(PacketRecords, TheStreamArrives) {
  PacketRecord record;
  ASSERT_TRUE(read_record(written(), record));
  ASSERT_TRUE(record.stream);
  const SourceStream& stream = *record.stream;
  EXPECT_EQ(stream.time_base.num, 1);
  EXPECT_EQ(stream.time_base.den, 12800);
  EXPECT_EQ(stream.start, 512);
  EXPECT_EQ(stream.frame_rate, 25);
  EXPECT_EQ(stream.decoder, "h264");
  EXPECT_TRUE(stream.in_bursts);
  EXPECT_FALSE(stream.finite);
  EXPECT_TRUE(stream.discontinuous);
  EXPECT_EQ(stream.rotation, 90);
  EXPECT_EQ(stream.audio, nullptr);
  // As libavcodec takes them, whatever its version has.
  const AvCodecContext sent(avcodec_alloc_context3(nullptr));
  const AvCodecContext got(avcodec_alloc_context3(nullptr));
  ASSERT_GE(avcodec_parameters_to_context(sent.get(), codec_.get()), 0);
  ASSERT_GE(avcodec_parameters_to_context(got.get(), stream.codec), 0);
  EXPECT_EQ(got->codec_id, sent->codec_id);
  EXPECT_EQ(got->codec_tag, sent->codec_tag);
  EXPECT_EQ(got->pix_fmt, sent->pix_fmt);
  EXPECT_EQ(got->bit_rate, sent->bit_rate);
  EXPECT_EQ(got->bits_per_coded_sample, sent->bits_per_coded_sample);
  EXPECT_EQ(got->bits_per_raw_sample, sent->bits_per_raw_sample);
  EXPECT_EQ(got->profile, sent->profile);
  EXPECT_EQ(got->level, sent->level);
  EXPECT_EQ(got->width, sent->width);
  EXPECT_EQ(got->height, sent->height);
  EXPECT_EQ(av_cmp_q(got->sample_aspect_ratio, sent->sample_aspect_ratio), 0);
  EXPECT_EQ(got->field_order, sent->field_order);
  EXPECT_EQ(got->color_range, sent->color_range);
  EXPECT_EQ(got->color_primaries, sent->color_primaries);
  EXPECT_EQ(got->color_trc, sent->color_trc);
  EXPECT_EQ(got->colorspace, sent->colorspace);
  EXPECT_EQ(got->chroma_sample_location, sent->chroma_sample_location);
  EXPECT_EQ(got->has_b_frames, sent->has_b_frames);
  EXPECT_EQ(Bytes(got->extradata, got->extradata + got->extradata_size), counting(40));
}

TEST_F(PacketRecords, TheStreamOutlivesItsRecord) {
  std::shared_ptr<const SourceStream> stream;
  {
    PacketRecord record;
    ASSERT_TRUE(read_record(written(), record));
    stream = record.stream;
  }
  EXPECT_EQ(stream->codec->width, 1920);
  EXPECT_EQ(stream->codec->extradata[39], 40);
}

TEST_F(PacketRecords, AStreamNeedNotBeSaidAgain) {
  PacketRecord record;
  const Bytes bytes = written(false);
  ASSERT_TRUE(read_record(bytes, record));
  EXPECT_FALSE(record.stream);
  EXPECT_EQ(record.packet->size, 500);
  EXPECT_LT(bytes.size(), written().size());
}

TEST_F(PacketRecords, ThePatternHasNoCodec) {
  stream_.codec = nullptr;
  stream_.width = 640;
  stream_.height = 360;
  PacketRecord record;
  ASSERT_TRUE(read_record(written(), record));
  EXPECT_EQ(record.stream->codec, nullptr);
  EXPECT_EQ(record.stream->decoder, "pattern");
  EXPECT_EQ(record.stream->width, 640);
  EXPECT_EQ(record.stream->height, 360);
  stream_.width = 1 << 20;
  EXPECT_THROW(written(), Error);
}

TEST_F(PacketRecords, MarksHaveNothingButTheirKind) {
  for (const RecordKind kind : {RecordKind::empty, RecordKind::lost, RecordKind::end}) {
    Bytes bytes;
    write_mark(bytes, 9, kind);
    PacketRecord record;
    ASSERT_TRUE(read_record(bytes, record));
    EXPECT_EQ(record.kind, kind);
    EXPECT_EQ(record.connection, 9U);
    EXPECT_EQ(record.packet, nullptr);
    EXPECT_EQ(record.stream, nullptr);
    bytes.push_back(0);
    EXPECT_FALSE(is_taken(bytes));
  }
}

// Side data of other kinds, such as when the camera took a frame, say nothing to a decoder. A packet that is trusted
// would be taken for one whose bytes this process has made itself.
TEST_F(PacketRecords, WhatDecodersNeedNotDoesNotTravel) {
  add_side_data(AV_PKT_DATA_PRFT, counting(16));
  add_side_data(AV_PKT_DATA_PALETTE, counting(AVPALETTE_SIZE));
  packet_->flags |= AV_PKT_FLAG_TRUSTED;
  PacketRecord record;
  ASSERT_TRUE(read_record(written(), record));
  EXPECT_EQ(record.packet->flags & AV_PKT_FLAG_TRUSTED, 0);
  EXPECT_EQ(record.packet->side_data_elems, 2);
  EXPECT_EQ(av_packet_get_side_data(record.packet.get(), AV_PKT_DATA_PRFT, nullptr), nullptr);
  EXPECT_NE(av_packet_get_side_data(record.packet.get(), AV_PKT_DATA_PALETTE, nullptr), nullptr);
}

TEST_F(PacketRecords, APartOfARecordIsNone) {
  const Bytes whole = written();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(is_taken(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)))) << size;
  }
  Bytes longer = whole;
  longer.push_back(0);
  EXPECT_FALSE(is_taken(longer));
}

// Whatever is taken can be used: a sanitizer would see if it could not.
TEST_F(PacketRecords, AnyWrongByteIsRefusedOrHarmless) {
  Bytes bytes = written();
  int refused = 0;
  for (std::size_t at = 0; at < bytes.size() - data_.size(); ++at) {
    for (const unsigned wrong : {0x01U, 0x80U, 0xffU}) {
      Bytes other = bytes;
      other[at] ^= static_cast<std::uint8_t>(wrong);
      PacketRecord record;
      if (!read_record(other, record)) {
        ++refused;
        continue;
      }
      if (record.stream && record.stream->codec != nullptr) {
        const AvCodecContext context(avcodec_alloc_context3(nullptr));
        EXPECT_GE(avcodec_parameters_to_context(context.get(), record.stream->codec), 0);
      }
      if (!record.packet) continue;
      Bytes again;
      write_packet(again, record.connection, *record.packet, record.note, record.stream.get());
      EXPECT_TRUE(is_taken(again)) << at;
    }
  }
  EXPECT_GT(refused, 200);
}

// A process that was taken over writes it.
TEST_F(PacketRecords, WhatNoSourceSendsIsNotTaken) {
  const auto is_taken_with = [this](auto right, auto wrong) {
    Bytes bytes = written();
    Bytes looked_for(sizeof right);
    std::memcpy(looked_for.data(), &right, sizeof right);
    const auto found = std::ranges::search(bytes, looked_for);
    EXPECT_EQ(found.size(), sizeof right) << "that number is in the record";
    std::memcpy(bytes.data() + (found.begin() - bytes.begin()), &wrong, sizeof wrong);
    return is_taken(bytes);
  };
  note_.packet = 0x0102030405060701;
  note_.arrival = 0x0102030405060702;
  note_.offset = 0x0102030405060703;
  note_.capture_utc = 0x0102030405060704;
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(is_taken_with(note_.packet, std::int64_t{1}));
  EXPECT_FALSE(is_taken_with(note_.packet, std::int64_t{-1}));
  EXPECT_FALSE(is_taken_with(note_.arrival, std::int64_t{1} << 61));
  EXPECT_FALSE(is_taken_with(note_.offset, largest));
  EXPECT_FALSE(is_taken_with(note_.media_offset, std::numeric_limits<std::int64_t>::min()));
  EXPECT_FALSE(is_taken_with(note_.capture_utc, largest));
  EXPECT_TRUE(is_taken_with(codec_->width, 1280));
  EXPECT_FALSE(is_taken_with(codec_->width, 1 << 20));
  EXPECT_FALSE(is_taken_with(codec_->height, -1));
  EXPECT_FALSE(is_taken_with(codec_->sample_aspect_ratio, AVRational{1, -1}));
  EXPECT_FALSE(is_taken_with(stream_.time_base, AVRational{1, 0}));
  EXPECT_FALSE(is_taken_with(stream_.frame_rate, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(is_taken_with(stream_.rotation, 45));
}

// Else its reader would put it down to the process that wrote it, and not to the camera.
TEST_F(PacketRecords, WhatNoReaderTakesIsTheSourcesError) {
  ASSERT_NO_THROW(written());
  const auto refuse = [this](const char* what, auto& field, auto wrong) {
    const auto right = field;
    field = wrong;
    EXPECT_THROW(written(), Error) << what;
    field = right;
    EXPECT_NO_THROW(written()) << what;
  };
  refuse("a codec that is not accepted", codec_->codec_id, AV_CODEC_ID_WRAPPED_AVFRAME);
  refuse("the largest frame", codec_->width, 1 << 20);
  refuse("a time base", stream_.time_base, AVRational{1, 0});
  refuse("a rotation", stream_.rotation, 45);
  refuse("an offset", note_.offset, std::numeric_limits<std::int64_t>::max());
  refuse("a clock", note_.capture_clock, static_cast<CaptureClock>(2));
}

TEST_F(PacketRecords, WhatADecoderNeedsNotBelieveIsLeftOut) {
  codec_->bit_rate = -1;
  codec_->bits_per_raw_sample = 1000;
  codec_->sample_aspect_ratio = {1, -1};
  codec_->color_space = AVCOL_SPC_NB;
  codec_->video_delay = -3;
  stream_.frame_rate = std::numeric_limits<double>::infinity();
  packet_->duration = -5;
  PacketRecord record;
  ASSERT_TRUE(read_record(written(), record));
  EXPECT_EQ(record.stream->frame_rate, 0);
  EXPECT_EQ(record.stream->codec->bit_rate, 0);
  EXPECT_EQ(record.stream->codec->sample_aspect_ratio.num, 0);
  EXPECT_EQ(record.stream->codec->color_space, AVCOL_SPC_UNSPECIFIED);
  EXPECT_EQ(record.stream->codec->video_delay, 0);
  EXPECT_EQ(record.packet->duration, 0);
}

TEST_F(PacketRecords, HeadersThatAreTooLongAreTheSourcesError) {
  const int size = 2 << 20;
  codec_->extradata = static_cast<std::uint8_t*>(av_realloc(codec_->extradata, size));
  std::memset(codec_->extradata, 0, size);
  codec_->extradata_size = size;
  EXPECT_THROW(written(), Error);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
