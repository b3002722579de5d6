// A camera's packets on their way to the publisher as they came.
#include "app/source/packet_copies.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "ipc/drop_causes.h"
#include "ipc/rig_page.h"
#include "ipc/source_blocks.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace CAMPIPE_FILE {

using Parameters = std::unique_ptr<AVCodecParameters, void (*)(AVCodecParameters*)>;
Parameters parameters_of(AVMediaType type, AVCodecID codec) {
  Parameters parameters(avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  parameters->codec_type = type;
  parameters->codec_id = codec;
  return parameters;
}

SourceStream stream_of(const AVCodecParameters& video) {
  SourceStream stream;
  stream.codec = &video;
  stream.time_base = {1, 1000};
  stream.frame_rate = 25;
  return stream;
}

// As without memory or descriptors for the second one's ring. The source is opened again, with what it had before.
TEST(PacketCopies, ATrackWithoutARingGetsItWhenTheSourceIsOpenedAgain) {
  const RigPage page = RigPage::create(2);
  std::map<OutputId, int> rings;
  bool fails = true;
  PacketCopies copies({{.output = OutputId(0)}, {.output = OutputId(1)}}, {}, false, page,
                      {.on_video =
                           [&](OutputId output, std::uint64_t epoch, const PacketRingMemory&, const StreamParameters&) {
                             if (output == OutputId(1) && fails) throw Error("no descriptors");
                             EXPECT_EQ(epoch, 1U) << output.index();
                             ++rings[output];
                           },
                       .on_audio = {},
                       .interrupted = [] { return false; }});
  const Parameters video = parameters_of(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264);
  const SourceStream stream = stream_of(*video);
  EXPECT_THROW(copies.begin(stream), Error);
  fails = false;
  copies.begin(stream);
  EXPECT_EQ(rings, (std::map<OutputId, int>{{OutputId(0), 1}, {OutputId(1), 1}}));
  const AvPacket packet = make_av_packet();
  av_check(av_new_packet(packet.get(), 100), "a packet");
  packet->flags = AV_PKT_FLAG_KEY;
  packet->pts = packet->dts = 0;
  copies.video(*packet, SourceClock(true), {});
  for (const OutputId output : {OutputId(0), OutputId(1)}) {
    EXPECT_EQ(counter(page.copy(output).unpublished, DropCause::publisher_slow), 0U) << output.index();
    EXPECT_EQ(page.copy(output).latency.counts().total(), 1U) << output.index();
  }
}

// Of a camera that sends its time a copy's latency begins when the frame was taken, and else when it arrived.
TEST(PacketCopies, LatencyBeginsAtCaptureWhereThatIsKnown) {
  using Case = std::pair<CaptureClock, std::int64_t>;  // taken by which clock, and so long before the arrival
  constexpr std::int64_t ms = 1'000'000;
  for (const auto& [clock, before] : {Case{CaptureClock::camera, 70 * ms}, Case{CaptureClock::arrival, 70 * ms},
                                      Case{CaptureClock::camera, -70 * ms}}) {
    const RigPage page = RigPage::create(1);
    PacketCopies copies({{.output = OutputId(0)}}, {}, false, page,
                        {.on_video = [](auto&&...) {}, .on_audio = {}, .interrupted = [] { return false; }});
    const Parameters video = parameters_of(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264);
    const SourceStream stream = stream_of(*video);
    copies.begin(stream);
    const AvPacket packet = make_av_packet();
    av_check(av_new_packet(packet.get(), 100), "a packet");
    packet->flags = AV_PKT_FLAG_KEY;
    packet->pts = packet->dts = 0;
    const std::int64_t arrival = now_ns();
    copies.video(*packet, SourceClock(true), {arrival, utc_now_ns() - before, clock});
    const double passed = static_cast<double>(now_ns() - arrival) / 1e6;
    const bool known = clock == CaptureClock::camera;
    const double expected = known && before > 0 ? 70 : 0;
    const CopyBlock& block = page.copy(OutputId(0));
    const double latency = block.latency.counts().quantile(0.5) / 1e6;
    EXPECT_GE(latency, 0.95 * expected) << before;
    EXPECT_LE(latency, 1.05 * (expected + passed) + 0.002) << before;
    EXPECT_EQ(block.transit.counts().total(), known ? 1U : 0U);
    if (known) {
      EXPECT_NEAR(block.transit.counts().quantile(0.5) / 1e6, expected, 0.05 * expected + passed + 0.002) << before;
    }
  }
}

// Headers of MPEG-TS's AAC: 48 kHz in stereo, 16 kHz in mono, and none.
const std::vector<std::uint8_t> stereo{0xff, 0xf1, 0x4c, 0x80, 0x0c, 0x9f, 0xfc};
const std::vector<std::uint8_t> mono{0xff, 0xf1, 0x60, 0x40, 0x0c, 0x9f, 0xfc};
const std::vector<std::uint8_t> none{0xff, 0xfd, 0x60, 0x40, 0x0c, 0x9f, 0xfc};

class CopiedSound : public testing::Test {
 protected:
  CopiedSound() {
    audio_->profile = FF_PROFILE_AAC_LOW;
    audio_->sample_rate = 48000;
    av_channel_layout_default(&audio_->ch_layout, 2);
    stream_.audio = audio_.get();
    copies_.begin(stream_);
    clock_.begin(0, 0);
  }

  // False: it was left out, since it changes too often.
  bool send(const std::vector<std::uint8_t>& header) {
    const AvPacket packet = make_av_packet();
    av_check(av_new_packet(packet.get(), 100), "a packet");
    std::fill_n(packet->data, 100, std::uint8_t{0});
    std::ranges::copy(header, packet->data);
    packet->pts = packet->dts = std::int64_t{1920} * ++time_;
    return copies_.audio(*packet, clock_.map_beside(audio_ns(stream_, packet->pts), arrival_), arrival_);
  }
  void wait(std::int64_t seconds) { arrival_ += seconds * 1'000'000'000; }

  RigPage page_ = RigPage::create(1);
  std::vector<AudioParameters> told_;
  Parameters video_ = parameters_of(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264);
  Parameters audio_ = parameters_of(AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_AAC);
  SourceStream stream_ = stream_of(*video_);
  SourceClock clock_{false};
  int time_ = 0;
  std::int64_t arrival_ = 1'000'000'000;
  PacketCopies copies_{
      {},
      {{.output = OutputId(0)}},
      false,
      page_,
      {.on_video = {},
       .on_audio =
           [this](OutputId, std::uint64_t epoch, const PacketRingMemory&, const AudioParameters& audio) {
             told_.push_back(audio);
             EXPECT_EQ(epoch, told_.size());
           },
       .interrupted = [] { return false; }}};
};

// Its codec may change, too.
TEST_F(CopiedSound, ThatBecomesAnotherOneIsSaidToBeThat) {
  for (const auto& header : {stereo, mono, mono, none, none, none, mono, mono, stereo}) send(header);
  EXPECT_EQ(told_.size(), 1U) << "what does not stay is damage";
  for (const auto& header : {mono, mono, mono, mono}) send(header);
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_[0].extradata, (std::vector<std::uint8_t>{0x11, 0x90}));
  EXPECT_EQ(told_[1].extradata, (std::vector<std::uint8_t>{0x14, 0x08}));
  EXPECT_EQ(told_[1].sample_rate, 16000);
  EXPECT_EQ(told_[1].channels, 1);
  wait(11);
  audio_->codec_id = AV_CODEC_ID_MP2;
  for (int i = 0; i < 3; ++i) send({});
  ASSERT_EQ(told_.size(), 3U);
  EXPECT_EQ(told_[2].codec, "mp2");
  audio_->codec_type = AVMEDIA_TYPE_DATA;
  send({});
  EXPECT_EQ(told_.size(), 3U) << "that is no sound";
}

TEST_F(CopiedSound, ThatComesBetweenIsNoneThatStays) {
  for (int i = 0; i < 10; ++i) {
    for (const auto& header : {stereo, mono, mono}) send(header);
  }
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(CopiedSound, ThatChangesAllTheTimeIsLeftOutForTenSeconds) {
  int left_out = 0;
  for (int i = 0; i < 300; ++i) left_out += send(i / 3 % 2 == 0 ? stereo : mono) ? 0 : 1;
  EXPECT_EQ(told_.size(), 2U);
  EXPECT_GE(left_out, 40);
  wait(11);
  for (int i = 0; i < 300; ++i) send(i / 3 % 2 == 0 ? stereo : mono);
  EXPECT_EQ(told_.size(), 3U);
}

// A camera whose microphone was switched off, and on again.
TEST_F(CopiedSound, ThatIsNotThereInTheNextConnectionIsSaidToHaveGone) {
  send(stereo);
  stream_.audio = nullptr;
  copies_.begin(stream_);
  copies_.begin(stream_);
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_[1].codec, "");
  stream_.audio = audio_.get();
  copies_.begin(stream_);
  ASSERT_EQ(told_.size(), 3U);
  EXPECT_EQ(told_[2], told_[0]);
}

TEST(CopiedSilence, IsNotToldOf) {
  const Parameters video = parameters_of(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264);
  const SourceStream stream = stream_of(*video);
  const RigPage page = RigPage::create(1);
  PacketCopies copies({}, {{.output = OutputId(0)}}, false, page,
                      {.on_video = {},
                       .on_audio = [](auto&&...) { ADD_FAILURE() << "there never was sound"; },
                       .interrupted = [] { return false; }});
  copies.begin(stream);
}

// Days before the beginning.
TEST_F(CopiedSound, ThatHasNoPlaceOnTheTimelineChangesNothing) {
  send(stereo);
  time_ = -10'000'000;
  for (int i = 0; i < 10; ++i) send(mono);
  EXPECT_EQ(told_.size(), 1U);
}

// What a file's audio is, as far as outputs have it whose source has died: each of them gets what comes behind that.
// A live camera's next source has nothing of it, and time goes on.
TEST(PacketCopies, AudioThatASourceBeforeHasPassedOnComesOnce) {
  constexpr std::int64_t packet_time = 40'000'000;
  for (const bool goes_back : {true, false}) {
    const RigPage page = RigPage::create(2);
    std::map<OutputId, std::unique_ptr<PacketRingReader>> readers;
    PacketCopies copies(
        {}, {{.output = OutputId(0), .resume = 3 * packet_time}, {.output = OutputId(1), .resume = 4 * packet_time}},
        false, page,
        {.on_video = {},
         .on_audio =
             [&](OutputId output, std::uint64_t, const PacketRingMemory& ring, const AudioParameters&) {
               readers[output] = std::make_unique<PacketRingReader>(PacketRingMemory::open(duplicate(ring.fd())));
             },
         .interrupted = [] { return false; }});
    const Parameters video = parameters_of(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264);
    const Parameters sound = parameters_of(AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_PCM_ALAW);
    SourceStream stream = stream_of(*video);
    stream.audio = sound.get();
    stream.audio_time_base = {1, 1000};
    copies.begin(stream);
    copies.resume(goes_back);
    SourceClock clock(false);
    clock.begin(0, 0);
    clock.observe({.source = 0});
    const AvPacket packet = make_av_packet();
    for (int i = 0; i < 8; ++i) {
      av_check(av_new_packet(packet.get(), 100), "a packet");
      packet->pts = packet->dts = std::int64_t{40} * i;
      packet->duration = 40;
      copies.audio(*packet, clock.map_beside(audio_ns(stream, packet->pts), 0), 0);
      av_packet_unref(packet.get());
    }
    for (unsigned output = 0; output < 2; ++output) {
      std::vector<std::int64_t> times;
      PacketView found;
      std::uint64_t number = 0;
      while (readers.at(OutputId(output))->next(found, number, Clock::now()) == PacketRingReader::Next::packet)
        times.push_back(found.dts);
      ASSERT_FALSE(times.empty());
      if (goes_back) {
        EXPECT_EQ(times.front(), (4 + output) * packet_time);
        EXPECT_EQ(times.size(), 4 - output);
      }
      EXPECT_GT(times.front(), 3 * packet_time);
    }
  }
}

// Numbers that a stranger wrote and libav hands on as they are.
TEST(PacketCopies, ColoursAndShapesThatThereAreNotAreNotPassedOn) {
  const RigPage page = RigPage::create(1);
  std::vector<FrameFormat> told;
  PacketCopies copies({{.output = OutputId(0)}}, {}, false, page,
                      {.on_video = [&](OutputId, std::uint64_t, const PacketRingMemory&,
                                       const StreamParameters& stream) { told.push_back(stream.format); },
                       .on_audio = {},
                       .interrupted = [] { return false; }});
  const Parameters video = parameters_of(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264);
  const auto begin = [&](int colour, AVRational aspect) {
    video->color_range = static_cast<AVColorRange>(colour);
    video->color_space = static_cast<AVColorSpace>(colour);
    video->color_primaries = static_cast<AVColorPrimaries>(colour);
    video->color_trc = static_cast<AVColorTransferCharacteristic>(colour);
    video->chroma_location = static_cast<AVChromaLocation>(colour);
    video->sample_aspect_ratio = aspect;
    copies.begin(stream_of(*video));
  };
  begin(1, {4, 3});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].color_space, AVCOL_SPC_BT709);
  EXPECT_EQ(told[0].sample_aspect_num, 4);
  EXPECT_EQ(told[0].sample_aspect_den, 3);
  begin(200, {-4, 3});
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1], FrameFormat());
  for (const auto& [colour, aspect] :
       std::vector<std::pair<int, AVRational>>{{-1, {4, -3}}, {300, {4, 0}}, {256 + 200, {2'000'000'000, 1}}}) {
    begin(colour, aspect);
    EXPECT_EQ(told.back(), FrameFormat()) << colour;
  }
}

// As cameras announce it that have not filled it in.
TEST(PacketCopies, HeadersThatAreNoneAreNotPassedOn) {
  const Parameters h264 = parameters_of(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264);
  const auto tells = [&](const std::vector<std::uint8_t>& bytes) {
    h264->extradata = static_cast<std::uint8_t*>(av_mallocz(bytes.size() + AV_INPUT_BUFFER_PADDING_SIZE));
    std::ranges::copy(bytes, h264->extradata);
    h264->extradata_size = static_cast<int>(bytes.size());
    const bool told = tells_headers(*h264);
    av_freep(static_cast<void*>(&h264->extradata));
    return told;
  };
  EXPECT_FALSE(tells({}));
  EXPECT_FALSE(tells({0, 0, 1}));
  EXPECT_FALSE(tells({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}));
  EXPECT_FALSE(tells({0, 0, 1, 0x67, 0, 0, 1, 0x68}));
  EXPECT_TRUE(tells({0, 0, 0, 1, 0x67, 0x42, 0xc0, 0x1e, 0xda, 0x02, 0, 0, 1, 0x68, 0xce}));
  EXPECT_TRUE(tells({1, 0x42, 0xc0, 0x1e}));
  h264->codec_id = AV_CODEC_ID_HEVC;
  EXPECT_FALSE(tells({0, 0, 1, 0x40, 0x01, 0x0c, 0x01, 0xff}));
  EXPECT_TRUE(tells({0, 0, 1, 0x42, 0x01, 0x01, 0x01, 0x60}));
}

// Where the clock was corrected in between, each is shown at its own time all the same.
TEST(PacketCopies, FramesInAnotherOrderAreShownWhenTheyShallBe) {
  const RigPage page = RigPage::create(1);
  std::unique_ptr<PacketRingReader> reader;
  PacketCopies copies({{.output = OutputId(0)}}, {}, false, page,
                      {.on_video =
                           [&](OutputId, std::uint64_t, const PacketRingMemory& ring, const StreamParameters&) {
                             reader = std::make_unique<PacketRingReader>(PacketRingMemory::open(duplicate(ring.fd())));
                           },
                       .on_audio = {},
                       .interrupted = [] { return false; }});
  const Parameters video = parameters_of(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264);
  const SourceStream stream = stream_of(*video);
  copies.begin(stream);
  struct Times {
    std::int64_t pts = 0;
    std::int64_t dts = 0;
  };
  const std::vector<Times> given{{0, 0}, {160, 0}, {80, 0}, {40, 0}, {120, 40}, {320, 80}};
  const AvPacket packet = make_av_packet();
  for (const Times& times : given) {
    av_check(av_new_packet(packet.get(), 100), "a packet");
    packet->flags = times.pts == 0 ? AV_PKT_FLAG_KEY : 0;
    packet->pts = times.pts;
    packet->dts = times.dts;
    copies.video(*packet, SourceClock(true), {});
    av_packet_unref(packet.get());
  }
  std::int64_t before = -1;
  for (const Times& times : given) {
    PacketView found;
    std::uint64_t number = 0;
    ASSERT_EQ(reader->next(found, number, Clock::now()), PacketRingReader::Next::packet);
    EXPECT_EQ(found.times.pts, times.pts * 1'000'000);
    EXPECT_GT(found.dts, before);
    EXPECT_LE(found.dts, found.times.pts);
    before = found.dts;
  }
}

// What an edit list hides, and what nobody could decode.
TEST(PacketCopies, WhatCannotBeShownIsLeftOutAndCounted) {
  const RigPage page = RigPage::create(1);
  PacketCopies copies({{.output = OutputId(0)}}, {}, false, page,
                      {.on_video = [](OutputId, std::uint64_t, const PacketRingMemory&, const StreamParameters&) {},
                       .on_audio = {},
                       .interrupted = [] { return false; }});
  const Parameters video = parameters_of(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264);
  const SourceStream stream = stream_of(*video);
  copies.begin(stream);
  std::int64_t decoded = 0;
  // Returns whether it is passed on.
  const auto send = [&](std::int64_t shown, int flags, bool decodable = true) {
    const AvPacket packet = make_av_packet();
    av_check(av_new_packet(packet.get(), 100), "a packet");
    packet->flags = flags;
    packet->pts = shown;
    packet->dts = decoded += 40;
    const std::uint64_t before = page.copy(OutputId(0)).latency.counts().total();
    copies.video(*packet, SourceClock(true), {}, decodable);
    return page.copy(OutputId(0)).latency.counts().total() > before;
  };
  const auto left_out = [&] { return counter(page.copy(OutputId(0)).unpublished, DropCause::undecodable).load(); };
  constexpr int key = AV_PKT_FLAG_KEY;
  constexpr int hidden = AV_PKT_FLAG_DISCARD;
  EXPECT_FALSE(send(40, key | hidden));
  EXPECT_FALSE(send(80, hidden));
  EXPECT_EQ(left_out(), 0U) << "it is no loss";
  EXPECT_FALSE(send(120, 0)) << "it refers to them";
  EXPECT_EQ(left_out(), 1U);
  EXPECT_TRUE(send(1000, key));
  EXPECT_FALSE(send(960, hidden)) << "shown before the key frame, behind which it comes";
  EXPECT_TRUE(send(1040, 0));
  EXPECT_FALSE(send(1080, hidden));
  EXPECT_FALSE(send(1120, 0));
  EXPECT_TRUE(send(2000, key));
  EXPECT_EQ(left_out(), 2U);
  EXPECT_FALSE(send(3000, key, false)) << "without its parameter sets";
  EXPECT_FALSE(send(3040, 0));
  EXPECT_TRUE(send(4000, key));
  EXPECT_EQ(left_out(), 4U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
