// A camera's configuration comes to the processes as it was loaded.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/config/config.h"
#include "app/config/json.h"
#include "core/error.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

RecordConfig full_record() {
  return {"{camera}/%Y.mp4", 90s, 24h, 5'000'000'000, 7'000'000'000, true, RecordWhen::motion, 3s, 4500ms};
}

EncoderConfig full_encode() {
  return {"hevc", "libx265", "slow", 123'456'789, 0.1, 50, Latency::normal, 7, {{"b", "2"}, {"a", "1"}}};
}

OutputConfig full_output() {
  OutputConfig output;
  output.name = "small";
  output.filters = {{"resize", {{"width", 64}, {"height", 48}}}};
  output.rate = 2.5;
  output.encode = {"hevc", "libx265", "auto", std::nullopt, 28, 1500ms, Latency::low, 0, {}};
  output.record = full_record();
  output.push = {{"srt://10.0.0.9:9000"}};
  output.snapshot = SnapshotConfig{"{camera}-{output}.jpg", 250ms};
  output.on_demand = true;
  return output;
}

// Every member differs from its default.
CameraConfig full_camera() {
  CameraConfig camera;
  camera.name = "dock";
  camera.source.url = "a \"b\" ü.mp4";
  camera.source.written = "a ${X}.mp4";
  camera.source.loop = true;
  camera.source.pace = Pace::fast;
  camera.source.stream = 2;
  camera.source.audio = Audio::off;
  camera.source.rtsp_transport = RtspTransport::udp;
  camera.source.read_timeout = 1234ms;
  camera.source.verify_certificate = false;
  camera.source.ca_file = "ca.pem";
  camera.source.allow_redirects = true;
  camera.source.capture = {640, 480, 12.5, "yuyv422"};
  camera.gpu = "2";
  camera.placement = StagePlacement{"0", {"1", "cpu:2"}, "cpu"};
  camera.ipc_memory = MemoryKind::cuda_fabric;
  camera.ready_signal = ReadySignal::timeline;
  camera.drop_policy = DropPolicy::drop;
  camera.queue_size = 3;
  camera.decode_threads = 5;
  camera.decode_gpu = "cpu";
  camera.decode_isolation = DecodeIsolation::always;
  camera.filters = {{"blur", {{"sigma", 0.1}}}, {"sharpen", {}}};
  camera.encode = full_encode();
  camera.record = full_record();
  camera.push = {{"rtsp://a/b"}, {"udp://239.0.0.1:5000", "udp://${GROUP}:5000"}};
  camera.snapshot = SnapshotConfig{"{camera}.jpg", 2s};
  camera.rate = 12;
  camera.on_demand = true;
  camera.outputs = {full_output(), {}};
  camera.retry_interval = 100ms;
  camera.retry_max = 24h;
  camera.on_corrupt = OnCorrupt::skip;
  camera.priority = 7;
  camera.on_partition = OnPartition::stop;
  camera.timestamps = Timestamps::arrival;
  camera.use_absolute_timestamp = false;
  camera.for_browsers = true;
  camera.enabled = false;
  camera.mosaic = MosaicConfig{1280, 720, 12.5, false, {1, 2, 3}, {{"gate", {2, 4, 640, 360}}}, true};
  camera.group =
      GroupConfig{"stereo", 12.5, std::chrono::milliseconds(3), std::chrono::milliseconds(40), OnMissing::drop};
  return camera;
}

CameraConfig there_and_back(const CameraConfig& camera) {
  return camera_from_json(nlohmann::json::parse(to_json(camera).dump()));
}

TEST(CameraJson, ComesBackEqual) {
  EXPECT_EQ(there_and_back({}), CameraConfig());
  EXPECT_EQ(there_and_back(full_camera()), full_camera());
}

TEST(RigJson, ItsClusterComesBackEqual) {
  RigConfig rig;
  rig.cluster = ClusterConfig{"hall",
                              {"https://10.0.0.1:2379"},
                              "one",
                              "10.0.0.1:8443",
                              {{"floor", "2"}},
                              ClusterTlsConfig{"ca.pem", "one.pem", "one.key"},
                              OnEtcdMissing::run,
                              {.encrypt = false, .ports = "7000-7099", .transports = {LinkTransport::ucx}}};
  EXPECT_EQ(rig_from_json(nlohmann::json::parse(to_json(rig).dump())).cluster, rig.cluster);
  EXPECT_EQ(rig_from_json(to_json(RigConfig())).cluster, std::nullopt);
}

TEST(OutputJson, ComesBackEqual) {
  for (const ResolvedOutput& output : resolved_outputs(full_camera())) {
    EXPECT_EQ(output_from_json(nlohmann::json::parse(to_json(output).dump())), output) << output.name;
  }
}

// So that a new key cannot be forgotten in what full_camera() sets: its JSON differs from the defaults' everywhere.
void expect_all_different(const nlohmann::json& full, const nlohmann::json& defaults, const std::string& path) {
  for (const auto& [key, value] : defaults.items()) {
    const std::string here = path + "." + key;
    if (key == "gop_ns") continue;  // null beside gop_frames
    if (value.is_object()) {
      expect_all_different(full.at(key), value, here);
    } else {
      EXPECT_NE(full.at(key), value) << here;
    }
  }
}

TEST(CameraJson, TheFullCameraIsFull) {
  expect_all_different(to_json(full_camera()), to_json(CameraConfig()), "camera");
}

TEST(CameraJson, AnythingElseIsAnError) {
  const nlohmann::json good = to_json(full_camera());
  for (const auto& [key, value] : good.items()) {
    nlohmann::json bad = good;
    bad.erase(key);
    EXPECT_THROW(camera_from_json(bad), Error) << key;
  }
  nlohmann::json bad = good;
  bad["drop_policy"] = "later";
  EXPECT_THROW(camera_from_json(bad), Error);
  bad = good;
  bad["outputs"][0]["record"]["when"] = "later";
  EXPECT_THROW(camera_from_json(bad), Error);
  EXPECT_THROW(camera_from_json(nlohmann::json::array()), Error);
}

TEST(ResolvedOutputs, AreTheCamerasOwnStreamAndThoseThatTakeItsFilters) {
  const CameraConfig camera = full_camera();
  const std::vector<ResolvedOutput> all = resolved_outputs(camera);
  ASSERT_EQ(all.size(), 1 + camera.outputs.size());
  EXPECT_EQ(all[0].name, "dock");
  EXPECT_EQ(all[0].camera, "dock");
  EXPECT_EQ(all[0].output, "main");
  EXPECT_EQ(static_cast<const StreamConfig&>(all[0]), static_cast<const StreamConfig&>(camera));
  EXPECT_EQ(all[1].name, "dock/small");
  EXPECT_EQ(all[1].camera, "dock");
  EXPECT_EQ(all[1].output, "small");
  ASSERT_EQ(all[1].filters.size(), 3U);
  EXPECT_EQ(all[1].filters[2].name, "resize");
  EXPECT_EQ(all[1].encode, full_output().encode);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
