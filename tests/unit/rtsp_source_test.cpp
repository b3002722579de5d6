// Frames of RTSP cameras as they come out of the source: each with when it was taken, and before the next one was sent.
#include "tests/paths.h"
#include "tests/unit/rtsp_frames.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace {

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

}  // namespace
}  // namespace campipe
