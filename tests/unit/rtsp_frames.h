// Frames that an RTSP camera sends and those that come out of the source: what a test compares.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/libav_log.h"
#include "tests/unit/coded_units.h"
#include "tests/unit/live_test_support.h"
#include "tests/unit/rtp_camera.h"

namespace campipe::test {

inline constexpr std::uint32_t clock_rate = 90'000;
inline constexpr std::size_t analyzed = 28;  // units that are sent as fast as they can be: to learn what it is

enum class Markers : std::uint8_t { last, none, each_slice, each_nal };

struct Stream {
  Coding coding = {};
  std::uint32_t rate = 25;
  RtspTransport transport = RtspTransport::tcp;
  Markers markers = Markers::last;
  std::uint32_t wraps_after = 30;  // frames: RTP's time begins anew
  std::uint32_t late_by = 4140;    // the second unit: an uneven start
  std::size_t report_at = 0;       // the unit before which the sender report comes
  bool aggregates = false;         // what stands before the slices goes into one packet
};

struct Taken {
  std::string data;
  std::int64_t pts = 0;
  std::int64_t dts = 0;
  std::int64_t duration = 0;
  bool key = false;
  std::optional<std::int64_t> capture;  // ns
};

class RtspFrames : public testing::Test {
 protected:
  static void SetUpTestSuite() { install_libav_log(); }

  void make_units() { units_ = coded_units(stream_.coding); }

  [[nodiscard]] std::uint32_t first_time() const { return 0U - stream_.wraps_after * (clock_rate / stream_.rate); }

  [[nodiscard]] std::uint32_t time_of(std::size_t unit) const {
    const auto number = static_cast<std::uint32_t>(units_[unit].number);
    return first_time() + number * (clock_rate / stream_.rate) + (unit == 0 ? 0 : stream_.late_by);
  }

  // By the sender report; us.
  [[nodiscard]] std::int64_t utc_of(std::size_t unit) const {
    const auto passed = static_cast<std::int32_t>(time_of(unit) - first_time());
    return begun_ + std::int64_t{passed} * 1'000'000 / clock_rate;
  }

  // UDP's are few, so that none is lost while the stream is analyzed.
  [[nodiscard]] std::vector<std::string> payloads_of(std::size_t unit) const {
    const std::size_t size = stream_.transport == RtspTransport::udp ? 1200 : 300;
    std::string rest = units_[unit].data;
    std::vector<std::string> before;
    if (stream_.aggregates && units_[unit].key) {
      rest.clear();
      for (const std::string& nal : nal_units(units_[unit].data)) {
        const int type = nal[0] & 0x1f;
        if (type == 7 || type == 8) {
          before.push_back(nal);
        } else {
          rest += std::string("\0\0\0\1", 4) + nal;
        }
      }
    }
    std::vector<std::string> payloads = rtp_payloads(stream_.coding.encoder, rest, size);
    if (!before.empty()) payloads.insert(payloads.begin(), aggregated(before));
    return payloads;
  }

  bool send_unit(RtpLine& line, std::size_t unit) const {
    const std::vector<std::string> payloads = payloads_of(unit);
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      if (!line.packet(0, payloads[i], time_of(unit), is_marked(payloads, i))) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_marked(const std::vector<std::string>& payloads, std::size_t i) const {
    const bool last = i + 1 == payloads.size();
    if (stream_.markers == Markers::none) return false;
    if (stream_.markers == Markers::last || last) return last;
    const int type = payloads[i][0] & 0x1f;
    const bool ends_nal = type != 28 || (payloads[i][1] & 0x40) != 0;
    return ends_nal && (stream_.markers == Markers::each_nal || type == 28 || type == 1 || type == 5);
  }

  // All units, each once the one before has been read, but for those of the analysis.
  void play(RtpLine& line) {
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (i == stream_.report_at && !line.report(0, utc_of(i), time_of(i))) return;
      if (!send_unit(line, i)) return;
      wait_until_read(line, i);
    }
    line.wait_for_end();
  }

  void wait_until_read(const RtpLine& line, std::size_t unit) {
    if (unit < analyzed || held_) return;
    held_ = !line.wait_for([&] { return read_ + (waits_for_next() ? 1 : 0) > unit; });
  }

