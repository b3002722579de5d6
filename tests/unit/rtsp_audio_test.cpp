// Audio beside the frames of the RTSP server, in step with them, also for readers that were slow, and for nobody who
// did not ask for it.
#include <gst/app/gstappsink.h>
#include <gst/gst.h>

#include <sstream>

#include "app/publisher/server/rtsp/gst_handles.h"
#include "core/clock.h"
#include "core/error.h"
#include "tests/unit/command_output.h"
#include "tests/unit/rtsp_player.h"
#include "tests/unit/rtsp_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class RtspAudioTest : public RtspServerTest {
 protected:
  // Once the sound has begun, with a key frame.
  void serve_speaking(const AudioParameters& audio = sound_parameters()) {
    dock().speak(audio);
    const auto speaks = [&] {
      const auto group = dock().stream()->newest_group();
      return !group.empty() && group[0].header->audio.has_value();
    };
    ASSERT_TRUE(becomes_true(speaks));
    serve_dock();
  }
  [[nodiscard]] std::string describe() const { return RtspWire(port_).ask("DESCRIBE", "/dock").text; }
};

// With sender reports, which tell when what it got was taken.
class BothPlayer {
 public:
  struct Got {
    std::uint32_t number = 0;
    std::optional<std::int64_t> taken_utc;
  };
  BothPlayer(const std::string& url, const std::string& transport) {
    gst_init(nullptr, nullptr);
    const std::string text =
        "rtspsrc name=in location=" + url + " protocols=" + transport +
        " latency=20 add-reference-timestamp-meta=true in. ! application/x-rtp,media=video ! rtph264depay ! appsink "
        "name=picture sync=false in. ! application/x-rtp,media=audio ! rtppcmudepay ! appsink name=sound sync=false";
    GError* error = nullptr;
    pipeline_.reset(gst_parse_launch(text.c_str(), &error));
    if (error != nullptr) {
      const GErrorPtr owner(error);
      throw Error(error->message);
    }
    gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
  }
  ~BothPlayer() { gst_element_set_state(pipeline_.get(), GST_STATE_NULL); }
  BothPlayer(const BothPlayer&) = delete;
  BothPlayer& operator=(const BothPlayer&) = delete;

  // `what`: "frame" or "sound".
  std::optional<Got> next(const char* what, std::string_view mark) {
    const GObjectPtr<GstAppSink> sink(GST_APP_SINK(gst_bin_get_by_name(GST_BIN(pipeline_.get()), what)));
    GstSample* sample = gst_app_sink_try_pull_sample(
        sink.get(), static_cast<GstClockTime>(std::chrono::nanoseconds(answer_patience).count()));
    if (sample == nullptr) return std::nullopt;
    GstBuffer* buffer = gst_sample_get_buffer(sample);
    std::string data(gst_buffer_get_size(buffer), ' ');
    gst_buffer_extract(buffer, 0, data.data(), data.size());
    const Got got{number_in(data, mark).value_or(0), taken_utc_of(buffer)};
    gst_sample_unref(sample);
    return got;
  }

 private:
  GObjectPtr<GstElement> pipeline_;
};

class RtspAudioTransportTest : public RtspAudioTest, public testing::WithParamInterface<std::string> {};

TEST_P(RtspAudioTransportTest, FfmpegHearsIt) {
  serve_speaking();
  std::istringstream lines(output_of("ffprobe -v error -rtsp_transport " + GetParam() +
                                     " -read_intervals %+4 -show_entries " +
                                     "packet=codec_type,pts_time:stream=codec_name -of csv " + at_server() + " 2>&1"));
  std::vector<double> video;
  std::vector<double> audio;
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    const bool has_time = line.find("N/A") == std::string::npos;  // ffprobe may not know that of the first ones
    if (line.starts_with("packet,video,")) {
      if (has_time) video.push_back(std::stod(line.substr(13)));
    } else if (line.starts_with("packet,audio,")) {
      if (has_time) audio.push_back(std::stod(line.substr(13)));
    } else {
      rest += line + "\n";
    }
  }
  EXPECT_THAT(rest, HasSubstr("stream,h264"));
  EXPECT_THAT(rest, HasSubstr("stream,pcm_mulaw"));
  ASSERT_GT(video.size(), 60U) << rest;
  ASSERT_GT(audio.size(), 60U) << rest;
  EXPECT_NEAR(video.front(), audio.front(), 0.1);
  EXPECT_NEAR(video.back(), audio.back(), 0.2);
}

