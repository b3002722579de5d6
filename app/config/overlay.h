// Trees that go over the file's: its overlay, and changes through the API.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config/changes.h"
#include "app/config/report.h"
#include "app/config/yaml.h"

namespace campipe {

// `over` has the keys of an overlay. To be called before prepare_tree(). Returns the names of cameras
// and mosaics that it removes.
std::vector<std::string> lay_over(YamlNode& root, YamlNode over, Report& report);

// All marks of the tree are then of that document.
void mark_as(YamlNode& node, ConfigDocument document);

// Every scalar is text, which means the same in YAML.
YamlNode tree_of(const CameraChanges& changes);
CameraChanges changes_of(const YamlNode& overlay);

// `root`, the tree of a file, has an entry of that name.
bool has_entry(const YamlNode& root, ConfigPart part, std::string_view name);
// `root`, the tree of a file, has an entry of that name, or lets a user see a camera or mosaic of that name.
bool is_named(const YamlNode& root, ConfigPart part, std::string_view name);
// What an overlay does to what is in the file itself, such as "dock replaced" or "mosaic wall removed".
std::vector<std::string> effects_on(const YamlNode& root, const YamlNode& overlay);

}  // namespace campipe