  SourceConfig config_of(const RtpCamera& camera) const {
    SourceConfig config = source_of(camera.url());
    config.rtsp_transport = stream_.transport;
    return config;
  }

  // Until `count` units have come.
  void read_from(const RtpCamera& camera, std::size_t count) { read_from(config_of(camera), count); }
  void read_from(const SourceConfig& config, std::size_t count) {
    const auto source = open_source(config, never);
    time_base_ = source->stream().time_base;
    start_ = source->stream().start;
    const AvPacket packet = make_av_packet();
    while (taken_.size() < count) {
      const ReadResult result = source->read(*packet);
      ASSERT_TRUE(result == ReadResult::packet || result == ReadResult::audio);
      (result == ReadResult::packet ? taken_ : sounds_)
          .push_back({std::string(packet->data, packet->data + packet->size), packet->pts, packet->dts,
                      packet->duration, (packet->flags & AV_PKT_FLAG_KEY) != 0, capture_time(*packet)});
      read_ = taken_.size();
      av_packet_unref(packet.get());
    }
  }

  void read_all() {
    make_units();
    const RtpCamera camera({video_media(rtp_name(stream_.coding.encoder))}, [this](RtpLine& line) { play(line); });
    read_from(camera, units_.size() - (waits_for_next() ? 1 : 0));
  }

  [[nodiscard]] bool waits_for_next() const {
    return stream_.markers == Markers::none || stream_.markers == Markers::each_slice;
  }

  // HEVC's parser, in the analysis, leaves the first zero of a start code to the unit before. RTP has no headers of
  // JPEG.
  [[nodiscard]] bool is_same(const std::string& taken, const std::string& sent) const {
    if (stream_.coding.encoder == "mjpeg") return taken.find(jpeg_scan(sent)) != std::string::npos;
    return stream_.coding.encoder == "libx265" ? nal_units(taken) == nal_units(sent) : taken == sent;
  }

  void expect_units() const {
    ASSERT_GE(taken_.size() + 1, units_.size());
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      EXPECT_TRUE(is_same(taken_[i].data, units_[i].data)) << i;
      EXPECT_EQ(taken_[i].key, units_[i].key) << i;
    }
  }

  void expect_units_but_for_the_order_of_sets() const {
    ASSERT_EQ(taken_.size(), units_.size());
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      const std::vector<std::string> taken = nal_units(taken_[i].data);
      const std::vector<std::string> sent = nal_units(units_[i].data);
      EXPECT_EQ(std::multiset<std::string>(taken.begin(), taken.end()),
                std::multiset<std::string>(sent.begin(), sent.end()))
          << i;
    }
  }

  // Of the presentation: as the camera says, from the first on.
  void expect_times() const {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      const auto passed = static_cast<std::int32_t>(time_of(i) - time_of(0));
      EXPECT_EQ(taken_[i].pts - taken_[0].pts, passed) << i;
    }
    EXPECT_EQ(taken_[0].pts, start_);
  }

  void expect_capture_times() const {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (i < stream_.report_at && !taken_[i].capture) continue;
      ASSERT_TRUE(taken_[i].capture.has_value()) << i;
      EXPECT_NEAR(static_cast<double>(*taken_[i].capture - utc_of(i) * 1000), 0, 3000) << i;
    }
    EXPECT_TRUE(taken_.back().capture.has_value());
  }

  void expect_decoding_times() const {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (taken_[i].dts == AV_NOPTS_VALUE) continue;
      EXPECT_LE(taken_[i].dts, taken_[i].pts) << i;
      if (i > 0 && taken_[i - 1].dts != AV_NOPTS_VALUE) {
        EXPECT_GT(taken_[i].dts, taken_[i - 1].dts) << i;
      }
    }
    EXPECT_NE(taken_.back().dts, AV_NOPTS_VALUE);
  }

  void expect_all() const {
    expect_units();
    expect_times();
    expect_capture_times();
    expect_decoding_times();
  }

  Stream stream_;
  std::int64_t begun_ = utc_now_ns() / 1000;
  std::vector<CodedUnit> units_;
  std::vector<Taken> taken_;
  std::vector<Taken> sounds_;
  AVRational time_base_{1, 1};
  std::int64_t start_ = 0;
  std::atomic<std::size_t> read_{0};
  std::atomic<bool> held_{false};
};

}  // namespace campipe::test