TEST_P(RtspAudioTransportTest, SenderReportsTellTheSameTimeOfBoth) {
  serve_speaking();
  BothPlayer player(at_server(), GetParam());
  for (const auto& [what, mark] : {std::pair{"picture", number_mark}, std::pair{"sound", sound_mark}}) {
    int compared = 0;
    std::uint32_t last = 0;
    while (compared < 30) {
      const auto got = player.next(what, mark);
      ASSERT_TRUE(got.has_value()) << what;
      ASSERT_GT(got->number, 0U) << what;
      EXPECT_TRUE(last == 0 || got->number == last + 1) << what << got->number;
      last = got->number;
      if (!got->taken_utc) continue;
      ++compared;
      EXPECT_NEAR(static_cast<double>(*got->taken_utc - dock().capture_utc(got->number)) / ms, 0, 1) << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, RtspAudioTransportTest, testing::Values("tcp", "udp"),
                         [](const auto& each) { return each.param; });

// Where the numbers go on behind their first gap; 0: there is none.
std::uint32_t behind_gap(const std::string& text, std::string_view mark) {
  std::uint32_t last = 0;
  for (auto at = text.find(mark); at != std::string::npos && at + mark.size() + 8 <= text.size();
       at = text.find(mark, at + 1)) {
    const auto number = number_in(std::string_view(text).substr(at), mark).value_or(0);
    if (last > 0 && number > last + 1) return number;
    last = number;
  }
  return 0;
}

TEST_F(RtspAudioTest, ASlowReaderLosesBothAndGoesOnWithBoth) {
  dock().pad(40'000);
  serve_speaking();
  RtspWire slow(port_, 256 << 10);
  ASSERT_EQ(slow.play("/dock", "", 2), 200);
  const auto is_cut = [&] {
    const auto viewers = server_->viewers();  // none for a moment, as PLAY is answered before
    return !viewers.empty() && viewers[0]["dropped"] > 0;
  };
  ASSERT_TRUE(becomes_true(is_cut));
  std::string text;
  const auto deadline = Clock::now() + answer_patience;
  while ((behind_gap(text, number_mark) == 0 || behind_gap(text, sound_mark) == 0) && Clock::now() < deadline) {
    ASSERT_GE(slow.receive(Clock::now() + 1s), 0);
    text += slow.received();
  }
  ASSERT_GT(behind_gap(text, number_mark), 0U);
  EXPECT_NEAR(behind_gap(text, number_mark), behind_gap(text, sound_mark), 1);
}

TEST_F(RtspAudioTest, WhoWantsPicturesOnlyGetsThemOnly) {
  serve_speaking();
  RtspWire silent(port_);
  RtspWire both(port_);
  ASSERT_EQ(silent.play("/dock"), 200);
  ASSERT_EQ(both.play("/dock", "", 2), 200);
  const std::uint32_t begin = dock().newest();
  std::string seen;
  std::string heard;
  const auto deadline = Clock::now() + answer_patience;
  while (dock().newest() < begin + 150 && Clock::now() < deadline) {
    if (silent.receive(Clock::now() + 10ms) > 0) seen += silent.received();
    if (both.receive(Clock::now() + 10ms) > 0) heard += both.received();
  }
  EXPECT_THAT(seen, HasSubstr(number_mark));
  EXPECT_THAT(seen, Not(HasSubstr(sound_mark)));
  EXPECT_THAT(heard, HasSubstr(number_mark));
  EXPECT_THAT(heard, HasSubstr(sound_mark));
  for (const auto& viewer : server_->viewers()) EXPECT_EQ(viewer["dropped"], 0);
}

TEST_F(RtspAudioTest, SoMayWhoWantsSoundOnlyAndPicturesComeForTheNext) {
  serve_speaking();
  RtspWire deaf(port_);
  RtspWire blind(port_);
  const auto got = blind.ask("SETUP", "/dock/stream=1", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n");
  ASSERT_EQ(got.status, 200);
  const auto at = got.text.find("Session: ") + 9;
  const std::string session = got.text.substr(at, got.text.find_first_of(";\r", at) - at);
  ASSERT_EQ(blind.ask("PLAY", "/dock", "Session: " + session + "\r\n").status, 200);
  const auto receives = [](RtspWire& wire, std::string_view mark) {
    return becomes_true(
        [&] { return wire.receive(Clock::now() + 1s) > 0 && wire.received().find(mark) != std::string_view::npos; });
  };
  EXPECT_TRUE(receives(blind, sound_mark));
  EXPECT_EQ(blind.received().find(number_mark), std::string_view::npos);
  ASSERT_EQ(deaf.play("/dock"), 200);
  EXPECT_TRUE(receives(deaf, number_mark));
  EXPECT_TRUE(receives(blind, sound_mark));
}

TEST_F(RtspAudioTest, WhatRtspCannotCarryIsLeftOut) {
  AudioParameters audio = sound_parameters();
  audio.codec = "mp3";
  serve_speaking(audio);
  EXPECT_THAT(describe(), Not(HasSubstr("m=audio")));
  EXPECT_EQ(ffmpeg(at_server(), "tcp"), 0);
}

TEST_F(RtspAudioTest, OtherSoundEndsTheStreamAndReadersComeAgain) {
  serve_speaking();
  RtspWire wire(port_);
  ASSERT_EQ(wire.play("/dock", "", 2), 200);
  EXPECT_THAT(describe(), HasSubstr("PCMU"));
  AudioParameters other = sound_parameters();
  other.codec = "pcm_alaw";
  dock().speak(other);
  EXPECT_TRUE(wire.is_closed(Clock::now() + answer_patience));
  EXPECT_TRUE(becomes_true([&] { return describe().find("PCMA") != std::string::npos; }));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
