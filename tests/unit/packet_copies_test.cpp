// A camera's packets on their way to the publisher as they came.
#include "app/packet_copies.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/error.h"

namespace campipe {
namespace {

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
  std::map<unsigned, int> rings;
  bool fails = true;
  PacketCopies copies({{.camera = 0}, {.camera = 1}}, {}, false, page,
                      {.on_video =
                           [&](unsigned camera, std::uint64_t epoch, const PacketRingMemory&, const StreamParameters&) {
                             if (camera == 1 && fails) throw Error("no descriptors");
                             EXPECT_EQ(epoch, 1U) << camera;
                             ++rings[camera];
                           },
                       .on_audio = {},
                       .interrupted = [] { return false; }});
  const std::unique_ptr<AVCodecParameters, void (*)(AVCodecParameters*)> video(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  video->codec_id = AV_CODEC_ID_H264;
  const SourceStream stream = stream_of(*video);
  EXPECT_THROW(copies.begin(stream), Error);
  fails = false;
  copies.begin(stream);
  EXPECT_EQ(rings, (std::map<unsigned, int>{{0, 1}, {1, 1}}));
  const AvPacket packet = make_av_packet();
  av_check(av_new_packet(packet.get(), 100), "a packet");
  packet->flags = AV_PKT_FLAG_KEY;
  packet->pts = packet->dts = 0;
  copies.video(*packet, SourceClock(true), {});
  for (const unsigned camera : {0U, 1U}) {
    EXPECT_EQ(counter(page.master(camera).unpublished, DropCause::publisher_slow), 0U) << camera;
    EXPECT_EQ(page.master(camera).latency.counts().total(), 1U) << camera;
  }
}

}  // namespace
}  // namespace campipe
