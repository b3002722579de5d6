// A mistake in a configuration.
#pragma once

#include <cstdint>
#include <string>

namespace campipe {

// What a value stands in: the file, its overlay, or a request to the API (app/config/changes.h). In the order in which
// they go over one another.
enum class ConfigDocument : std::uint8_t { file, overlay, request };

// One mistake, as a compiler would report it: "rig.yaml:14:7: cameras.dock.filters[1].resize.widht: unknown key, did
// you mean 'width'?"
struct ConfigError {
  int line = 0;  // from 1; 0: the file as a whole
  int column = 0;
  std::string path;  // of the key; may be empty
  std::string message;
  ConfigDocument document = ConfigDocument::file;
  bool contradicts = false;  // it is good in itself, but not beside what stands elsewhere
};
// `file`: the configuration's; a mistake in its overlay is reported with that file's name.
std::string format(const ConfigError& error, const std::string& file);

}  // namespace campipe
