// A camera's keys (and those of `defaults`, which are the same) with their values.
#include <set>

#include "app/config_settings.h"
#include "core/gpu.h"
#include "stages/sinks/recorder.h"

namespace campipe {
namespace {

bool read_source(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.source, node, read_text(node, "a file or test://pattern?…", report));
}

bool read_loop(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.loop, node, read_choice<bool>(node, report));
}

bool read_pace(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.pace, node, read_choice<Pace>(node, report));
}

constexpr std::string_view expected_gpu =
    "auto, cpu, or a GPU by its index or UUID, such as 0 or GPU-5f0c… (campipe --devices lists them)";

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
  const auto given = read_choice_or_auto<DropPolicy>(node, report);
  std::optional<DropPolicy> policy;
  if (given) policy = given->value_or(CameraConfig().drop_policy);
  return set(camera.drop_policy, node, policy);
}

bool read_queue_size(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.queue_size, node, read_int(node, 1, 32, report));
}

bool read_decode_threads(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.decode_threads, node, read_int(node, 1, 16, report));
}

bool read_decode_gpu(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.decode_gpu, node, read_gpu_name(node, report));
}

bool read_chain(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.filters, node, read_filters(node, report));
}

bool read_encode_key(const YamlNode& node, CameraSettings& camera, Report& report) {
  return read_encode(node, camera.encode, report);
}

bool read_record_path(const YamlNode& node, CameraSettings& camera, Report& report) {
  constexpr std::string_view expected = "a path that ends in .mp4 or .mkv";
  auto path = read_text(node, expected, report);
  if (!path) return set(camera.record.path, node, std::move(path));
  const auto problem = check_record_path(*path);
  if (!can_record_to(*path)) {
    refuse(node, expected, report);
    path.reset();
  } else if (problem) {
    // What is wrong may be a piece of a variable's value, which nothing would recognise as such.
    const std::string vague =
        "expected a path with no fields but {camera} and time fields such as %Y, got " + shown(node);
    report.at(node, node.variables.empty() ? *problem : vague);
    path.reset();
  }
  return set(camera.record.path, node, std::move(path));
}

using CameraKey = Key<CameraSettings>;
constexpr std::array<CameraKey, 2> decode_keys{{{"threads", read_decode_threads}, {"gpu", read_decode_gpu}}};
constexpr std::array<CameraKey, 1> record_keys{{{"path", read_record_path}}};

bool read_decode(const YamlNode& node, CameraSettings& camera, Report& report) {
  return read_map(node, std::span<const CameraKey>(decode_keys), camera, report);
}

bool read_record(const YamlNode& node, CameraSettings& camera, Report& report) {
  camera.record.node = &node;
  const bool good = read_map(node, std::span<const CameraKey>(record_keys), camera, report);
  // So that the missing path is not told as well.
  if (!good && camera.record.path.node == nullptr) camera.record.path.node = &node;
  return good;
}

constexpr std::array<CameraKey, 12> camera_keys{{{"source", read_source},
                                                 {"loop", read_loop},
                                                 {"pace", read_pace},
                                                 {"gpu", read_gpu},
                                                 {"ipc_memory", read_ipc_memory},
                                                 {"ready_signal", read_ready_signal},
                                                 {"drop_policy", read_drop_policy},
                                                 {"queue_size", read_queue_size},
                                                 {"decode", read_decode},
                                                 {"filters", read_chain},
                                                 {"encode", read_encode_key},
                                                 {"record", read_record}}};

}  // namespace

std::vector<ConfigSection> camera_sections() {
  return {{"camera", key_names(std::span<const CameraKey>(camera_keys))},
          {"decode", key_names(std::span<const CameraKey>(decode_keys))},
          encode_section(),
          {"record", key_names(std::span<const CameraKey>(record_keys))}};
}

bool read_camera(const YamlNode& node, CameraSettings& camera, Report& report) {
  camera.node = &node;
  // So that a missing source is not told as well.
  if (node.kind != YamlNode::Kind::map || !node.problem.empty()) camera.source.node = &node;
  return read_map(node, std::span<const CameraKey>(camera_keys), camera, report);
}

CameraSettings merge(const CameraSettings& own, const CameraSettings& defaults) {
  CameraSettings merged;
  merged.node = own.node;
  merged.source = merge(own.source, defaults.source);
  merged.loop = merge(own.loop, defaults.loop);
  merged.pace = merge(own.pace, defaults.pace);
  merged.gpu = merge(own.gpu, defaults.gpu);
  merged.ipc_memory = merge(own.ipc_memory, defaults.ipc_memory);
  merged.ready_signal = merge(own.ready_signal, defaults.ready_signal);
  merged.drop_policy = merge(own.drop_policy, defaults.drop_policy);
  merged.queue_size = merge(own.queue_size, defaults.queue_size);
  merged.decode_threads = merge(own.decode_threads, defaults.decode_threads);
  merged.decode_gpu = merge(own.decode_gpu, defaults.decode_gpu);
  merged.filters = merge(own.filters, defaults.filters);
  merged.encode = merge(own.encode, defaults.encode);
  merged.record.node = own.record.node != nullptr ? own.record.node : defaults.record.node;
  merged.record.path = merge(own.record.path, defaults.record.path);
  return merged;
}

CameraConfig to_config(const CameraSettings& camera) {
  CameraConfig config;
  config.name = camera.node->key;
  config.source.url = camera.source.value.value_or("");
  config.source.loop = camera.loop.value.value_or(config.source.loop);
  config.source.pace = camera.pace.value.value_or(config.source.pace);
  config.gpu = camera.gpu.value.value_or(config.gpu);
  config.ipc_memory = camera.ipc_memory.value.value_or(config.ipc_memory);
  config.ready_signal = camera.ready_signal.value.value_or(config.ready_signal);
  config.drop_policy = camera.drop_policy.value.value_or(config.drop_policy);
  config.queue_size = camera.queue_size.value.value_or(config.queue_size);
  config.decode_threads = camera.decode_threads.value.value_or(config.decode_threads);
  config.decode_gpu = camera.decode_gpu.value.value_or(config.decode_gpu);
  config.filters = camera.filters.value.value_or(config.filters);
  config.encode = to_config(camera.encode);
  if (camera.record.path.value) config.record = RecordConfig{*camera.record.path.value};
  return config;
}

namespace {

template <typename T>
ConfigPlace place_of(const Setting<T>& setting) {
  if (setting.node == nullptr) return {};
  return {setting.node->mark.line, setting.node->mark.column, setting.node->path, shown(*setting.node)};
}

}  // namespace

GpuPlaces gpu_places(const CameraSettings& camera) {
  return {place_of(camera.gpu), place_of(camera.decode_gpu), place_of(camera.ipc_memory),
          place_of(camera.encode.encoder)};
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
