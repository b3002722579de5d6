// Sound beside the frames of RTSP cameras.
#include <fmt/format.h>

#include <algorithm>

#include "tests/unit/rtsp_frames.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;

struct SoundTrack {
  std::string encoder;
  int rate;
  std::string media;
};

class RtspSound : public RtspFrames, public testing::WithParamInterface<SoundTrack> {
 protected:
  // AAC: two frames in a packet (RFC 3640); AC-3: one (RFC 4184).
  [[nodiscard]] std::string packed(const std::vector<std::string>& frames) const {
    if (GetParam().encoder == "ac3") return std::string{0, 1} + frames.front();
    std::string heads{0, static_cast<char>(16 * frames.size())};
    std::string all;
    for (const std::string& frame : frames) {
      heads += std::string{static_cast<char>(frame.size() >> 5), static_cast<char>(frame.size() << 3 & 0xff)};
      all += frame;
    }
    return heads + all;
  }
};

TEST_P(RtspSound, GoesOnBesideThem) {
  make_units();
  const SoundTrack& track = GetParam();
  const CodedSound sound = coded_sound(track.encoder, track.rate, 2 * static_cast<int>(units_.size()));
  std::string media = track.media;
  if (const auto at = media.find("CONFIG"); at != std::string::npos) {
    std::string config;
    for (const char byte : sound.config) config += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    media.replace(at, 6, config);
  }
  const std::size_t in_one = track.encoder == "aac" ? 2 : 1;
  const RtpCamera camera({video_media("H264"), media}, [&](RtpLine& line) {
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const auto time = static_cast<std::uint32_t>(i * in_one * static_cast<std::size_t>(sound.samples));
      if (i == 0 && (!line.report(0, utc_of(0), time_of(0)) || !line.report(1, utc_of(0), time))) return;
      const auto first = sound.frames.begin() + static_cast<std::ptrdiff_t>(i * in_one);
      line.packet(1, packed({first, first + static_cast<std::ptrdiff_t>(in_one)}), time, true);
      if (!send_unit(line, i)) return;
      wait_until_read(line, i);
    }
    line.wait_for_end();
  });
  read_from(camera, units_.size());
  expect_all();
  EXPECT_FALSE(held_);
  // Sound begins with the first frame.
  ASSERT_GE(sounds_.size(), in_one * (units_.size() - 4));
  const auto first = std::ranges::find(sound.frames, sounds_[0].data);
  for (std::size_t i = 0; i < sounds_.size(); ++i) {
    ASSERT_LT(i, static_cast<std::size_t>(sound.frames.end() - first));
    EXPECT_TRUE(sounds_[i].data == *(first + static_cast<std::ptrdiff_t>(i))) << i;
    EXPECT_EQ(sounds_[i].pts, sounds_[0].pts + static_cast<std::int64_t>(i) * sound.samples) << i;
    EXPECT_EQ(sounds_[i].duration, sound.samples) << i;
  }
}

// Told apart by their SSRC alone, those of the sound are none of the video.
class RtspReports : public RtspFrames {
 protected:
  void read_with_reports_through(std::size_t through) {
    stream_.coding.count = 60;
    make_units();
    constexpr std::int64_t other_clock = 3'600'000'000;  // us
    const RtpCamera camera({video_media("H264"), "m=audio 0 RTP/AVP 0\r\n"}, [&](RtpLine& line) {
      for (std::size_t i = 0; i < units_.size(); ++i) {
        const auto time = static_cast<std::uint32_t>(i * 320);
        if (i % 20 == 0) {
          line.report(0, utc_of(i), time_of(i), through);
          line.report(1, utc_of(i) - other_clock, 77'000 + time, through);
        }
        line.packet(1, std::string(320, '\xff'), 77'000 + time, false);
        if (!send_unit(line, i)) return;
        wait_until_read(line, i);
      }
      line.wait_for_end();
    });
    read_from(camera, units_.size());
  }
};

TEST_F(RtspReports, OfBothTracksOnTheVideosChannel) {
  read_with_reports_through(0);
  expect_units();
  expect_capture_times();
  expect_decoding_times();
}

TEST_F(RtspReports, OfBothTracksOnTheSoundsChannel) {
  stream_.report_at = 25;  // once packets have come
  read_with_reports_through(1);
  expect_units();
  expect_capture_times();
}

TEST_F(RtspReports, OfBothTracksByUdp) {
  if (!udp_is_closed) GTEST_SKIP() << "ThreadSanitizer ends the program where UDP is closed";
  stream_.transport = RtspTransport::udp;
  stream_.report_at = 25;
  read_with_reports_through(0);
  expect_units();
  expect_capture_times();
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, RtspSound,
    testing::Values(SoundTrack{"aac", 16'000,
                               "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/16000/1\r\na=fmtp:97 "
                               "streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;"
                               "indexdeltalength=3;config=CONFIG\r\n"},
                    SoundTrack{"ac3", 48'000, "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 ac3/48000/1\r\n"}),
    [](const auto& track) { return track.param.encoder; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe
