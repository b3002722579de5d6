#include "app/config/overlay.h"

#include <algorithm>
#include <array>
#include <utility>

#include "app/config/reader.h"

namespace campipe {
namespace {

using nlohmann::json;
using Kind = YamlNode::Kind;

constexpr int max_depth = 16;  // as of files
constexpr std::array<std::string_view, 2> overlay_keys{"cameras", "enabled"};

template <typename Node>
Node* find(Node& map, std::string_view key) {
  const auto found = std::ranges::find(map.children, key, &YamlNode::key);
  return found == map.children.end() ? nullptr : &*found;
}

// Of `section`: "cameras" or "mosaics".
template <typename Node>
Node* find_stream(Node& root, std::string_view section, std::string_view name) {
  Node* const streams = find(root, section);
  return streams != nullptr ? find(*streams, name) : nullptr;
}

bool has_camera(const YamlNode& root, std::string_view name) { return find_stream(root, "cameras", name) != nullptr; }
bool has_mosaic(const YamlNode& root, std::string_view name) { return find_stream(root, "mosaics", name) != nullptr; }

// Paths, for the errors reported here: the tree is not prepared yet.
bool good_map(YamlNode& node, const std::string& path, Report& report) {
  node.path = path;
  if (!is_map(node, report)) return false;
  for (YamlNode& child : node.children) child.path = join_path(path, child.key);
  for (auto child = node.children.begin(); child != node.children.end(); ++child) {
    if (std::find_if(node.children.begin(), child, [&](const YamlNode& other) { return other.key == child->key; }) ==
        child)
      continue;
    report.at_key(*child, "duplicate key");
    return false;
  }
  return true;
}

// The `cameras` of the file, made where there are none; null where something else stands there.
YamlNode* cameras_of(YamlNode& root, const YamlNode& like) {
  if (root.kind != Kind::map) return nullptr;
  YamlNode* cameras = find(root, "cameras");
  if (cameras == nullptr) {
    cameras = &root.children.emplace_back();
    cameras->kind = Kind::map;
    cameras->key = "cameras";
    cameras->key_mark = cameras->mark = like.key_mark;
  }
  return cameras->kind == Kind::map ? cameras : nullptr;
}

void put_camera(YamlNode& cameras, YamlNode camera, std::vector<std::string>& removed) {
  YamlNode* const there = find(cameras, camera.key);
  if (camera.kind == Kind::null && camera.problem.empty()) {
    removed.push_back(camera.key);
    std::erase_if(cameras.children, [&](const YamlNode& node) { return node.key == camera.key; });
  } else if (there != nullptr) {
    *there = std::move(camera);
  } else {
    cameras.children.push_back(std::move(camera));
  }
}

// Of a camera or mosaic. One that is not there any more needs none.
void put_enabled(YamlNode& root, YamlNode on) {
  YamlNode* stream = find_stream(root, "cameras", on.key);
  if (stream == nullptr) stream = find_stream(root, "mosaics", on.key);
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

json json_of(const YamlNode& node) {
  json made;
  switch (node.kind) {
    case Kind::null:
      break;
    case Kind::scalar:
      made = node.written;
      break;
    case Kind::list:
      made = json::array();
      for (const YamlNode& child : node.children) made.push_back(json_of(child));
      break;
    case Kind::map:
      made = json::object();
      for (const YamlNode& child : node.children) made[child.key] = json_of(child);
      break;
  }
  return made;
}

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
  // In this order, wherever they stand: `enabled` is of the camera as it is then.
  for (const std::string_view key : overlay_keys) {
    YamlNode* const part = find(over, key);
    if (part == nullptr || !good_map(*part, part->key, report) || part->children.empty()) continue;
    YamlNode* const cameras = cameras_of(root, *part);
    if (cameras == nullptr) continue;
    for (YamlNode& child : part->children) {
      if (key == "enabled") {
        put_enabled(root, std::move(child));
      } else if (has_mosaic(root, child.key)) {
        report.at_key(child, "a mosaic has this name; mosaics are changed in the file");
      } else {
        put_camera(*cameras, std::move(child), removed);
      }
    }
  }
  return removed;
}

YamlNode tree_of(const CameraChanges& changes) {
  json all{{"cameras", changes.cameras}};
  if (!changes.enabled.empty()) all["enabled"] = changes.enabled;
  return Converter().node(all, 0);
}

bool names_camera(const YamlNode& root, std::string_view name) {
  if (has_camera(root, name)) return true;
  const YamlNode* const users = find(root, "users");
  return users != nullptr && std::ranges::any_of(users->children, [&](const YamlNode& user) {
           const YamlNode* const seen = find(user, "cameras");
           return seen != nullptr && std::ranges::find(seen->children, name, &YamlNode::text) != seen->children.end();
         });
}

std::vector<std::string> effects_on(const YamlNode& root, const YamlNode& overlay) {
  std::vector<std::string> effects;
  const YamlNode* const cameras = find(overlay, "cameras");
  if (cameras != nullptr) {
    for (const YamlNode& camera : cameras->children) {
      if (!has_camera(root, camera.key)) continue;
      effects.push_back(camera.key + (camera.kind == Kind::null ? " removed" : " replaced"));
    }
  }
  for (const auto& [name, on] : changes_of(overlay).enabled) {
    const bool goes = cameras != nullptr && find(*cameras, name) != nullptr && find(*cameras, name)->kind == Kind::null;
    if ((has_camera(root, name) || has_mosaic(root, name)) && !goes)
      effects.push_back(name + (on ? " enabled" : " disabled"));
  }
  return effects;
}

CameraChanges changes_of(const YamlNode& overlay) {
  CameraChanges changes;
  for (const YamlNode& part : overlay.children) {
    if (part.key == "cameras") changes.cameras = json_of(part);
    if (part.key != "enabled") continue;
    for (const YamlNode& child : part.children) changes.enabled[child.key] = child.written == "true";
  }
  return changes;
}

}  // namespace campipe
