// The keys of a map as a table, made of their descriptions (app/config/key.h, key_collector.h): what reads and merges
// them, the pages of the documentation and the schema all walk it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/given.h"
#include "app/config/key.h"

namespace campipe {

struct CameraConfig;
struct GroupKeys;
struct MosaicKeys;
struct OutputConfig;
struct RigConfig;
struct StreamConfig;
struct UserConfig;

struct KeyInfo {
  enum class Kind : std::uint8_t { value, map, entries };  // entries: names and maps below it, read by the map's owner

  std::string path;  // "encode.codec"
  Kind kind = Kind::value;
  KeyText text;
  std::string type;  // as the documentation shows them
  std::string range;
  std::string fallback;
  std::string schema;  // JSON; of a map: empty

  [[nodiscard]] std::string_view name() const { return std::string_view(path).substr(path.rfind('.') + 1); }
  // The path of the map that it stands in; "": the whole.
  [[nodiscard]] std::string_view section() const {
    return std::string_view(path).substr(0, path.find('.') == std::string::npos ? 0 : path.rfind('.'));
  }
  [[nodiscard]] bool is_required() const { return text.fallback == required; }
};

// The way from a whole configuration to a value in it.
class KeyPlace {
 public:
  // The place of a member of what is at this one.
  [[nodiscard]] KeyPlace then(std::size_t offset) const;
  // The place of what the optional value here holds. `inside` returns its address. If the optional is empty, it makes
  // a value for `make` and returns null otherwise.
  [[nodiscard]] KeyPlace then_inside(void* (*inside)(void* optional, bool make)) const;

  // Null: it is in an optional value that there is not.
  [[nodiscard]] const void* find_in(const void* config) const;
  [[nodiscard]] void* make_in(void* config) const;

 private:
  struct Optional {
    std::size_t offset = 0;
    void* (*inside)(void* optional, bool make) = nullptr;
  };
  void* in(void* config, bool make) const;

  std::vector<Optional> through_;
  std::size_t offset_ = 0;  // in the last of those; else in the whole
};

// Types are erased here, so that each description is compiled once, and not once for each whole that it is part of.
struct Key : KeyInfo {
  KeyPlace place;  // of a value; so are the next three
  std::function<bool(const YamlNode&, const KeyPlace&, void* config, Report&)> read;  // false: reported
  void (*copy)(void* to, const void* from) = nullptr;
  void (*add)(void* to, const void* from) = nullptr;  // of values by name: those that `to` lacks

  std::function<bool(const YamlNode&, Origins& given, Report&)> read_entries;  // of entries
};
using KeyTable = std::vector<Key>;

// Copies the key's value between two configurations of the table's type. Changes nothing if `from` has no such value.
void copy_value(const Key& key, void* to, const void* from);

// Maps come before what is in them. The tables live as long as the program. There is one of each Config that has
// describe_keys() and is read as a map of its own.
template <typename Config>
const KeyTable& keys_of();
template <>
const KeyTable& keys_of<RigConfig>();
template <>
const KeyTable& keys_of<UserConfig>();
template <>
const KeyTable& keys_of<CameraConfig>();
template <>
const KeyTable& keys_of<StreamConfig>();
template <>
const KeyTable& keys_of<OutputConfig>();
template <>
const KeyTable& keys_of<MosaicKeys>();
template <>
const KeyTable& keys_of<GroupKeys>();

// The names of the keys of one map.
std::vector<std::string_view> names_in(const KeyTable& table, std::string_view section);
template <typename Config>
std::vector<std::string_view> key_names(std::string_view section = "") {
  return names_in(keys_of<Config>(), section);
}

// Reads a map by its table. False when anything in it was reported. `config`: of the table's type, as below.
bool read_map(const KeyTable& table, const YamlNode& node, Origins& given, void* config, Report& report,
              std::string_view section);
template <typename Config>
bool read_keys(const YamlNode& node, Given<Config>& given, Report& report) {
  return read_map(keys_of<Config>(), node, given, &given.value, report, "");
}

// What `own` does not give comes from `outer`: values as a whole, maps key by key. `applies`: which keys may.
void inherit_map(const KeyTable& table, Origins& own, void* config, const Origins& outer, const void* outer_config,
                 const std::function<bool(const KeyInfo&)>& applies);
template <typename Config>
void inherit(Origins& own, Config& value, const Origins& outer, const Config& outer_value,
             const std::function<bool(const KeyInfo&)>& applies) {
  inherit_map(keys_of<Config>(), own, &value, outer, &outer_value, applies);
}

// Its description in the documentation, with the sources that it is for.
std::string documented_meaning(const KeyInfo& key);

// Every map of the file that has fixed keys: its name ("" is the file itself) and its keys.
struct ConfigSection {
  std::string name;
  std::vector<KeyInfo> keys;
};
std::vector<ConfigSection> config_sections();

}  // namespace campipe
