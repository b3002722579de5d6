// Frames of RTSP cameras as they come out of the source: each with when it was taken, and before the next one was sent.
#include "tests/paths.h"
#include "tests/unit/rtsp_frames.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;

struct Camera {
  std::string name;
  std::string encoder;
  RtspTransport transport = RtspTransport::tcp;
  std::uint32_t rate = 25;
  int b_frames = 0;
};

class RtspCameras : public RtspFrames, public testing::WithParamInterface<Camera> {};

TEST_P(RtspCameras, EachIsReadBeforeTheNextIsSent) {
  if (GetParam().transport == RtspTransport::udp && !udp_is_closed)
    GTEST_SKIP() << "ThreadSanitizer ends the program where UDP is closed";
  stream_.coding.encoder = GetParam().encoder;
  stream_.coding.b_frames = GetParam().b_frames;
  stream_.transport = GetParam().transport;
  stream_.rate = GetParam().rate;
  read_all();
  expect_all();
  EXPECT_FALSE(held_);
}

INSTANTIATE_TEST_SUITE_P(
    All, RtspCameras,
    testing::Values(Camera{"H264Tcp", "libx264"}, Camera{"H264Tcp5", "libx264", RtspTransport::tcp, 5},
                    Camera{"H264Tcp60", "libx264", RtspTransport::tcp, 60},
                    Camera{"H264TcpBFrames", "libx264", RtspTransport::tcp, 25, 2},
                    Camera{"H264Udp", "libx264", RtspTransport::udp},
                    Camera{"H264Udp5BFrames", "libx264", RtspTransport::udp, 5, 2}, Camera{"HevcTcp", "libx265"},
                    Camera{"HevcTcp5BFrames", "libx265", RtspTransport::tcp, 5, 3},
                    Camera{"HevcUdp60", "libx265", RtspTransport::udp, 60}, Camera{"Mpeg4Tcp", "mpeg4"},
                    Camera{"Mpeg4TcpBFrames", "mpeg4", RtspTransport::tcp, 25, 1},
                    Camera{"Mpeg4Udp5", "mpeg4", RtspTransport::udp, 5}, Camera{"MjpegTcp", "mjpeg"},
                    Camera{"MjpegUdp5", "mjpeg", RtspTransport::udp, 5}),
    [](const auto& camera) { return camera.param.name; });

// RTP's headers have room for 2040 pixels a side.
class LargeJpeg : public RtspFrames {
 protected:
  LargeJpeg() { stream_.coding = {.encoder = "mjpeg", .count = 40, .width = 2064, .height = 128}; }
  // As GStreamer has it, where one side is too long.
  static std::vector<std::string> without_size(std::vector<std::string> payloads) {
    for (std::string& payload : payloads) payload[6] = payload[7] = 0;
    return payloads;
  }
  // `format`: of the description.
  void read_described(const std::string& format, bool with_rest) {
    make_units();
    const RtpCamera camera({video_media("JPEG") + format}, [this, with_rest](RtpLine& line) {
      for (std::size_t i = 0; i < units_.size(); ++i) {
        const auto payloads = rtp_payloads("mjpeg", units_[i].data, 1200);
        if (!line.frame(0, with_rest ? payloads : without_size(payloads), time_of(i))) return;
        wait_until_read(line, i);
      }
      line.wait_for_end();
    });
    read_from(camera, units_.size());
    EXPECT_FALSE(held_);
  }
  // Decoded, with all that the encoder made.
  void expect_whole() const {
    ASSERT_EQ(taken_.size(), units_.size());
    const AvCodecContext decoder(avcodec_alloc_context3(avcodec_find_decoder(AV_CODEC_ID_MJPEG)));
    av_check(avcodec_open2(decoder.get(), nullptr, nullptr), "the decoder");
    for (const Taken& taken : taken_) {
      const AvPacket packet = make_av_packet();
      av_check(av_new_packet(packet.get(), static_cast<int>(taken.data.size())), "a packet");
      std::ranges::copy(taken.data, packet->data);
      const AvFrame frame = make_av_frame();
      av_check(avcodec_send_packet(decoder.get(), packet.get()), "a frame");
      av_check(avcodec_receive_frame(decoder.get(), frame.get()), "a frame");
      EXPECT_EQ(frame->width, 2064);
      EXPECT_EQ(frame->height, 128);
      EXPECT_EQ(frame->decode_error_flags, 0);
    }
  }
};

TEST_F(LargeJpeg, HasTheSizeThatIsDescribed) {
  for (const char* format : {"a=x-dimensions:2064,128\r\n", "a=framesize:96 2064-128\r\n"}) {
    for (const bool with_rest : {false, true}) {
      SCOPED_TRACE(std::string(format) + (with_rest ? "with what is left of it" : "with none"));
      taken_.clear();
      read_ = 0;
      read_described(format, with_rest);
      expect_whole();
    }
  }
}

TEST_F(LargeJpeg, WhoseSizeNobodySaysIsRefused) {
  make_units();
  const RtpCamera camera({video_media("JPEG")}, [this](RtpLine& line) {
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (!line.frame(0, without_size(rtp_payloads("mjpeg", units_[i].data, 1200)), time_of(i))) return;
    }
    line.wait_for_end();
  });
  SourceConfig config = config_of(camera);
  config.read_timeout = std::chrono::seconds(20);
  try {
    open_source(config, never);
    FAIL() << "it is opened";
  } catch (const SourceError& error) {
    EXPECT_EQ(error.kind, SourceError::Kind::unsupported);
    EXPECT_NE(std::string(error.what()).find("JPEG by RTP without the size"), std::string::npos) << error.what();
  }
}

