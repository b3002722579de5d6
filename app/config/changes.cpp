#include "app/config/changes.h"

#include <unistd.h>
#include <yaml-cpp/emitter.h>

#include <algorithm>
#include <iterator>

#include "app/config/overlay.h"
#include "app/config/yaml_json.h"
#include "core/error.h"
#include "core/log.h"
#include "core/own_folders.h"
#include "core/replace_file.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t max_size = 1 << 20;  // more would not be read again

void emit(YAML::Emitter& out, const json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, child] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      emit(out, child);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::BeginSeq;
    for (const json& child : value) emit(out, child);
    out << YAML::EndSeq;
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << (value.is_string() ? value.get<std::string>() : value.dump());
  }
}

std::string text_of(const CameraChanges& changes) {
  YAML::Emitter out;
  json all{{"enabled", changes.enabled}};
  for (const ConfigPart part : config_parts) {
    // Whoever goes back to a version without these reads it still, unless there are some.
    if (part == ConfigPart::camera || !changes.of(part).empty()) all[std::string(section_of(part))] = changes.of(part);
  }
  emit(out, all);
  return std::string(
             "# Changes through the API, which go over the configuration of the same name. Written by campipe; "
             "comments are not kept.\n") +
         out.c_str() + "\n";
}

CameraChanges kept_changes(const fs::path& overlay) {
  if (!fs::exists(overlay)) return {};
  const YamlResult result = read_yaml_file(overlay);
  if (const auto* error = std::get_if<ConfigError>(&result)) throw Error(format(*error, overlay.string()));
  return changes_of(std::get<YamlNode>(result));
}

// They would hide what the file gets later under that name.
void forget_needless_removals(const fs::path& file, CameraChanges& changes) {
  const YamlResult root = read_yaml_file(file);
  if (!std::holds_alternative<YamlNode>(root)) return;
  for (const ConfigPart part : config_parts) {
    json& all = changes.of(part);
    if (!all.is_object()) continue;
    for (auto one = all.begin(); one != all.end();) {
      const bool needed = !one->is_null() || is_named(std::get<YamlNode>(root), part, one.key());
      one = needed ? std::next(one) : all.erase(one);
    }
  }
}

// Parses a cluster's rig. Throws Error where it is no YAML.
YamlNode rig_tree(const std::string& text) {
  YamlResult parsed = parse_yaml(text);
  if (const auto* error = std::get_if<ConfigError>(&parsed)) throw Error("the rig cannot be read: " + error->message);
  return std::get<YamlNode>(std::move(parsed));
}

std::string text_with(YamlNode& root, const CameraChanges& change) {
  Report report;
  lay_over(root, tree_of(change), report);
  for (const ConfigError& error : report.take()) throw Error(error.message);
  return "# Changed through the API of a node, which keeps no comments.\n" + json_of(root).dump(2) + "\n";
}

// "rig.api.yaml" for "rig.yaml".
fs::path beside(const fs::path& file) {
  return file.parent_path() / (file.stem().string() + ".api" + file.extension().string());
}

}  // namespace

std::string_view section_of(ConfigPart part) {
  constexpr std::array<std::string_view, config_parts.size()> sections{"cameras", "mosaics", "sync_groups"};
  return sections.at(static_cast<std::size_t>(part));
}

std::string_view name_of(ConfigPart part) {
  constexpr std::array<std::string_view, config_parts.size()> names{"camera", "mosaic", "group"};
  return names.at(static_cast<std::size_t>(part));
}

json& CameraChanges::of(ConfigPart part) {
  return part == ConfigPart::camera ? cameras : part == ConfigPart::mosaic ? mosaics : groups;
}

const json& CameraChanges::of(ConfigPart part) const {
  return part == ConfigPart::camera ? cameras : part == ConfigPart::mosaic ? mosaics : groups;
}

bool CameraChanges::empty() const {
  return enabled.empty() && std::ranges::all_of(config_parts, [&](ConfigPart part) { return of(part).empty(); });
}

void CameraChanges::put(ConfigPart part, const std::string& name, json keys) {
  of(part)[name] = std::move(keys);
  if (part != ConfigPart::group) enabled.erase(name);  // a camera may have the name, too
}

void CameraChanges::remove(ConfigPart part, const std::string& name) { put(part, name, nullptr); }

void CameraChanges::put(const std::string& name, json keys) { put(ConfigPart::camera, name, std::move(keys)); }

void CameraChanges::remove(const std::string& name) { remove(ConfigPart::camera, name); }

void CameraChanges::enable(const std::string& name, bool on) { enabled[name] = on; }

void CameraChanges::add(const CameraChanges& newer) {
  for (const ConfigPart part : config_parts) {
    for (const auto& [name, keys] : newer.of(part).items()) put(part, name, keys);
  }
  for (const auto& [name, on] : newer.enabled) enable(name, on);
}

fs::path overlay_path(const fs::path& file) {
  const auto state = state_folder();
  if (!state) return beside(file);
  return *state / "overlays" / beside(fs::absolute(file).lexically_normal()).relative_path();
}

fs::path overlay_in_use(const fs::path& file) {
  std::error_code unknown;  // then reading it reports why
  const fs::path overlay = overlay_path(file);
  if (fs::exists(overlay, unknown) || unknown) return overlay;
  const fs::path old = beside(file);
  return fs::exists(old, unknown) ? old : overlay;
}

std::string overlay_note(const fs::path& file) {
  const fs::path old = beside(file);
  const fs::path overlay = overlay_path(file);
  std::error_code unknown;  // then there is none that could be read
  if (old == overlay || !fs::exists(old, unknown)) return {};
  if (overlay_in_use(file) == old) return old.string() + " is moved to " + overlay.string() + " by the next change";
  return old.string() + " is not read any more, as there is " + overlay.string() + "; remove it";
}

void keep_changes(const fs::path& file, const CameraChanges& changes) {
  const fs::path overlay = overlay_path(file);
  const fs::path before = overlay_in_use(file);
  CameraChanges all = kept_changes(before);
  all.add(changes);
  forget_needless_removals(file, all);
  const std::string text = text_of(all);
  if (text.size() > max_size) throw Error(overlay.string() + " would be larger than 1 MiB, the most that is read");
  if (overlay != beside(file)) make_own_folder(overlay.parent_path());
  replace_file(overlay, text);
  if (before != overlay && ::unlink(before.c_str()) != 0) spdlog::warn("{}", overlay_note(file));
}

ChangedRig changed_rig(const std::string& text, ConfigPart part, const std::string& name, json keys) {
  YamlNode root = rig_tree(text);
  const bool had = has_entry(root, part, name);
  CameraChanges change;
  change.put(part, name, std::move(keys));
  return {text_with(root, change), had};
}

ChangedRig enabled_rig(const std::string& text, const std::string& name, bool on) {
  YamlNode root = rig_tree(text);
  const bool had = has_entry(root, ConfigPart::camera, name) || has_entry(root, ConfigPart::mosaic, name);
  CameraChanges change;
  change.enable(name, on);
  return {text_with(root, change), had};
}

}  // namespace campipe
