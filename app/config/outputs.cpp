// A camera's outputs: what is made of its frames besides its own stream.
#include <algorithm>

#include "app/config/key_table.h"
#include "app/config/reader.h"
#include "app/config/values.h"

namespace campipe {
namespace {

constexpr std::size_t max_outputs = 4;

bool read_output(const YamlNode& node, GivenOutput& output, Report& report) {
  bool good = check_name(node, "an output's", report);
  if (node.key == "main") {
    report.at_key(node, "'main' is the camera's own stream, an output needs another name");
    good = false;
  }
  output.value.name = node.key;
  output.node = &node;
  good = read_keys(node, output, report) && good;
  const Origin& codec = output["encode.codec"];
  if (!codec.good || output.value.encode.codec != "auto") return good;
  report.at(*codec.node, "expected h264, hevc, mjpeg or copy, got auto, which is for a camera's own stream only");
  return false;
}

}  // namespace

bool read_outputs(const YamlNode& node, std::vector<GivenOutput>& outputs, Report& report) {
  if (!is_map(node, report)) return false;
  bool good = true;
  for (const YamlNode& child : node.children) {
    if (outputs.size() == max_outputs) {
      report.at_key(child, "more than 4 outputs");
      outputs.clear();
      return false;
    }
    good = read_output(child, outputs.emplace_back(), report) && good;
  }
  return good;
}

bool read_outputs(const YamlNode& node, GivenCamera& camera, Report& report) {
  return read_outputs(node, camera.outputs, report);
}

std::vector<NamedStream> streams_of(const std::vector<GivenCamera>& cameras) {
  std::vector<NamedStream> streams;
  for (const GivenCamera& camera : cameras) {
    streams.push_back({&camera, &camera, &camera.value});
    for (const GivenOutput& output : camera.outputs) {
      streams.push_back({&camera, &output, &output.value, output.value.name});
    }
  }
  return streams;
}

void settle_stream(const Origins& given, StreamConfig& value) {
  if (!given["record.path"].good) value.record.reset();
  if (!given["snapshot.path"].good || is_copy(value.encode)) value.snapshot.reset();
  if (!is_copy(value.encode)) return;
  value.encode = {};
  value.encode.codec = "copy";
  value.filters = looking_filters(value);
  value.rate = 0;
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
    loaded.gpu_places[c].output_filters.emplace_back();
  }
}

std::vector<ResolvedOutput> resolved_outputs(const CameraConfig& camera) {
  std::vector<ResolvedOutput> all{{camera, camera.name, "main"}};
  for (const OutputConfig& output : camera.outputs) {
    ResolvedOutput& resolved = all.emplace_back(ResolvedOutput{output, camera.name, output.name});
    resolved.name = camera.name + "/" + output.name;
    if (is_copy(camera.encode) || is_copy(output.encode)) continue;  // what is copied has been through no filter
    resolved.filters.insert(resolved.filters.begin(), camera.filters.begin(), camera.filters.end());
  }
  return all;
}

}  // namespace campipe
