// The file as a whole: its top keys, and what can be checked only when `defaults` and cameras are merged.
#include "app/config/config.h"

#include <algorithm>
#include <charconv>

#include "app/config/changes.h"
#include "app/config/key_table.h"
#include "app/config/overlay.h"
#include "app/config/part_names.h"
#include "app/config/paths.h"
#include "app/config/reader.h"
#include "app/config/values.h"
#include "core/printable.h"

namespace campipe {
namespace {

constexpr std::size_t max_cameras = 256;
constexpr auto look_at_files = "looking at the files and folders that it names";
constexpr auto look_at_disk = "look at the disk";

RigConfig to_rig(const Given<RigConfig>& file, const std::vector<GivenCamera>& cameras) {
  RigConfig rig = file.value;
  for (const GivenCamera& camera : cameras) rig.cameras.push_back(to_config(camera));
  settle_server(file, rig.server);
  return rig;
}

// `removed`: cameras that are not there any more; users may be allowed to see them still.
LoadedConfig load_tree(YamlNode& root, const std::vector<std::string>& removed, Report& report) {
  prepare_tree(root, report);
  report.step(nullptr, look_at_files, look_at_disk);
  Given<RigConfig> file;
  if (root.kind == YamlNode::Kind::null) {
    report.add({}, "", "the file is empty, expected `cameras`");
  } else {
    const bool is_rig = root.kind == YamlNode::Kind::map;
    read_keys(root, file, report);
    const bool reported = !is_rig || mistyped(root, "cameras", key_names<RigConfig>());
    if (file["cameras"].node == nullptr && !reported) report.add({}, "", "missing key 'cameras'");
  }
  std::vector<GivenCamera> cameras;
  for (const GivenCamera& camera : file.cameras) cameras.push_back(merge(camera, file.defaults));
  check_sources(cameras, report);
  enter_groups(file.groups, removed, cameras, report);
  check_decode_gpus(cameras, report);
  check_placements(cameras, report);
  check_rings(cameras, report);
  check_copies(cameras, report);
  for (GivenCamera& mosaic : laid_out_mosaics(file.mosaics, removed, cameras, report))
    cameras.push_back(std::move(mosaic));
  check_encoders(cameras, report);
  report.step(nullptr, look_at_files, look_at_disk);
  check_recordings(cameras, report);
  check_pushes(cameras, report);
  std::vector<std::string_view> names(removed.begin(), removed.end());
  for (const GivenCamera& camera : cameras) names.push_back(camera.node->key);
  check_server(file, names, report);
  check_cluster(file, report);
  LoadedConfig loaded{to_rig(file, cameras), {}, report.take(), report.take_conditions()};
  for (const GivenCamera& camera : cameras) loaded.gpu_places.push_back(gpu_places(camera));
  add_browser_outputs(loaded);
  return loaded;
}

// What the nodes share is the text of the file.
void refuse_overlay_of_cluster(const YamlNode& root, const std::filesystem::path& overlay, Report& report) {
  const auto cluster = std::ranges::find(root.children, "cluster", &YamlNode::key);
  if (cluster == root.children.end()) return;
  report.add(cluster->key_mark, cluster->key,
             "changes that were made through the API, in " + overlay.string() +
                 ", are no part of a cluster's rig: enter them here, and remove that file");
}

}  // namespace

bool read_defaults(const YamlNode& node, Given<RigConfig>& file, Report& report) {
  return read_camera(node, file.defaults, report);
}

bool read_cameras(const YamlNode& node, Given<RigConfig>& file, Report& report) {
  if (!is_map(node, report)) return false;
  if (node.children.empty()) report.at(node, "expected at least one camera");
  for (const YamlNode& child : node.children) {
    if (file.cameras.size() == max_cameras) {
      report.at_key(child, "more than 256 cameras");
      return false;
    }
    check_name(child, "a camera's", report);
    read_camera(child, file.cameras.emplace_back(), report);
  }
  return true;
}

// Without the daemon CUDA would go on alone, silently: so GPUs are not used until it is there.
std::optional<Mps> read_mps(const YamlNode& node, Report& report) {
  const auto mps = read_choice<Mps>(node, report);
  if (mps) {
    if (const std::string problem = mps_problem(*mps); !problem.empty()) report.not_now(node, problem);
  }
  return mps;
}

std::optional<std::string> read_events(const YamlNode& node, Report& report) {
  auto path = read_text(node, "a path, such as events.jsonl", report);
  if (path && !check_can_be_written(*path, node, report)) path.reset();
  return path;
}

// As chmod's numbers are written, so that they are not read as decimal ones.
std::optional<unsigned> read_umask(const YamlNode& node, Report& report) {
  constexpr std::string_view expected = "four octal digits from 0000 to 0077, such as 0022";
  const auto text = read_text(node, expected, report);
  if (!text) return std::nullopt;
  unsigned mask = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), mask, 8);
  if (text->size() == 4 && text->starts_with("00") && error == std::errc{} && end == text->data() + 4) return mask;
  refuse(node, expected, report);
  return std::nullopt;
}

