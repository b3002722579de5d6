// What RTP packets say of when their frames were taken: RFC 6051's header extension, as a reader's packets have it.
#include <gst/app/gstappsink.h>
#include <gst/gst.h>

#include <map>

#include "app/publisher/server/rtsp/gst_handles.h"
#include "core/big_endian.h"
#include "tests/unit/rtsp_player.h"
#include "tests/unit/rtsp_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using testing::Not;

constexpr const char* described = "urn:ietf:params:rtp-hdrext:ntp-64";

// All packets of a frame, or of a frame of audio, of one RTP time.
struct Unit {
  std::optional<std::int64_t> taken_utc;
  int said = 0;  // times
  std::string data;
};

// What the extension with the number 1 says; RFC 8285, with headers of one byte.
std::optional<std::int64_t> taken_in(const std::vector<std::uint8_t>& packet) {
  const bool has_extension = (packet.at(0) & 0x10) != 0;
  std::size_t at = 12 + std::size_t{packet[0] & 0x0fU} * 4;
  if (!has_extension || get_big_endian(&packet.at(at), 2) != 0xbede) return std::nullopt;
  at += 4;
  if (packet.at(at) != 0x17) return std::nullopt;  // 1, and 8 bytes
  const std::uint64_t ntp = get_big_endian(&packet.at(at + 1), 8);
  const auto fraction = static_cast<long double>(ntp & 0xffffffffU) * 1e9L / 4'294'967'296.0L;
  return (static_cast<std::int64_t>(ntp >> 32U) - 2'208'988'800) * 1'000'000'000 + std::llround(fraction);
}

// RTP packets as they come.
class PacketReader {
 public:
  PacketReader(const std::string& url, const std::string& media) {
    gst_init(nullptr, nullptr);
    const std::string text = "rtspsrc location=" + url +
                             " protocols=tcp latency=20 ! application/x-rtp,media=" + media +
                             " ! appsink name=sink sync=false";
    GError* error = nullptr;
    pipeline_.reset(gst_parse_launch(text.c_str(), &error));
    if (error != nullptr) {
      const GErrorPtr owner(error);
      throw Error(error->message);
    }
    sink_.reset(GST_APP_SINK(gst_bin_get_by_name(GST_BIN(pipeline_.get()), "sink")));
    gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
  }
  ~PacketReader() { gst_element_set_state(pipeline_.get(), GST_STATE_NULL); }
  PacketReader(const PacketReader&) = delete;
  PacketReader& operator=(const PacketReader&) = delete;

  // Until there are so many, by their RTP times; the last one may not be whole.
  std::map<std::uint64_t, Unit> units(std::size_t count) {
    std::map<std::uint64_t, Unit> found;
    const auto wait = static_cast<GstClockTime>(std::chrono::nanoseconds(answer_patience).count());
    while (found.size() < count) {
      GstSample* sample = gst_app_sink_try_pull_sample(sink_.get(), wait);
      if (sample == nullptr) break;
      GstBuffer* buffer = gst_sample_get_buffer(sample);
      std::vector<std::uint8_t> packet(gst_buffer_get_size(buffer));
      gst_buffer_extract(buffer, 0, packet.data(), packet.size());
      gst_sample_unref(sample);
      Unit& unit = found[get_big_endian(&packet.at(4), 4)];
      unit.data.append(packet.begin(), packet.end());
      if (const auto taken = taken_in(packet)) {
        unit.taken_utc = taken;
        ++unit.said;
      }
    }
    return found;
  }

 private:
  GObjectPtr<GstElement> pipeline_;
  GObjectPtr<GstAppSink> sink_;
};

class RtspTimestamps64 : public RtspServerTest {
 protected:
  void serve_with(RtspTimestamps timestamps) {
    config_.rtsp_timestamps = timestamps;
    dock().pad(3000);  // several packets a frame
    dock().speak();
    ASSERT_TRUE(becomes_true([&] {
      const auto group = dock().stream()->newest_group();
      return !group.empty() && group[0].header->audio.has_value();
    }));
    serve_dock();
  }
  [[nodiscard]] std::string describe() const { return RtspWire(port_).ask("DESCRIBE", "/dock").text; }

  void expect_said(const std::map<std::uint64_t, Unit>& units, std::string_view mark) const {
    std::size_t compared = 0;
    for (const auto& [time, unit] : units) {
      const auto number = number_in(unit.data, mark);
      if (!number || !unit.taken_utc) continue;
      ++compared;
      EXPECT_EQ(unit.said, 1) << "in its first packet";
      EXPECT_NEAR(static_cast<double>(*unit.taken_utc - dock_->capture_utc(*number)), 0, 1000) << *number;
    }
    EXPECT_GE(compared + 3, units.size());  // the first and the last one may not be whole
  }
};

TEST_F(RtspTimestamps64, SayWhenEachFrameWasTaken) {
  serve_with(RtspTimestamps::ntp64);
  EXPECT_THAT(describe(), HasSubstr(std::string("a=extmap:1 ") + described));
  expect_said(PacketReader(at_server(), "video").units(60), number_mark);
}

TEST_F(RtspTimestamps64, SayItOfAudioToo) {
  serve_with(RtspTimestamps::ntp64);
  expect_said(PacketReader(at_server(), "audio").units(60), sound_mark);
}

TEST_F(RtspTimestamps64, AreThereWhereTheyAreAskedFor) {
  serve_with(RtspTimestamps::off);
  EXPECT_THAT(describe(), Not(HasSubstr("extmap")));
  for (const auto& [time, unit] : PacketReader(at_server(), "video").units(20)) EXPECT_EQ(unit.said, 0);
  EXPECT_EQ(ffmpeg(at_server(), "tcp"), 0);
}

// Who does not know the extension reads the stream as before.
TEST_F(RtspTimestamps64, AreNoTroubleForFfmpeg) {
  serve_with(RtspTimestamps::ntp64);
  EXPECT_EQ(ffmpeg(at_server(), "tcp"), 0);
  EXPECT_EQ(ffmpeg(at_server(), "udp"), 0);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
