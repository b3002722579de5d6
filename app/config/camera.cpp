// A camera's keys (and those of `defaults`, which are the same) with their values.
#include <algorithm>
#include <set>

#include "app/config/settings.h"
#include "core/gpu.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view expected_gpu =
    "auto, cpu, or a GPU by its index or UUID, such as 0, GPU-5f0c… or MIG-5f0c… (campipe --devices lists them)";

bool is_index(const std::string& text) {
  return text.size() <= 3 && text.find_first_not_of("0123456789") == std::string::npos;
}

std::optional<std::string> read_gpu_name(const YamlNode& node, Report& report) {
  auto text = read_text(node, expected_gpu, report);
  if (!text || *text == "auto" || is_index(*text) || device_from_string(*text)) return text;
  refuse(node, expected_gpu, report);
  return std::nullopt;
}

bool read_gpu(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.gpu, node, read_gpu_name(node, report));
}

bool read_ipc_memory(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.ipc_memory, node, read_choice_or_auto<MemoryKind>(node, report));
}

bool read_ready_signal(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.ready_signal, node, read_choice_or_auto<ReadySignal>(node, report));
}

bool read_drop_policy(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.drop_policy, node, read_choice_or_auto<DropPolicy>(node, report));
}

bool read_decode_gpu(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.decode_gpu, node, read_gpu_name(node, report));
}

constexpr TimeRange timeouts{100ms, 10min};
constexpr TimeRange retry_intervals{100ms, 1h};
constexpr TimeRange retry_maxima{100ms, 24h};

using CameraKey = Key<CameraSettings>;
using Camera = CameraSettings;
constexpr std::array<CameraKey, 2> decode_keys{
    {{"threads", int_key<&Camera::decode_threads, 1, 16>}, {"gpu", read_decode_gpu}}};

bool read_decode(const YamlNode& node, CameraSettings& camera, Report& report) {
  return read_map(node, std::span<const CameraKey>(decode_keys), camera, report);
}

constexpr std::array<CameraKey, 28> camera_keys{
    {{"source", part_key<read_source>},
     {"stream", int_key<&Camera::stream, 0, 63>},
     {"audio", choice_key<&Camera::audio>},
     {"rtsp_transport", choice_key<&Camera::rtsp_transport>},
     {"allow_redirects", choice_key<&Camera::allow_redirects>},
     {"tls", part_key<read_tls>},
     {"capture", part_key<read_capture>},
     {"read_timeout", time_key<&Camera::read_timeout, timeouts>},
     {"retry_interval", time_key<&Camera::retry_interval, retry_intervals>},
     {"retry_max", time_key<&Camera::retry_max, retry_maxima>},
     {"loop", choice_key<&Camera::loop>},
     {"pace", choice_key<&Camera::pace>},
     {"enabled", choice_key<&Camera::enabled>},
     {"on_corrupt", choice_key<&Camera::on_corrupt>},
     {"use_absolute_timestamp", choice_key<&Camera::use_absolute_timestamp>},
     {"gpu", read_gpu},
     {"ipc_memory", read_ipc_memory},
     {"ready_signal", read_ready_signal},
     {"drop_policy", read_drop_policy},
     {"queue_size", int_key<&Camera::queue_size, 1, 32>},
     {"decode", read_decode},
     {"filters", part_key<read_filters>},
     {"rate", part_key<read_rate>},
     {"encode", part_key<read_encode>},
     {"record", part_key<read_record>},
     {"push", part_key<read_push>},
     {"snapshot", part_key<read_snapshot>},
     {"outputs", read_outputs}}};

StreamSettings merge_streams(const StreamSettings& own, const StreamSettings& defaults) {
  StreamSettings merged;
  merged.filters = merge(own.filters, defaults.filters);
  merged.rate = merge(own.rate, defaults.rate);
  merged.encode = merge(own.encode, defaults.encode);
  merged.record = merge(own.record, defaults.record);
  merged.push = merge(own.push, defaults.push);
  merged.snapshot = merge(own.snapshot, defaults.snapshot);
  return merged;
}

}  // namespace

std::vector<ConfigSection> camera_sections() {
  std::vector<ConfigSection> sections{{"camera", key_names(std::span<const CameraKey>(camera_keys))},
                                      {"decode", key_names(std::span<const CameraKey>(decode_keys))},
                                      encode_section(),
                                      outputs_section()};
  for (ConfigSection& section : source_sections()) sections.push_back(std::move(section));
  for (ConfigSection& section : target_sections()) sections.push_back(std::move(section));
  return sections;
}

bool read_camera(const YamlNode& node, CameraSettings& camera, Report& report) {
  camera.node = &node;
  // So that a missing source is not told as well.
  if (node.kind != YamlNode::Kind::map || !node.problem.empty()) camera.url.node = &node;
  return read_map(node, std::span<const CameraKey>(camera_keys), camera, report);
}