// libavformat counts the capture time from a report before that, and wrongly.
TEST_F(RtspFrames, WhoseTimestampsBeginAnewAtOnce) {
  for (const std::uint32_t after : {1, 2, 10}) {
    stream_.wraps_after = after;
    taken_.clear();
    read_ = 0;
    read_all();
    expect_all();
  }
}

TEST_F(RtspFrames, OfSeveralSlices) {
  stream_.coding.slices = 4;
  read_all();
  expect_all();
  EXPECT_FALSE(held_);
}

TEST_F(RtspFrames, WithParameterSetsInOnePacket) {
  stream_.aggregates = true;
  read_all();
  expect_units_but_for_the_order_of_sets();
  expect_times();
  expect_capture_times();
  EXPECT_FALSE(held_);
}

TEST_F(RtspFrames, WithAMarkerOnEachNalUnit) {
  stream_.markers = Markers::each_nal;
  read_all();
  expect_all();
  EXPECT_FALSE(held_);
}

TEST_F(RtspFrames, WithoutMarkersComeWithTheNext) {
  stream_.markers = Markers::none;
  read_all();
  expect_all();
  EXPECT_FALSE(held_);
}

TEST_F(RtspFrames, WithAMarkerOnEachSliceComeWithTheNext) {
  stream_.coding.slices = 3;
  stream_.markers = Markers::each_slice;
  read_all();
  expect_all();
  EXPECT_FALSE(held_);
}

TEST_F(RtspFrames, HaveACaptureTimeFromTheFirstSenderReportOn) {
  stream_.report_at = 40;
  read_all();
  expect_all();
  EXPECT_FALSE(taken_[39].capture.has_value());
  EXPECT_TRUE(taken_[40].capture.has_value());
}

TEST_F(RtspFrames, WhoseParameterSetsChange) {
  stream_.coding.count = 40;
  make_units();
  std::vector<CodedUnit> all = units_;
  stream_.coding.options = {{"coder", "cabac"}, {"preset", "superfast"}};
  make_units();
  for (CodedUnit& unit : units_) {
    unit.number += 40;
    all.push_back(unit);
  }
  units_ = all;
  const RtpCamera camera({video_media("H264")}, [this](RtpLine& line) { play(line); });
  read_from(camera, units_.size());
  expect_all();
  EXPECT_FALSE(held_);
}

// With the same size, and other sets: frames begin to come in another order than they are shown in, and cease to.
TEST_F(RtspFrames, WhoseOrderChanges) {
  for (const char* encoder : {"libx264", "libx265"}) {
    std::vector<CodedUnit> all;
    for (const int b_frames : {0, 2, 0}) {
      stream_.coding = {.encoder = encoder, .count = 40, .b_frames = b_frames};
      if (b_frames > 0 && stream_.coding.encoder == "libx264") stream_.coding.options = {{"b-pyramid", "none"}};
      make_units();
      const auto before = static_cast<std::int64_t>(all.size());
      for (CodedUnit& unit : units_) {
        unit.number += before;
        all.push_back(unit);
      }
    }
    units_ = all;
    taken_.clear();
    read_ = 0;
    const RtpCamera camera({video_media(rtp_name(encoder))}, [this](RtpLine& line) { play(line); });
    read_from(camera, units_.size());
    expect_all();
    EXPECT_FALSE(held_);
  }
}

TEST_F(RtspFrames, OfTheNextConnectionAreTheSame) {
  make_units();
  for (int i = 0; i < 2; ++i) {
    taken_.clear();
    read_ = 0;
    const RtpCamera camera({video_media("H264")}, [this](RtpLine& line) { play(line); });
    read_from(camera, units_.size());
    expect_all();
    EXPECT_FALSE(held_);
  }
}

TEST_F(RtspFrames, WhatThereIsOfTheLastIsReadBeforeTheLoss) {
  make_units();
  units_.resize(40);
  const RtpCamera camera({video_media("H264")}, [this](RtpLine& line) {
    line.report(0, utc_of(0), time_of(0));
    for (std::size_t i = 0; i + 1 < units_.size(); ++i) send_unit(line, i);
    line.packet(0, payloads_of(39).front(), time_of(39), false);
  });
  const auto source = open_source(config_of(camera), never);
  EXPECT_THROW(
      {
        const AvPacket packet = make_av_packet();
        for (;; ++read_) {
          ASSERT_EQ(source->read(*packet), ReadResult::packet);
          av_packet_unref(packet.get());
        }
      },
      SourceError);
  EXPECT_EQ(read_, units_.size());
}

TEST_F(RtspFrames, ThroughTls) {
  const TemporaryFolder folder;
  const std::string certificate = (folder.path() / "cert.pem").string();
  const std::string key = (folder.path() / "key.pem").string();
  ASSERT_EQ(Program({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                     "-days", "2", "-subj", "/CN=camera", "-keyout", key, "-out", certificate, "-batch"})
                .wait(),
            0);
  make_units();
  const RtpCamera camera({video_media("H264")}, [this](RtpLine& line) { play(line); });
  const int port = free_port();
  Program relay({"python3", "-u", std::string(source_folder) + "/tests/integration/tls_relay.py", certificate, key,
                 std::to_string(port), std::to_string(camera.port())});
  ASSERT_EQ(relay.first_line(), "ready");
  SourceConfig config = source_of(local("rtsps", port, "/cam"));
  config.verify_certificate = false;
  read_from(config, units_.size());
  expect_all();
  EXPECT_FALSE(held_);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
