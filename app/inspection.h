// What the command line prints of a rig that is not started: mistakes, conditions, the plan, what the machine offers.
// Mistakes go to standard error, everything else to standard output.
#pragma once

#include <string>
#include <vector>

#include "app/config/config_error.h"

namespace campipe {

struct LoadedConfig;
struct Machine;

// False: nothing was wrong. `file`: the configuration's, here and below.
bool report_errors(const std::vector<ConfigError>& errors, const std::string& file);
// "not now: rig.yaml:6:12: …", in the order of the file: what needs it waits, or runs elsewhere.
std::vector<std::string> describe_conditions(std::vector<ConfigError> conditions, const std::string& file);
// `campipe --check` of a configuration that is good by itself. `errors`: mistakes with devices. Returns the exit
// status.
int check(const LoadedConfig& loaded, std::vector<ConfigError> errors, const std::string& file);

void show_devices(bool as_json);
// `machine` has all that the rig asks for (app/placement/missing_gpus.h). `format`: text, dot or json.
void show_plan(const LoadedConfig& loaded, const Machine& machine, const std::string& format);
// For a machine that is not this one, of which nothing is asked but that it reads the files. Nothing is known of what
// work costs there. Returns the exit status.
int show_plan_for(const std::string& machine_file, const LoadedConfig& loaded, const std::string& file,
                  const std::string& format);

}  // namespace campipe