bool check_name(const YamlNode& named, std::string_view whose, Report& report) {
  const bool good = is_part_name(named.key);
  if (!good) report.at_key(named, std::string(whose) + " name " + std::string(name_rule));
  return good;
}

// A camera's name may itself be one that was refused, and not fit to be printed.
void refuse_unknown_camera(const YamlNode& node, std::span<const std::string_view> known,
                           std::span<const std::string> removed, Report& report) {
  if (std::ranges::find(removed, node.text) != removed.end())
    return report.at(node, "camera " + shown(node) + " is removed, and this names it; take it out of here first");
  const std::string hint = node.variables.empty() ? printable(suggestion(node.text, known)) : "";
  report.at(node, "there is no camera " + shown(node) + hint);
}

std::string format(const ConfigError& error, const std::string& file) {
  if (error.document == ConfigDocument::request) return error.path + ": " + error.message;
  std::string text = (error.document == ConfigDocument::overlay ? overlay_in_use(file).string() : file) + ":";
  if (error.line > 0) text += std::to_string(error.line) + ":" + std::to_string(error.column) + ":";
  if (!error.path.empty()) text += " " + error.path + ":";
  return text + " " + error.message;
}

LoadedConfig load_config(const std::filesystem::path& file) { return load_config_with(file, {}); }

LoadedConfig load_config_with(const std::filesystem::path& file, const CameraChanges& changes,
                              const OnLoadStep& on_step) {
  const auto failed = [](ConfigError error, ConfigDocument document) {
    error.document = document;
    return LoadedConfig{{}, {}, {std::move(error)}};
  };
  Report report(on_step);
  report.step(nullptr, "reading it", look_at_disk);
  std::uint64_t digest = 0;
  YamlResult result = read_yaml_file(file, &digest);
  if (auto* error = std::get_if<ConfigError>(&result)) return failed(*error, ConfigDocument::file);
  auto& root = std::get<YamlNode>(result);
  std::vector<std::string> removed;
  std::vector<std::string> overlay_effects;
  report.step(nullptr, "reading its overlay " + overlay_path(file).string(), look_at_disk);
  std::error_code unknown;  // then reading it reports why
  if (const auto path = overlay_in_use(file); std::filesystem::exists(path, unknown) || unknown) {
    YamlResult overlay = read_yaml_file(path);
    if (auto* error = std::get_if<ConfigError>(&overlay)) return failed(*error, ConfigDocument::overlay);
    mark_as(std::get<YamlNode>(overlay), ConfigDocument::overlay);
    overlay_effects = effects_on(root, std::get<YamlNode>(overlay));
    refuse_overlay_of_cluster(root, path, report);
    removed = lay_over(root, std::move(std::get<YamlNode>(overlay)), report);
  }
  for (std::string& name : lay_over(root, tree_of(changes), report)) removed.push_back(std::move(name));
  LoadedConfig loaded = load_tree(root, removed, report);
  loaded.digest = digest;
  loaded.overlay_effects = std::move(overlay_effects);
  return loaded;
}

}  // namespace campipe
