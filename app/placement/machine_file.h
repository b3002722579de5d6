// A machine that is not this one, for `campipe --plan --machine FILE`: what `campipe --devices --json` printed there,
// or what somebody has written like it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "app/placement/plan.h"

namespace campipe {

struct MachineRead {
  Machine machine;                    // where there are no mistakes
  std::vector<std::string> mistakes;  // "gpus[1].memory_mib: expected a number from 0 to …, got \"80G\""
};

// Reads up to 4 MiB. Cores, and index and UUID of each GPU have to be there; of what is left out a machine has nothing,
// and keys that are not known are another version's. Never throws for what is in the file.
MachineRead read_machine_file(const std::filesystem::path& file);
// The same, of its text.
MachineRead parse_machine(std::string_view text);

}  // namespace campipe
