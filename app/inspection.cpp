#include "app/inspection.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "app/config/config.h"
#include "app/config/exit_status.h"
#include "app/config/rig_groups.h"
#include "app/control/message_dispatch.h"
#include "app/control/messages/links_found.h"
#include "app/placement/camera_weights.h"
#include "app/placement/devices.h"
#include "app/placement/graph.h"
#include "app/placement/link_offer.h"
#include "app/placement/machine_costs.h"
#include "app/placement/machine_file.h"
#include "app/placement/missing_gpus.h"
#include "app/placement/plan.h"
#include "app/probe/link_check.h"
#include "app/rig_check.h"
#include "core/time_zone.h"

namespace campipe {
namespace {

// "2 cameras, 1 mosaic"
std::string count_of(const RigConfig& rig) {
  const auto mosaics = static_cast<std::size_t>(
      std::ranges::count_if(rig.cameras, [](const CameraConfig& camera) { return camera.mosaic.has_value(); }));
  std::string text;
  const auto add = [&](std::size_t number, const std::string& what) {
    if (number > 0) text += (text.empty() ? "" : ", ") + std::to_string(number) + " " + what + (number > 1 ? "s" : "");
  };
  add(rig.cameras.size() - mosaics, "camera");
  add(mosaics, "mosaic");
  add(groups_of(rig).size(), "group");
  return text;
}

void sort_by_place(std::vector<ConfigError>& errors) {
  std::ranges::stable_sort(
      errors, {}, [](const ConfigError& error) { return std::tuple(error.document, error.line, error.column); });
}

// `costs`: those of the machine.
void print_plan(const RigConfig& rig, const Machine& machine, const MachineCosts& costs, const std::string& format) {
  const RigPlan plan = balanced_plan(rig, machine, costs);
  const Graph graph = make_graph(rig, plan, machine.devices);
  if (format == "dot") {
    std::cout << to_dot(graph);
  } else if (format == "json") {
    std::cout << to_json(graph).dump(2) << '\n';
  } else {
    std::cout << describe(graph);
  }
}

}  // namespace

bool report_errors(const std::vector<ConfigError>& errors, const std::string& file) {
  for (const auto& error : errors) std::cerr << format(error, file) << '\n';
  return !errors.empty();
}

std::vector<std::string> describe_conditions(std::vector<ConfigError> conditions, const std::string& file) {
  sort_by_place(conditions);
  std::vector<std::string> lines;
  for (const auto& condition : conditions) lines.push_back("not now: " + format(condition, file));
  return lines;
}

int check(const LoadedConfig& loaded, std::vector<ConfigError> errors, const std::string& file) {
  const RigCheck found = check_rig(loaded);
  for (const std::string& line : found.lines) std::cout << line << '\n';
  errors.insert(errors.end(), found.errors.begin(), found.errors.end());
  sort_by_place(errors);
  if (report_errors(errors, file)) return usage_error;
  std::vector<ConfigError> conditions = loaded.conditions;
  conditions.insert(conditions.end(), found.conditions.begin(), found.conditions.end());
  for (const std::string& line : describe_conditions(std::move(conditions), file)) std::cout << line << '\n';
  if (const std::string problem = time_zone_problem(); !problem.empty()) std::cout << "note: " << problem << '\n';
  std::cout << "fine: " << count_of(loaded.rig) << '\n';
  return 0;
}

void show_devices(bool as_json) {
  const Devices devices = probe_devices(probe_for_people);
  const messages::LinksFound links = check_links();
  if (as_json) {
    nlohmann::json all = nlohmann::json::parse(describe_devices_json(devices));
    all["links"] = write_message(links);
    std::cout << all.dump(2) << '\n';
  } else {
    std::cout << describe_devices(devices) << "links: " << describe(links) << '\n';
  }
}

void show_plan(const LoadedConfig& loaded, const Machine& machine, const std::string& format) {
  print_plan(loaded.rig, machine, load_machine_costs(machine.devices), format);
}

int show_plan_for(const std::string& machine_file, const LoadedConfig& loaded, const std::string& file,
                  const std::string& format) {
  MachineRead read = read_machine_file(machine_file);
  for (const std::string& mistake : read.mistakes) std::cerr << machine_file << ": " << mistake << '\n';
  if (!read.mistakes.empty()) return usage_error;
  const auto [errors, conditions] = check_gpus(loaded, read.machine);
  if (report_errors(errors, file)) return usage_error;
  for (const std::string& line : describe_conditions(conditions, file)) std::cerr << line << '\n';
  add_missing_gpus(read.machine.devices, loaded.rig);
  const MachineCosts costs = machine_costs({}, read.machine.devices);
  print_plan(loaded.rig, read.machine, costs, format);
  return 0;
}

}  // namespace campipe
