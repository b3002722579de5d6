// What reading a configuration waits for and cannot be sure to come back from: disks, and the libraries of encoders.
// Who loads it in a process of its own (app/control/load_process.h) learns of each step before it begins, and so can
// report what hung or crashed.
#pragma once

#include <functional>
#include <string>

#include "app/config/config_error.h"

namespace campipe {

struct LoadStep {
  ConfigError place;   // its message is what is done: "opening the encoder libx264"
  std::string remedy;  // should that hang or crash
};
using OnLoadStep = std::function<void(const LoadStep&)>;

}  // namespace campipe
