#include "app/calibrate/commands.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/calibrate/calibrate_command.h"
#include "app/calibrate/capacity_command.h"

namespace campipe {
namespace {

void add_calibrate(CLI::App& app, std::function<int()>& chosen) {
  CLI::App& calibrate = *app.add_subcommand(
      "calibrate-costs", "measure what filters, decoders and encoders cost here, and keep it for `capacity`");
  auto options = std::make_shared<CalibrateOptions>();
  calibrate.add_option("--device", options->devices, "only this one: cpu, or a GPU's index or UUID; may be repeated")
      ->type_name("DEVICE");
  calibrate.add_flag("--check", options->check, "measure further sizes and chains, and compare them with predictions");
  calibrate.add_flag("--json", options->json, "print JSON");
  calibrate.footer("It takes a minute for each device. Nothing else should run meanwhile.");
  calibrate.callback([&chosen, options] { chosen = [=] { return run_calibrate_costs(*options); }; });
}

void add_capacity(CLI::App& app, std::function<int()>& chosen) {
  CLI::App& capacity = *app.add_subcommand(
      "capacity", "tell how many more of each camera fit on this machine, and what they lack first");
  auto options = std::make_shared<CapacityOptions>();
  capacity.add_option("--config", options->config, "the rig's configuration (docs/configuration.md)")
      ->required()
      ->type_name("FILE");
  capacity
      .add_option("--assume", options->assume, "what live cameras send, which are not asked: CODEC:WIDTHxHEIGHT@RATE")
      ->check(check_assumed_stream)
      ->capture_default_str()
      ->type_name("STREAM");
  capacity.add_flag("--estimate", options->estimate, "where costs have not been measured, estimate them");
  capacity.add_flag("--json", options->json, "print JSON");
  capacity.footer("Costs that have not been measured here are measured first, as by calibrate-costs.");
  capacity.callback([&chosen, options] { chosen = [=] { return run_capacity(*options); }; });
}

}  // namespace

void add_cost_commands(CLI::App& app, std::function<int()>& chosen) {
  add_calibrate(app, chosen);
  add_capacity(app, chosen);
}

}  // namespace campipe
