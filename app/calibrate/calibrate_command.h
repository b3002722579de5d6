// `campipe calibrate-costs`
#pragma once

#include <string>
#include <vector>

#include "app/costs/cost_table.h"
#include "app/placement/devices.h"

namespace campipe {

struct CalibrateOptions {
  std::vector<std::string> devices;  // "cpu", or a GPU's index or UUID; empty: all
  bool check = false;                // measures what was predicted, too
  bool json = false;
};

// Returns the exit status.
int run_calibrate_costs(const CalibrateOptions& options);

// Measures these and keeps them in the cache file, if there is a place for it. Reports to standard error what it is at.
std::vector<DeviceCosts> measure_and_keep(bool cpu, const std::vector<Gpu>& gpus);

}  // namespace campipe
