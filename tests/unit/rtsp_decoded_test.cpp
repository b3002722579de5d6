// What clients decode of each codec that RTSP serves: every picture is compared with the one that was encoded.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/unit/moving_picture.h"
#include "tests/unit/rtsp_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr int clip_frames = 50;
constexpr std::size_t wanted = 30;
constexpr double garbage = 8;  // mean difference of luma from the nearest number

struct Served {
  const char* codec;
  const char* client;
};
void PrintTo(const Served& served, std::ostream* out) { *out << served.codec << " read by " << served.client; }

class DecodedOf : public RtspServerTest, public testing::WithParamInterface<Served> {
 protected:
  [[nodiscard]] std::vector<std::string> client(const std::string& source, const std::string& file) const {
    if (GetParam().client == std::string("FFmpeg")) {
      return {"ffmpeg",
              "-nostdin",
              "-loglevel",
              "fatal",
              "-rtsp_transport",
              "tcp",
              "-timeout",
              "20000000",
              "-i",
              source,
              "-frames:v",
              std::to_string(wanted),
              "-fps_mode",
              "passthrough",
              "-vf",
              "extractplanes=y",
              "-f",
              "rawvideo",
              file};
    }
    const std::string decoded = std::string(GetParam().codec) == "mjpeg"  ? "rtpjpegdepay ! jpegdec"
                                : std::string(GetParam().codec) == "hevc" ? "rtph265depay ! h265parse ! libde265dec"
                                                                          : "rtph264depay ! h264parse ! openh264dec";
    // Planes of luma come first in each buffer.
    return {"sh", "-c",
            "exec gst-launch-1.0 -q rtspsrc location=" + source + " protocols=tcp latency=0 ! " + decoded +
                " ! video/x-raw,format=I420 ! identity eos-after=" + std::to_string(wanted + 1) +
                " ! filesink location=" + file};
  }

  // The numbers of the pictures in a file of planes; -1 for what is none of them.
  [[nodiscard]] std::vector<int> numbers_in(const std::string& pixels) const {
    const FrameFormat format = clip_format();
    const auto luma = static_cast<std::size_t>(format.width) * static_cast<std::size_t>(format.height);
    const std::size_t picture = GetParam().client == std::string("FFmpeg") ? luma : luma * 3 / 2;
    std::vector<int> numbers;
    for (std::size_t at = 0; at + picture <= pixels.size(); at += picture) {
      const auto* plane = reinterpret_cast<const std::uint8_t*>(pixels.data() + at);
      const auto differs = [&](int number) {
        return difference(plane, format.width, format.width, format.height, number);
      };
      int best = 0;
      for (int number = 1; number < clip_frames; ++number) best = differs(number) < differs(best) ? number : best;
      numbers.push_back(differs(best) < garbage ? best : -1);
    }
    return numbers;
  }
};

TEST_P(DecodedOf, EachPictureIsTheOneThatWasEncoded) {
  EncoderConfig config;
  config.codec = GetParam().codec;
  config.gop = 10;
  config.latency = Latency::low;
  FrameFormat format = clip_format();
  if (config.codec == "mjpeg") format.color_range = AVCOL_RANGE_JPEG;  // as it is in JPEG, so that nothing is converted
  LiveCamera camera(encode(config, steady(clip_frames), 0, format), false);
  add("cam", camera);
  serve();
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "pixels").string();
  ASSERT_TRUE(becomes_true([&] { return Program(client(at_server("/cam"), file)).wait() == 0; }));
  std::ifstream pixels(file, std::ios::binary);
  const std::vector<int> numbers = numbers_in(std::string(std::istreambuf_iterator<char>(pixels), {}));
  ASSERT_GE(numbers.size(), wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    ASSERT_NE(numbers[i], -1) << i;
    if (i > 0) {
      EXPECT_EQ(numbers[i], (numbers[i - 1] + 1) % clip_frames) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Clients, DecodedOf,
                         testing::Values(Served{"h264", "FFmpeg"}, Served{"hevc", "FFmpeg"}, Served{"mjpeg", "FFmpeg"},
                                         Served{"h264", "GStreamer"}, Served{"hevc", "GStreamer"},
                                         Served{"mjpeg", "GStreamer"}),
                         [](const auto& each) { return std::string(each.param.codec) + each.param.client; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
