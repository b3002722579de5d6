#include "app/config/key_table.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "app/config/key_values.h"
#include "app/config/reader.h"

namespace campipe {
namespace {

const Key* find_key(const KeyTable& table, std::string_view section, std::string_view name) {
  for (const Key& key : table) {
    if (key.section() == section && key.name() == name) return &key;
  }
  return nullptr;
}

// Two keys of one map that exclude one another.
bool check_exclusions(const KeyTable& table, std::string_view section, const Origins& given, Report& report) {
  bool good = true;
  for (const KeyInfo& key : table) {
    if (key.section() != section || key.text.excludes.empty() || key.path > key.text.excludes) continue;
    const auto& [one, other] = std::tie(given[key.path], given[key.text.excludes]);
    if (one.node == nullptr || other.node == nullptr) continue;
    // Both are elements of one vector: the greater address comes later in the file.
    report.at_key(*std::max(one.node, other.node),
                  code(one.node->key) + " and " + code(other.node->key) + " exclude one another");
    good = false;
  }
  return good;
}

bool read_key(const KeyTable& table, const Key& key, const YamlNode& node, Origins& given, void* config,
              Report& report) {
  if (key.kind == KeyInfo::Kind::value) {
    const bool good = key.read(node, key.place, config, report);
    given.at(key.path) = {.node = &node, .good = good};
    return good;
  }
  given.at(key.path).node = &node;
  const bool good = key.kind == KeyInfo::Kind::map ? read_map(table, node, given, config, report, key.path)
                                                   : key.read_entries(node, given, report);
  given.at(key.path).good = good;
  return good;
}

void change_value(const Key& key, void (*change)(void* to, const void* from), void* to, const void* from) {
  const void* const value = key.place.find_in(from);
  if (value != nullptr) change(key.place.make_in(to), value);
}

std::vector<KeyInfo> infos_in(const auto& table, std::string_view section) {
  std::vector<KeyInfo> keys;
  for (const KeyInfo& key : table) {
    if (key.section() == section) keys.push_back(key);
  }
  return keys;
}

}  // namespace

KeyPlace KeyPlace::then(std::size_t offset) const {
  KeyPlace place = *this;
  place.offset_ += offset;
  return place;
}

KeyPlace KeyPlace::then_inside(void* (*inside)(void* optional, bool make)) const {
  KeyPlace place;
  place.through_ = through_;
  place.through_.push_back({offset_, inside});
  return place;
}

void* KeyPlace::in(void* config, bool make) const {
  for (const Optional& optional : through_) {
    config = optional.inside(static_cast<char*>(config) + optional.offset, make);
    if (config == nullptr) return nullptr;
  }
  return static_cast<char*>(config) + offset_;
}

// Only `make` changes it.
const void* KeyPlace::find_in(const void* config) const { return in(const_cast<void*>(config), false); }
void* KeyPlace::make_in(void* config) const { return in(config, true); }

void copy_value(const Key& key, void* to, const void* from) { change_value(key, key.copy, to, from); }

const Origin& Origins::operator[](std::string_view path) const {
  static const Origin nowhere;
  const auto found = given_.find(path);
  if (found != given_.end()) return found->second;
  if (!is_key_(path)) throw std::logic_error("no key of the configuration: " + std::string(path));
  return nowhere;
}

std::vector<std::string_view> names_in(const KeyTable& table, std::string_view section) {
  std::vector<std::string_view> names;
  for (const KeyInfo& key : table) {
    if (key.section() == section) names.push_back(key.name());
  }
  return names;
}

template <typename Config>
bool is_key(std::string_view path) {
  return std::ranges::any_of(keys_of<Config>(), [&](const KeyInfo& key) { return key.path == path; });
}
template bool is_key<CameraConfig>(std::string_view);
template bool is_key<MosaicKeys>(std::string_view);
template bool is_key<GroupKeys>(std::string_view);
template bool is_key<OutputConfig>(std::string_view);
template bool is_key<RigConfig>(std::string_view);
template bool is_key<UserConfig>(std::string_view);

bool read_map(const KeyTable& table, const YamlNode& node, Origins& given, void* config, Report& report,
              std::string_view section) {
  if (section.empty()) given.node = &node;
  if (!is_map(node, report)) return false;
  bool good = true;
  for (const YamlNode& child : node.children) {
    if (const Key* key = find_key(table, section, child.key)) {
      good = read_key(table, *key, child, given, config, report) && good;
    } else {
      unknown_key(child, names_in(table, section), report);
      good = false;
    }
  }
  return check_exclusions(table, section, given, report) && good;
}

void inherit_map(const KeyTable& table, Origins& own, void* config, const Origins& outer, const void* outer_config,
                 const std::function<bool(const KeyInfo&)>& applies) {
  const Origins before = own;  // a key that was inherited excludes no other
  for (const Key& key : table) {
    const Origin& from = outer[key.path];
    if (from.node == nullptr || !applies(key)) continue;
    if (!key.text.excludes.empty() && before[key.text.excludes].node != nullptr) continue;
    Origin& origin = own.at(key.path);
    if (origin.node == nullptr) {
      origin = from;
      ++origin.inherited;
      if (from.good && key.copy != nullptr) copy_value(key, config, outer_config);
    } else if (key.kind == KeyInfo::Kind::map) {
      origin.outer.push_back(from.node);
      origin.outer.insert(origin.outer.end(), from.outer.begin(), from.outer.end());
      origin.good = origin.good && from.good;
    } else if (key.add != nullptr && origin.good && from.good) {
      change_value(key, key.add, config, outer_config);
    }
  }
}

std::string documented_meaning(const KeyInfo& key) {
  // Maps are described by their section.
  const std::string sources = key.section().empty() ? sources_of(key.text.scope) : "";
  return std::string(key.text.meaning) + (sources.empty() ? "" : "; only for " + sources);
}

std::vector<ConfigSection> config_sections() {
  const auto& camera = keys_of<CameraConfig>();
  std::vector<ConfigSection> sections{{"", infos_in(keys_of<RigConfig>(), "")}, {"camera", infos_in(camera, "")}};
  for (const KeyInfo& key : camera) {
    if (key.kind == KeyInfo::Kind::map) sections.push_back({key.path, infos_in(camera, key.path)});
  }
  sections.push_back({"outputs", infos_in(keys_of<OutputConfig>(), "")});
  sections.push_back({"mosaics", infos_in(keys_of<MosaicKeys>(), "")});
  sections.push_back({"sync_groups", infos_in(keys_of<GroupKeys>(), "")});
  sections.push_back({"workers", infos_in(keys_of<RigConfig>(), "workers")});
  sections.push_back({"cluster", infos_in(keys_of<RigConfig>(), "cluster")});
  sections.push_back({"tls of the cluster", infos_in(keys_of<RigConfig>(), "cluster.tls")});
  sections.push_back({"links of the cluster", infos_in(keys_of<RigConfig>(), "cluster.links")});
  sections.push_back({"tls of the servers", infos_in(keys_of<RigConfig>(), "tls")});
  sections.push_back({"sessions", infos_in(keys_of<RigConfig>(), "sessions")});
  sections.push_back({"users", infos_in(keys_of<UserConfig>(), "")});
  return sections;
}

}  // namespace campipe
