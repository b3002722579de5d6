// The file that keeps measured costs: costs.json in the cache folder (core/own_folders.h). What is in it is believed
// only where all of it can be true, and only for the device, driver and version that it was measured with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/costs/cost_table.h"

namespace campipe {

// Nothing: this account has no folder for it.
std::optional<std::filesystem::path> costs_file();

struct CostCache {
  std::vector<DeviceCosts> devices;
  std::string problem;  // why nothing of the file is believed: "…/costs.json: …"; empty: it is, or there is none
};
// Never throws for what is in the file, or for what it is. Reads a regular file of this account, up to 4 MiB.
CostCache read_costs(const std::filesystem::path& file);
// The same, of its text. `name`: in messages.
CostCache parse_costs(std::string_view text, const std::string& name);
std::string costs_text(const std::vector<DeviceCosts>& devices);
// Replaces the file in one step, with what else it holds that is believed; its folder is made. Throws Error.
void write_costs(const std::filesystem::path& file, const std::vector<DeviceCosts>& measured);

// Those of this key; or why there are none: "the CPU was measured with campipe 0.0.9, this is 0.1.0".
std::variant<DeviceCosts, std::string> find_costs(const CostCache& cache, const CostKey& key);

// Of the machine that this is.
CostKey cpu_key();
CostKey gpu_key(const std::string& uuid, const std::string& name);

}  // namespace campipe