CameraSettings merge(const CameraSettings& own, const CameraSettings& defaults) {
  CameraSettings merged;
  static_cast<SourceSettings&>(merged) = merge(static_cast<const SourceSettings&>(own), defaults);
  static_cast<StreamSettings&>(merged) = merge_streams(own, defaults);
  merged.node = own.node;
  merged.on_corrupt = merge(own.on_corrupt, defaults.on_corrupt);
  merged.use_absolute_timestamp = merge(own.use_absolute_timestamp, defaults.use_absolute_timestamp);
  merged.enabled = merge(own.enabled, defaults.enabled);
  merged.gpu = merge(own.gpu, defaults.gpu);
  merged.ipc_memory = merge(own.ipc_memory, defaults.ipc_memory);
  merged.ready_signal = merge(own.ready_signal, defaults.ready_signal);
  merged.drop_policy = merge(own.drop_policy, defaults.drop_policy);
  merged.queue_size = merge(own.queue_size, defaults.queue_size);
  merged.decode_threads = merge(own.decode_threads, defaults.decode_threads);
  merged.decode_gpu = merge(own.decode_gpu, defaults.decode_gpu);
  merged.outputs = merge(own.outputs, defaults.outputs);
  const bool automatic = is_auto(merged.encode);
  if (automatic) merged.encode.codec.value = EncoderConfig().codec;
  if (merged.outputs.value) {
    for (OutputSettings& output : *merged.outputs.value) output.encode = merge(output.encode, merged.encode);
  }
  if (automatic && is_plain(merged)) merged.encode.codec.value = "auto";
  return merged;
}

CameraConfig to_config(const CameraSettings& camera) {
  CameraConfig config;
  config.name = camera.node->key;
  config.source = source_config(camera);
  fill_in_stream(camera, config);
  config.outputs = output_configs(camera);
  config.on_corrupt = camera.on_corrupt.value.value_or(config.on_corrupt);
  config.use_absolute_timestamp = camera.use_absolute_timestamp.value.value_or(config.use_absolute_timestamp);
  config.enabled = camera.enabled.value.value_or(config.enabled);
  // One of them alone moves the other's default out of its way.
  const auto& [interval, max] = std::tie(camera.retry_interval.value, camera.retry_max.value);
  config.retry_interval = interval.value_or(std::min(config.retry_interval, max.value_or(config.retry_max)));
  config.retry_max = max.value_or(std::max(config.retry_max, config.retry_interval));
  config.gpu = camera.gpu.value.value_or(config.gpu);
  config.ipc_memory = camera.ipc_memory.value.value_or(config.ipc_memory);
  config.ready_signal = camera.ready_signal.value.value_or(config.ready_signal);
  const DropPolicy automatic = is_live(config.source.url) ? DropPolicy::drop : DropPolicy::block;
  config.drop_policy = camera.drop_policy.value.value_or(std::nullopt).value_or(automatic);
  config.queue_size = camera.queue_size.value.value_or(config.queue_size);
  config.decode_threads = camera.decode_threads.value.value_or(config.decode_threads);
  config.decode_gpu = camera.decode_gpu.value.value_or(config.decode_gpu);
  return config;
}

namespace {

template <typename T>
ConfigPlace place_of(const Setting<T>& setting) {
  if (setting.node == nullptr) return {};
  const Mark& mark = setting.node->mark;
  return {mark.line, mark.column, setting.node->path, shown(*setting.node), mark.document};
}

}  // namespace

GpuPlaces gpu_places(const CameraSettings& camera) {
  GpuPlaces places{place_of(camera.gpu),
                   place_of(camera.decode_gpu),
                   place_of(camera.ipc_memory),
                   place_of(camera.encode.encoder),
                   {}};
  if (!camera.outputs.value) return places;
  for (const OutputSettings& output : *camera.outputs.value) {
    places.output_encoders.push_back(place_of(output.encode.encoder));
  }
  return places;
}

// What a GPU decodes, only a GPU's worker can read in time: nobody waits for a GPU on the CPU.
void check_decode_gpus(const std::vector<CameraSettings>& cameras, Report& report) {
  std::set<const YamlNode*> told;
  for (const CameraSettings& camera : cameras) {
    const std::string decode_gpu = camera.decode_gpu.value.value_or("auto");
    const bool elsewhere = decode_gpu != "auto" && decode_gpu != "cpu";
    if (camera.gpu.value != "cpu" || !elsewhere || !told.insert(camera.decode_gpu.node).second) continue;
    const std::string got = shown(*camera.decode_gpu.node);
    report.at(*camera.decode_gpu.node, "expected auto or cpu, since the camera runs on the CPU (gpu: cpu), got " + got);
  }
}

}  // namespace campipe
