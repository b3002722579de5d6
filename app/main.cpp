// campipe: the command line, and the four roles of the one program.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "app/child.h"
#include "app/config.h"
#include "app/config_units.h"
#include "app/devices.h"
#include "app/master.h"
#include "app/plan.h"
#include "app/publisher.h"
#include "app/supervisor.h"
#include "app/worker.h"
#include "core/log.h"

namespace {

constexpr int internal_error = 1;
constexpr int usage_error = 2;

int run_role(const std::string& role) {
  if (!campipe::Child::started_by_supervisor()) {
    std::cerr << "campipe starts '" << role << "' itself; run campipe --config FILE\n";
    return usage_error;
  }
  try {
    if (role == "master") return campipe::run_master();
    if (role == "worker") return campipe::run_worker();
    return campipe::run_publisher();
  } catch (const std::exception& error) {
    spdlog::critical("{}", error.what());
    return internal_error;
  }
}

bool is_role(const std::string& word) { return word == "master" || word == "worker" || word == "publisher"; }

struct Arguments {
  std::string config;
  std::string duration;
  std::string report;
  std::string log_level = "info";
  bool check = false;
  bool plan = false;
  bool devices = false;
};

// A run's report must not fail at its end for want of a folder.
bool report_can_be_written(const std::string& file) {
  std::FILE* out = std::fopen(file.c_str(), "a");
  if (out == nullptr) return false;
  std::fclose(out);
  return true;
}

int run(const Arguments& arguments) {
  const campipe::LoadedConfig loaded = campipe::load_config(arguments.config);
  for (const auto& error : loaded.errors) std::cerr << campipe::format(error, arguments.config) << '\n';
  if (!loaded.errors.empty()) return usage_error;
  const campipe::Machine machine = campipe::this_machine();
  if (arguments.plan) std::cout << campipe::describe(campipe::plan(loaded.rig, machine), loaded.rig);
  if (arguments.check || arguments.plan) return 0;

  campipe::RunOptions options;
  options.log_level = arguments.log_level;
  if (!arguments.duration.empty()) options.duration = campipe::parse_time(arguments.duration);
  if (!arguments.report.empty()) {
    if (!report_can_be_written(arguments.report)) {
      std::cerr << "--report: cannot write '" << arguments.report << "': " << std::strerror(errno) << '\n';
      return usage_error;
    }
    options.report = arguments.report;
  }
  campipe::Supervisor supervisor(loaded.rig, machine, options);
  return supervisor.run();
}

void add_options(CLI::App& app, Arguments& arguments) {
  const auto is_duration = [](const std::string& text) {
    return campipe::parse_time(text) ? std::string()
                                     : "expected a duration such as 30s, 10m or 250ms, not '" + text + "'";
  };
  app.add_option("--config", arguments.config, "the rig's configuration (docs/configuration.md)")->type_name("FILE");
  app.add_flag("--check", arguments.check, "say what is wrong with the configuration, and end");
  app.add_flag("--plan", arguments.plan, "check, and print which worker gets which cameras");
  app.add_option("--duration", arguments.duration, "end after this time, e.g. 30s or 10m")
      ->check(is_duration)
      ->type_name("TIME");
  app.add_option("--report", arguments.report, "write what happened to every frame into this file at the end")
      ->type_name("FILE.json");
  app.add_option("--log-level", arguments.log_level, "trace, debug, info, warning or error")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error"}))
      ->type_name("LEVEL");
  app.add_flag("--devices", arguments.devices, "print what this machine offers");
  app.set_version_flag("--version", std::string("campipe ") + CAMPIPE_VERSION);
  app.footer(
      "Exit status: 0 ended as asked; 1 internal error; 2 usage or configuration error;\n"
      "3 ran, but some camera failed or never delivered.");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && is_role(argv[1])) return run_role(argv[1]);
  CLI::App app{
      "campipe takes many cameras, decodes each once, filters and encodes them in worker processes, and records them.",
      "campipe"};
  Arguments arguments;
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : usage_error;
  }
  try {
    campipe::init_logging("campipe", arguments.log_level);
    if (arguments.devices) {
      std::cout << campipe::describe_devices();
      return 0;
    }
    if (arguments.config.empty()) {
      std::cerr << "--config FILE is missing; campipe --help lists the options\n";
      return usage_error;
    }
    return run(arguments);
  } catch (const std::exception& error) {
    std::cerr << "campipe: " << error.what() << '\n';
    return internal_error;
  }
}
