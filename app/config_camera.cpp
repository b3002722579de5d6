// A camera's keys (and those of `defaults`, which are the same) with their values.
#include "app/config_settings.h"
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

bool read_gpu(const YamlNode& node, CameraSettings& camera, Report& report) {
  const auto text = read_text(node, "auto or cpu", report);
  const bool known = text == "auto" || text == "cpu";
  if (text && !known) refuse(node, "auto or cpu (this version runs cameras on the CPU only)", report);
  return set(camera.gpu, node, known ? text : std::nullopt);
}

bool read_drop_policy(const YamlNode& node, CameraSettings& camera, Report& report) {
  constexpr std::array<std::string_view, 3> names{"auto", "drop", "block"};
  const std::string* text = scalar_text(node);
  const bool automatic = text != nullptr && *text == "auto";
  if (automatic) return set(camera.drop_policy, node, std::optional(CameraConfig().drop_policy));
  const auto policy = text != nullptr ? find_choice<DropPolicy>(*text) : std::nullopt;
  if (!policy) refuse_choice(node, names, report);
  return set(camera.drop_policy, node, policy);
}

bool read_queue_size(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.queue_size, node, read_int(node, 1, 32, report));
}

bool read_decode_threads(const YamlNode& node, CameraSettings& camera, Report& report) {
  return set(camera.decode_threads, node, read_int(node, 1, 16, report));
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
constexpr std::array<CameraKey, 1> decode_keys{{{"threads", read_decode_threads}}};
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

constexpr std::array<CameraKey, 10> camera_keys{{{"source", read_source},
                                                 {"loop", read_loop},
                                                 {"pace", read_pace},
                                                 {"gpu", read_gpu},
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
  merged.drop_policy = merge(own.drop_policy, defaults.drop_policy);
  merged.queue_size = merge(own.queue_size, defaults.queue_size);
  merged.decode_threads = merge(own.decode_threads, defaults.decode_threads);
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
  config.drop_policy = camera.drop_policy.value.value_or(config.drop_policy);
  config.queue_size = camera.queue_size.value.value_or(config.queue_size);
  config.decode_threads = camera.decode_threads.value.value_or(config.decode_threads);
  config.filters = camera.filters.value.value_or(config.filters);
  config.encode = to_config(camera.encode);
  if (camera.record.path.value) config.record = RecordConfig{*camera.record.path.value};
  return config;
}

}  // namespace campipe
