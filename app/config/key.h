// The one description of each configuration key: app/config/keys/ has a file for each map. What reads, merges and
// documents keys, their JSON and `campipe --schema` derive from it: see key_table.h and json.cpp, which alone include
// those files.
//
// describe_keys(keys, Of<Config>()) calls for each key of a map, in the order of the documentation, one of
//   keys.key(name, member, text)           a choice: what it may be is in names.h; std::optional: also `auto`
//   keys.key(name, member, values, text)   any other value
//   keys.section(name, member, text)       a map with keys of its own; std::optional: there may be none
//   keys.group(name, text, describe)       a map whose values are members of the same Config
//   keys.entries(name, member, read, schema, text)  a map from names to Configs, which `read` puts into Given::Parts
//   keys.part(name, read, schema, text)    the same, without a member of its own
//   keys.inlined(member)                   another Config, whose keys stand among these
//   keys.hidden(name, member)              no key of the file, but a value that other processes need
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace campipe {

class Report;
struct YamlNode;
template <typename Config>
struct Given;
template <typename Config>
struct Of {};

// For which sources and streams a key means something. For another it is an error where the camera gives it; in
// `defaults` it does not apply.
enum class KeyScope : std::uint8_t {
  all,
  files,      // and test patterns: what is not live
  rtsp,       // rtsp and rtsps
  tls,        // rtsps and https
  servers,    // rtsp(s) and http(s), which may send their reader elsewhere
  devices,    // capture devices
  rates,      // capture devices, and pictures that are numbered or at a URL
  transcoded  // streams that are not copied (app/config/copy.cpp)
};

// In Markdown, as docs/configuration.md shows it.
struct KeyText {
  std::string_view meaning;
  std::string_view unit = {};
  std::string_view range = {};     // empty: what its values allow
  std::string_view fallback = {};  // what holds where it is not given; empty: the member's initial value
  KeyScope scope = KeyScope::all;
  std::string_view excludes = {};  // the path of a key that must not stand beside it; either replaces the other
  bool of_codec = false;           // not inherited from a map with another codec
};
inline constexpr std::string_view required = "required";  // as KeyText::fallback

// What values a key takes. These three know their type, range and schema.
struct IntegerKey {
  int min = 0;
  int max = 0;
  bool may_be_auto = false;  // which is the member's initial value
};
struct NumberKey {
  double min = 0;
  double max = 0;
};
struct DurationKey {
  std::chrono::nanoseconds min;
  std::chrono::nanoseconds max;
  std::string_view zero = {};  // not empty: `0` is a value too, and means this
};
// Any other: a reader that reports what it refuses, and its description in the documentation and a JSON Schema.
template <typename Value>
struct ParsedKey {
  std::optional<Value> (*read)(const YamlNode& node, Report& report);
  std::string_view type;
  std::string_view schema;  // JSON; `$defs` are those of schema.cpp
};

}  // namespace campipe
