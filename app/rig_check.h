// What `campipe --check` finds by looking at the machine, beyond what the configuration says: files are opened, filters
// are configured for the frames that come out of them, addresses are tried. Nothing is recorded, and no camera is
// asked.
#pragma once

#include <string>
#include <vector>

#include "app/config/config_error.h"

namespace campipe {

struct LoadedConfig;

struct RigCheck {
  std::vector<std::string> lines;       // for people: what each source is, and what to know before a start
  std::vector<ConfigError> errors;      // mistakes, in the order of the cameras
  std::vector<ConfigError> conditions;  // files that cannot be used as they are, in that order
};

// Takes as long as the files need to be opened, 10 s each at most.
RigCheck check_rig(const LoadedConfig& loaded);

}  // namespace campipe
