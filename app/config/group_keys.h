// A synchronised group as the file gives it.
#pragma once

#include <string>
#include <vector>

#include "app/config/group_config.h"

namespace campipe {

struct GroupKeys : GroupConfig {
  std::vector<std::string> cameras;
};

}  // namespace campipe
