// Where a file may begin again without its decoder being emptied.
#include "stages/decoders/clean_start.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "stages/sources/source.h"
#include "stages/sources/source_config.h"
#include "tests/integration/clips.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

class CleanStart : public testing::Test {
 protected:
  CleanStart() : codec_(avcodec_parameters_alloc()), packet_(make_av_packet()) {}
  ~CleanStart() override { avcodec_parameters_free(&codec_); }
  CleanStart(const CleanStart&) = delete;
  CleanStart& operator=(const CleanStart&) = delete;

  bool is_clean(AVCodecID codec, std::vector<std::uint8_t> packet, const std::vector<std::uint8_t>& extradata = {}) {
    codec_->codec_id = codec;
    av_freep(&codec_->extradata);
    codec_->extradata_size = static_cast<int>(extradata.size());
    if (!extradata.empty()) {
      codec_->extradata = static_cast<std::uint8_t*>(av_mallocz(extradata.size() + AV_INPUT_BUFFER_PADDING_SIZE));
      std::ranges::copy(extradata, codec_->extradata);
    }
    packet_->data = packet.data();
    packet_->size = static_cast<int>(packet.size());
    const bool clean = is_clean_start(*codec_, *packet_);
    packet_->data = nullptr;
    packet_->size = 0;
    return clean;
  }

 private:
  AVCodecParameters* codec_;
  AvPacket packet_;
};

const std::vector<std::uint8_t> lengths_of_four_h264{1, 66, 0, 30, 0xff, 0xe1};

std::vector<std::uint8_t> lengths_of_four_hevc() {
  std::vector<std::uint8_t> header(23, 0);
  header[0] = 1;
  header[21] = 0x0f;
  return header;
}

TEST_F(CleanStart, IsAnIdrPictureOfH264) {
  EXPECT_TRUE(is_clean(AV_CODEC_ID_H264, {0, 0, 0, 1, 0x67, 9, 0, 0, 1, 0x68, 9, 0, 0, 1, 0x65, 9}));
  EXPECT_FALSE(is_clean(AV_CODEC_ID_H264, {0, 0, 0, 1, 0x67, 9, 0, 0, 1, 0x41, 9, 0, 0, 1, 0x65, 9}));
  EXPECT_TRUE(is_clean(AV_CODEC_ID_H264, {0, 0, 0, 2, 0x06, 9, 0, 0, 0, 2, 0x65, 9}, lengths_of_four_h264));
  EXPECT_FALSE(is_clean(AV_CODEC_ID_H264, {0, 0, 0, 2, 0x06, 9, 0, 0, 0, 2, 0x61, 9}, lengths_of_four_h264));
}

TEST_F(CleanStart, IsAnIdrPictureOfHevcAndNoOtherKeyFrame) {
  for (unsigned type = 0; type < 32; ++type) {
    const std::vector<std::uint8_t> unit{0, 0, 1, static_cast<std::uint8_t>(type << 1U), 1, 9};
    EXPECT_EQ(is_clean(AV_CODEC_ID_HEVC, unit), type == 19 || type == 20) << type;
    const std::vector<std::uint8_t> behind_length{0, 0, 0, 3, static_cast<std::uint8_t>(type << 1U), 1, 9};
    EXPECT_EQ(is_clean(AV_CODEC_ID_HEVC, behind_length, lengths_of_four_hevc()), type == 19 || type == 20) << type;
  }
}

TEST_F(CleanStart, IsNothingThatIsNotUnderstood) {
  EXPECT_FALSE(is_clean(AV_CODEC_ID_H264, {}));
  EXPECT_FALSE(is_clean(AV_CODEC_ID_H264, {0, 0, 1}));
  EXPECT_FALSE(is_clean(AV_CODEC_ID_H264, {0xff, 0xff, 0xff, 0xff, 0x65, 9}, lengths_of_four_h264));
  EXPECT_FALSE(is_clean(AV_CODEC_ID_H264, {0, 0, 0, 0, 0, 0, 0, 2, 0x65, 9}, lengths_of_four_h264));
  EXPECT_FALSE(is_clean(AV_CODEC_ID_MPEG2VIDEO, {0, 0, 1, 0xb3}));
}

TEST_F(CleanStart, IsTheFirstPacketOfWhatEncodersMake) {
  const test::TemporaryFolder folder;
  for (const test::ClipSpec& spec : {test::ClipSpec{.name = "a.mp4", .b_frames = 2},
                                     {.name = "a.ts"},
                                     {.name = "h.mp4", .encoder = "libx265"},
                                     {.name = "h.ts", .encoder = "libx265"},
                                     {.name = "v.webm", .encoder = "libvpx-vp9"}}) {
    if (!test::can_encode(spec.encoder)) continue;
    test::make_clip(folder.path(), spec);
    const auto source =
        open_source({.url = (folder.path() / spec.name).string(), .pace = Pace::fast}, [] { return false; });
    const AvPacket packet = make_av_packet();
    ASSERT_EQ(source->read(*packet), ReadResult::packet);
    EXPECT_TRUE(is_clean_start(*source->stream().codec, *packet)) << spec.name << " by " << spec.encoder;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
