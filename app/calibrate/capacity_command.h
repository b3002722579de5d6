// `campipe capacity`
#pragma once

#include <string>

namespace campipe {

struct CapacityOptions {
  std::string config;
  std::string assume = "h264:1920x1080@25";  // of sources that are not opened for it: live ones
  bool estimate = false;                     // measures nothing
  bool json = false;
};

// "CODEC:WIDTHxHEIGHT@RATE"; an error's text: it is none. Empty: it is.
std::string check_assumed_stream(const std::string& text);

// Returns the exit status.
int run_capacity(const CapacityOptions& options);

}  // namespace campipe
