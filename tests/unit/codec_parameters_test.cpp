#include "stages/sinks/codec_parameters.h"

#include <gtest/gtest.h>

namespace campipe::test {
namespace CAMPIPE_FILE {

TEST(CodecParameters, HaveNoColoursThatLibavDoesNotHave) {
  StreamParameters stream;
  stream.codec = "h264";
  FrameFormat& format = stream.format;
  format.color_range = format.color_space = format.color_primaries = format.color_transfer = format.chroma_location =
      255;
  const AvCodecParameters codec(avcodec_parameters_alloc());
  set_codec_parameters(*codec, stream);
  EXPECT_EQ(codec->color_range, AVCOL_RANGE_UNSPECIFIED);
  EXPECT_EQ(codec->color_space, AVCOL_SPC_UNSPECIFIED);
  EXPECT_EQ(codec->color_primaries, AVCOL_PRI_UNSPECIFIED);
  EXPECT_EQ(codec->color_trc, AVCOL_TRC_UNSPECIFIED);
  EXPECT_EQ(codec->chroma_location, AVCHROMA_LOC_UNSPECIFIED);
}

TEST(CodecParameters, KeepColoursThatLibavHas) {
  StreamParameters stream;
  stream.codec = "h264";
  stream.format.color_range = AVCOL_RANGE_JPEG;
  stream.format.color_space = AVCOL_SPC_BT709;
  stream.format.color_primaries = AVCOL_PRI_EBU3213;
  stream.format.color_transfer = AVCOL_TRC_ARIB_STD_B67;
  stream.format.chroma_location = AVCHROMA_LOC_BOTTOM;
  const AvCodecParameters codec(avcodec_parameters_alloc());
  set_codec_parameters(*codec, stream);
  EXPECT_EQ(codec->color_range, AVCOL_RANGE_JPEG);
  EXPECT_EQ(codec->color_space, AVCOL_SPC_BT709);
  EXPECT_EQ(codec->color_primaries, AVCOL_PRI_EBU3213);
  EXPECT_EQ(codec->color_trc, AVCOL_TRC_ARIB_STD_B67);
  EXPECT_EQ(codec->chroma_location, AVCHROMA_LOC_BOTTOM);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
