// YAML as a small tree of text, read so that no file can do harm: a regular file of at most 1 MiB, valid UTF-8,
// bounded depth and size, no anchors and aliases, no tags. What a scalar means is decided by its reader.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "app/config/config_error.h"

namespace campipe {

struct Mark {
  int line = 0;    // from 1; 0: no place in the file
  int column = 0;  // from 1, in characters
  ConfigDocument document = ConfigDocument::file;
};

// An environment variable that a scalar was filled in from. Its value may be a secret: it is never printed.
struct Variable {
  std::string name;
  std::string value;
};

struct YamlNode {
  enum class Kind : std::uint8_t { null, scalar, list, map };

  Kind kind = Kind::null;
  std::string key;                  // in a map: its name there
  Mark key_mark;                    // in a map: where that name stands; else `mark`
  Mark mark;                        // where the value begins; nothing given: where its key or its list does
  std::string path;                 // e.g. cameras.dock.filters[1].resize
  std::string text;                 // scalar: its text, variables filled in
  std::string written;              // scalar: as it stands in the file
  std::vector<Variable> variables;  // scalar: what was filled in from the environment
  std::vector<YamlNode> children;   // of a list or a map, in the file's order
  std::string problem;              // not empty: why this value cannot be used
};

// As it stands in the file, where a variable is in it; else nothing.
inline std::string written_with_variables(const YamlNode& node) {
  return node.variables.empty() ? std::string() : node.written;
}

// The tree, or why there is none. Neither paths nor variables are filled in yet.
using YamlResult = std::variant<YamlNode, ConfigError>;
// `digest`: of what stands in the file, where it can be read; another text has another one.
YamlResult read_yaml_file(const std::filesystem::path& file, std::uint64_t* digest = nullptr);
YamlResult parse_yaml(std::string text);
// The text of a file that has this digest. Throws Error where it cannot be read, or is another one by now.
std::string text_of_file(const std::filesystem::path& file, std::uint64_t digest);

bool is_utf8(const std::string& text);

}  // namespace campipe
