// The keys of a map as a table, made of their descriptions (app/config/key.h): what reads and merges them, the pages of
// the documentation and the schema all walk it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/given.h"
#include "app/config/key.h"

namespace campipe {

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

template <typename Config>
struct Key : KeyInfo {
  std::function<bool(const YamlNode&, Given<Config>&, Report&)> read;  // false: reported
  std::function<void(Config& to, const Config& from)> copy;            // of a map and of entries: none
  std::function<void(Config& to, const Config& from)> add;             // of values by name: those that `to` lacks
};

// Maps come before what is in them. The tables live as long as the program. There is one of each Config that has
// describe_keys() and is read as a map of its own.
template <typename Config>
const std::vector<Key<Config>>& keys_of();

// The names of the keys of one map.
template <typename Config>
std::vector<std::string_view> key_names(std::string_view section = "") {
  std::vector<std::string_view> names;
  for (const KeyInfo& key : keys_of<Config>()) {
    if (key.section() == section) names.push_back(key.name());
  }
  return names;
}

// Reads a map by its table. False when anything in it was reported.
template <typename Config>
bool read_keys(const YamlNode& node, Given<Config>& given, Report& report, std::string_view section = "");

// What `own` does not give comes from `outer`: values as a whole, maps key by key. `applies`: which keys may.
template <typename Config>
void inherit(Origins& own, Config& value, const Origins& outer, const Config& outer_value,
             const std::function<bool(const KeyInfo&)>& applies);

// Its description in the documentation, with the sources that it is for.
std::string documented_meaning(const KeyInfo& key);

// Every map of the file that has fixed keys: its name ("" is the file itself) and its keys.
struct ConfigSection {
  std::string name;
  std::vector<KeyInfo> keys;
};
std::vector<ConfigSection> config_sections();

}  // namespace campipe
