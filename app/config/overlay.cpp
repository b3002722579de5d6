#include "app/config/overlay.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "app/config/reader.h"
#include "app/config/yaml_json.h"

namespace campipe {
namespace {

using nlohmann::json;
using Kind = YamlNode::Kind;

constexpr int max_depth = 16;  // as of files
// In the order in which they go over the file, wherever they stand: `enabled` is of the camera as it is then.
constexpr std::array<std::string_view, 4> overlay_keys{"cameras", "mosaics", "sync_groups", enabled_section};

template <typename Node>
Node* find(Node& map, std::string_view key) {
  const auto found = std::ranges::find(map.children, key, &YamlNode::key);
  return found == map.children.end() ? nullptr : &*found;
}

template <typename Node>
Node* find_part(Node& root, ConfigPart part, std::string_view name) {
  Node* const section = find(root, section_of(part));
  return section != nullptr ? find(*section, name) : nullptr;
}

// Paths, for the errors reported here: the tree is not prepared yet.
bool good_map(YamlNode& node, const std::string& path, Report& report) {
  node.path = path;
  if (!is_map(node, report)) return false;
  for (YamlNode& child : node.children) child.path = join_path(path, child.key);
  std::set<std::string_view> keys;
  for (const YamlNode& child : node.children) {
    if (keys.insert(child.key).second) continue;
    report.at_key(child, "duplicate key");
    return false;
  }
  return true;
}

// A section of the file, made where there is none; null where something else stands there.
YamlNode* section_in(YamlNode& root, const YamlNode& like) {
  if (root.kind != Kind::map) return nullptr;
  YamlNode* section = find(root, like.key);
  if (section == nullptr) {
    section = &root.children.emplace_back();
    section->kind = Kind::map;
    section->key = like.key;
    section->key_mark = section->mark = like.key_mark;
  }
  return section->kind == Kind::map ? section : nullptr;
}

bool is_removal(const YamlNode& entry) { return entry.kind == Kind::null && entry.problem.empty(); }

void put_entry(YamlNode& section, YamlNode entry) {
  YamlNode* const there = find(section, entry.key);
  if (is_removal(entry)) {
    std::erase_if(section.children, [&](const YamlNode& node) { return node.key == entry.key; });
  } else if (there != nullptr) {
    *there = std::move(entry);
  } else {
    section.children.push_back(std::move(entry));
  }
}

// Of a camera or mosaic. One that is not there any more needs none.
void put_enabled(YamlNode& root, YamlNode on) {
  YamlNode* stream = find_part(root, ConfigPart::camera, on.key);
  if (stream == nullptr) stream = find_part(root, ConfigPart::mosaic, on.key);
  if (stream == nullptr || stream->kind != Kind::map) return;
  std::erase_if(stream->children, [](const YamlNode& key) { return key.key == "enabled"; });
  on.key = "enabled";
  stream->children.push_back(std::move(on));
}

// Marks that give the order: errors are sorted by them.
class Converter {
 public:
  YamlNode node(const json& value, int depth) {
    YamlNode made;
    made.mark = made.key_mark = {++place_, 1, ConfigDocument::request};
    if (depth == max_depth) {
      made.problem = "nested more deeply than any rig needs";
    } else if (value.is_object()) {
      made.kind = Kind::map;
      for (const auto& [key, child] : value.items()) {
        made.children.push_back(node(child, depth + 1));
        made.children.back().key = key;
      }
    } else if (value.is_array()) {
      made.kind = Kind::list;
      for (const json& child : value) made.children.push_back(node(child, depth + 1));
    } else if (!value.is_null()) {
      made.kind = Kind::scalar;
      made.text = made.written = value.is_string() ? value.get<std::string>() : value.dump();
    }
    return made;
  }

 private:
  int place_ = 0;
};

}  // namespace

void mark_as(YamlNode& node, ConfigDocument document) {
  node.mark.document = node.key_mark.document = document;
  for (YamlNode& child : node.children) mark_as(child, document);
}

std::vector<std::string> lay_over(YamlNode& root, YamlNode over, Report& report) {
  std::vector<std::string> removed;
  if (over.kind == Kind::null && over.problem.empty()) return removed;  // an empty file
  if (!good_map(over, "", report)) return removed;
  for (YamlNode& part : over.children) {
    if (std::ranges::find(overlay_keys, part.key) == overlay_keys.end()) unknown_key(part, overlay_keys, report);
  }
  for (const std::string_view key : overlay_keys) {
    YamlNode* const part = find(over, key);
    if (part == nullptr || !good_map(*part, part->key, report) || part->children.empty()) continue;
    if (key == enabled_section) {
      for (YamlNode& child : part->children) put_enabled(root, std::move(child));
      continue;
    }
    YamlNode* const section = section_in(root, *part);
    if (section == nullptr) continue;
    for (YamlNode& child : part->children) {
      if (is_removal(child) && key != section_of(ConfigPart::group)) removed.push_back(child.key);
      put_entry(*section, std::move(child));
    }
  }
  return removed;
}

YamlNode tree_of(const CameraChanges& changes) {
  json all = json::object();
  for (const ConfigPart part : config_parts) all[std::string(section_of(part))] = changes.of(part);
  if (!changes.enabled.empty()) all[std::string(enabled_section)] = changes.enabled;
  return Converter().node(all, 0);
}

bool has_entry(const YamlNode& root, ConfigPart part, std::string_view name) {
  return find_part(root, part, name) != nullptr;
}

bool is_named(const YamlNode& root, ConfigPart part, std::string_view name) {
  if (has_entry(root, part, name)) return true;
  if (part == ConfigPart::group) return false;
  const YamlNode* const users = find(root, "users");
  return users != nullptr && std::ranges::any_of(users->children, [&](const YamlNode& user) {
           const YamlNode* const seen = find(user, "cameras");
           return seen != nullptr && std::ranges::find(seen->children, name, &YamlNode::text) != seen->children.end();
         });
}

std::vector<std::string> effects_on(const YamlNode& root, const YamlNode& overlay) {
  std::vector<std::string> effects;
  for (const ConfigPart part : config_parts) {
    const YamlNode* const section = find(overlay, section_of(part));
    if (section == nullptr) continue;
    const std::string kind = part == ConfigPart::camera ? "" : std::string(name_of(part)) + " ";
    for (const YamlNode& entry : section->children) {
      if (has_entry(root, part, entry.key))
        effects.push_back(kind + entry.key + (is_removal(entry) ? " removed" : " replaced"));
    }
  }
  for (const auto& [name, on] : changes_of(overlay).enabled) {
    const auto stays = [&, key = name](ConfigPart part) {
      const YamlNode* const changed = find_part(overlay, part, key);
      return has_entry(root, part, key) && (changed == nullptr || !is_removal(*changed));
    };
    if (stays(ConfigPart::camera) || stays(ConfigPart::mosaic))
      effects.push_back(name + (on ? " enabled" : " disabled"));
  }
  return effects;
}

CameraChanges changes_of(const YamlNode& overlay) {
  CameraChanges changes;
  for (const YamlNode& part : overlay.children) {
    for (const ConfigPart each : config_parts) {
      if (part.key == section_of(each)) changes.of(each) = json(json_of(part));
    }
    if (part.key != enabled_section) continue;
    for (const YamlNode& child : part.children) changes.enabled[child.key] = child.written == "true";
  }
  return changes;
}

}  // namespace campipe
