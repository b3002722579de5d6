// A camera's outputs: what is made of its pictures besides its own stream.
#include <algorithm>

#include "app/config/settings.h"

namespace campipe {
namespace {

constexpr std::size_t max_outputs = 4;

using OutputKey = Key<OutputSettings>;
constexpr std::array<OutputKey, 6> output_keys{{{"filters", part_key<read_filters>},
                                                {"rate", part_key<read_rate>},
                                                {"encode", part_key<read_encode>},
                                                {"record", part_key<read_record>},
                                                {"push", part_key<read_push>},
                                                {"snapshot", part_key<read_snapshot>}}};

}  // namespace

ConfigSection outputs_section() { return {"outputs", key_names(std::span<const OutputKey>(output_keys))}; }

bool read_outputs(const YamlNode& node, CameraSettings& camera, Report& report) {
  set(camera.outputs, node, std::optional<std::vector<OutputSettings>>());
  if (!is_map(node, report)) return false;
  bool good = true;
  std::vector<OutputSettings> outputs;
  for (const YamlNode& child : node.children) {
    if (outputs.size() == max_outputs) {
      report.at_key(child, "more than 4 outputs");
      return false;
    }
    good = check_name(child, "an output's", report) && good;
    if (child.key == "main") {
      report.at_key(child, "'main' is the camera's own stream, an output needs another name");
      good = false;
    }
    OutputSettings& output = outputs.emplace_back();
    output.node = &child;
    good = read_map(child, std::span<const OutputKey>(output_keys), output, report) && good;
    if (output.encode.codec.value == "auto") {
      report.at(*output.encode.codec.node,
                "expected h264, hevc, mjpeg or copy, got auto, which is for a camera's own stream only");
      good = false;
    }
  }
  set(camera.outputs, node, std::optional(std::move(outputs)));
  return good;
}

std::vector<OutputConfig> output_configs(const CameraSettings& camera) {
  std::vector<OutputConfig> configs;
  if (!camera.outputs.value) return configs;
  for (const OutputSettings& output : *camera.outputs.value) {
    OutputConfig& config = configs.emplace_back();
    config.name = output.node->key;
    fill_in_stream(output, config);
  }
  return configs;
}

std::vector<NamedStream> streams_of(const std::vector<CameraSettings>& cameras) {
  std::vector<NamedStream> streams;
  for (const CameraSettings& camera : cameras) {
    streams.push_back({&camera, &camera, camera.node});
    if (!camera.outputs.value) continue;
    for (const OutputSettings& output : *camera.outputs.value) {
      streams.push_back({&camera, &output, output.node, output.node->key});
    }
  }
  return streams;
}

OutputConfig made_for_browsers() {
  OutputConfig output;
  output.name = browser_output;
  output.on_demand = true;
  return output;
}

void add_browser_outputs(LoadedConfig& loaded) {
  if (loaded.rig.server.http_address.empty()) return;
  for (std::size_t c = 0; c < loaded.rig.cameras.size(); ++c) {
    CameraConfig& camera = loaded.rig.cameras[c];
    if (is_auto(camera.encode) || camera.encode.codec == "h264") continue;
    if (std::ranges::find(camera.outputs, browser_output, &OutputConfig::name) != camera.outputs.end()) continue;
    camera.for_browsers = is_copy(camera.encode);
    if (camera.for_browsers) continue;
    camera.outputs.push_back(made_for_browsers());
    loaded.gpu_places[c].output_encoders.emplace_back();
  }
}

CameraConfig follower(const CameraConfig& camera, const OutputConfig& output) {
  CameraConfig config = camera;
  config.name = camera.name + "/" + output.name;
  config.output = output.name;
  config.outputs.clear();
  // What is copied has been through no filter.
  if (is_copy(camera.encode) || is_copy(output.encode)) config.filters.clear();
  config.filters.insert(config.filters.end(), output.filters.begin(), output.filters.end());
  config.rate = output.rate;
  config.encode = output.encode;
  config.record = output.record;
  config.push = output.push;
  config.snapshot = output.snapshot;
  config.on_demand = output.on_demand;
  return config;
}

}  // namespace campipe
