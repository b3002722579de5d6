// campipe: the command line, and the roles of the one program.
#include <sys/resource.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>

#include "app/calibrate/commands.h"
#include "app/cluster/cluster_commands.h"
#include "app/cluster/cluster_process.h"
#include "app/commands/commands.h"
#include "app/config/changes.h"
#include "app/config/config.h"
#include "app/config/exit_status.h"
#include "app/config/units.h"
#include "app/config/yaml.h"
#include "app/control/child.h"
#include "app/control/descriptor_limit.h"
#include "app/control/fork_server.h"
#include "app/control/load_process.h"
#include "app/control/rig_signals.h"
#include "app/inspection.h"
#include "app/link/link_check.h"
#include "app/link/link_process.h"
#include "app/master/master.h"
#include "app/placement/devices.h"
#include "app/placement/machine_costs.h"
#include "app/placement/missing_gpus.h"
#include "app/placement/plan.h"
#include "app/placement/preflight.h"
#include "app/probe/device_check.h"
#include "app/probe/device_probe.h"
#include "app/publisher/publisher.h"
#include "app/publisher/recordings_command.h"
#include "app/publisher/server/snapshot_decoder.h"
#include "app/source/source.h"
#include "app/supervisor/life/admission.h"
#include "app/supervisor/port/real_port.h"
#include "app/supervisor/port/real_report_writer.h"
#include "app/supervisor/supervisor.h"
#include "app/worker/worker.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/gpu.h"
#include "core/log.h"
#include "core/own_folders.h"
#include "core/pretended_gpus.h"
#include "core/time_zone.h"

namespace {

constexpr int internal_error = 1;
using campipe::usage_error;
constexpr auto longest_load = std::chrono::seconds(2);  // of what processes are forked from
constexpr auto probe_before_a_run = std::chrono::seconds(20);

// `about`: a file, of load-config; a GPU, of check-gpu.
int run_role(const std::string& role, const char* about) {
  if (!campipe::Child::started_by_supervisor()) {
    std::cerr << "campipe starts '" << role << "' itself; run campipe --config FILE\n";
    return usage_error;
  }
  try {
    if (role == "source") return campipe::run_source();
    if (role == "master") return campipe::run_master();
    if (role == "worker") return campipe::run_worker();
    if (role == "publisher") return campipe::run_publisher();
    if (role == campipe::cluster_role) return campipe::run_cluster();
    if (role == campipe::link_role) return campipe::run_link();
    if (role == campipe::check_links_role) return campipe::run_link_check();
    if (role == campipe::load_role && about != nullptr) return campipe::run_load_process(about);
    if (role == campipe::check_gpu_role && about != nullptr) return campipe::run_device_check(about);
    if (role == "probe" && campipe::pretended_gpus() > 0) return campipe::run_pretended_probe();
    if constexpr (campipe::with_cuda) return role == "probe" ? campipe::run_probe() : campipe::run_probe_peer();
    return usage_error;
  } catch (const std::exception& error) {
    campipe::fail_process(error.what());
  }
}

bool is_role(const std::string& word) {
  return word == "source" || word == "master" || word == "worker" || word == "publisher" || word == "probe" ||
         word == "probe-peer" || word == campipe::link_role || word == campipe::check_links_role ||
         word == campipe::load_role || word == campipe::check_gpu_role;
}

struct Arguments {
  std::string config;
  std::string duration;
  std::string report;
  std::string log_level = "info";
  std::string log_format;
  std::string plan;     // how to show it; empty: run the rig
  std::string machine;  // a file with the machine to plan for; empty: this one
  bool check = false;
  bool schema = false;
  bool devices = false;
  bool json = false;
};

void log_gpus(const campipe::Devices& devices, std::chrono::duration<double> took) {
  const std::string found = devices.gpus.empty() ? "none: " + devices.problem : campipe::list_gpus(devices);
  // Machines without a driver are not worth a word.
  if (devices.driver) spdlog::info("GPUs: {} (looked at in {:.1f} s)", found, took.count());
}

// With its GPUs, if the rig may use them or names them: looking at them takes a second or more.
campipe::Machine machine_for(const campipe::LoadedConfig& loaded, bool check_only, campipe::RigSignals* signals) {
  campipe::Machine machine = campipe::this_machine();
  if (check_only ? !campipe::names_gpus(loaded) : !campipe::may_use_gpus(loaded.rig)) return machine;
  machine.devices.problem = campipe::mps_problem(loaded.rig.mps);
  if (!machine.devices.problem.empty()) return machine;
  const auto begin = campipe::Clock::now();
  machine.devices = campipe::probe_devices(probe_before_a_run, loaded.rig.mps, signals);
  if (!check_only) log_gpus(machine.devices, campipe::Clock::now() - begin);
  return machine;
}

// Of this process and those that it starts: what is recorded is not for other users of the machine.
void keep_files_private(const campipe::RigConfig& rig, campipe::ForkServer& forks) {
  const mode_t given = ::umask(0027);
  const mode_t mask = rig.umask ? static_cast<mode_t>(*rig.umask) : given | 0027;
  ::umask(mask);
  forks.set_umask(mask);
}

// They would hold passwords. The hard limit stays: who looks for a fault lifts the soft one (prlimit --core=unlimited
// --pid …). Not PR_SET_DUMPABLE: it would take /proc from the rig's own user, who reads there how the processes do.
void leave_no_cores() {
  rlimit cores{};
  if (::getrlimit(RLIMIT_CORE, &cores) == 0) cores.rlim_cur = 0;
  if (::setrlimit(RLIMIT_CORE, &cores) != 0) spdlog::warn("core dumps stay on: {}", std::strerror(errno));
}

// Not a mistake in the file: the rig may run under another limit than this command.
void tell_descriptors(const campipe::RigConfig& rig, bool check_only) {
  const auto needs = campipe::descriptors_needed(rig);
  const std::size_t limit = campipe::descriptor_limit();
  const std::string text = campipe::describe_descriptors(needs, limit);
  if (check_only) std::cout << text << '\n';
  if (needs.count > limit) spdlog::warn("{}", text);
}

// What is wrong here with what the rig may use. Of descriptors tell_descriptors() knows more.
void tell_problems(const campipe::RigConfig& rig, const campipe::Machine& machine) {
  campipe::MachineLimits limits = machine.limits;
  limits.descriptors = 0;
  std::vector<std::string> problems = campipe::limit_problems(limits);
  if (campipe::may_use_gpus(rig))
    std::ranges::move(campipe::gpu_problems(campipe::find_gpu_files(), machine.devices), std::back_inserter(problems));
  for (const std::string& problem : problems) spdlog::warn("{}", problem);
}

// As far as it is known before a source is opened, of a machine that has all that is asked for. Then the supervisor
// looks again, and logs what `warn` is for.
bool is_refused(const campipe::RigConfig& rig, const campipe::Machine& machine) {
  if (rig.admission != campipe::Admission::refuse || rig.cluster) return false;  // whose nodes need not carry all of it
  const auto costs = campipe::load_machine_costs(machine.devices);
  const std::string lacking = campipe::start_shortage(rig, machine, costs);
  if (!lacking.empty()) std::cerr << "admission: refuse: " << lacking << '\n';
  return !lacking.empty();
}

// Before there is a rig that could be drained.
bool stopped_early(campipe::RigSignals* signals) {
  if (signals == nullptr || !signals->asks_to_end()) return false;
  spdlog::info("stopped before the rig was started");
  return true;
}

int run_rig(const Arguments& arguments) {
  std::optional<campipe::RigSignals> taken;  // not where nothing is to run: a signal ends that as it ends any program
  const bool plan_only = !arguments.plan.empty();
  if (!arguments.check && !plan_only) taken.emplace();
  campipe::RigSignals* const signals = taken ? &*taken : nullptr;
  campipe::raise_descriptor_limit();
  leave_no_cores();
  std::optional<campipe::ForkServer> forks;
  if (signals != nullptr) forks.emplace(STDERR_FILENO).wait_until_ready(longest_load);
  campipe::LoadedConfig loaded = campipe::load_config_apart(arguments.config, signals, forks ? &*forks : nullptr);
  if (stopped_early(signals)) return 0;
  if (const std::string problem = campipe::time_zone_problem(); !problem.empty()) spdlog::warn("{}", problem);
  if (const std::string note = campipe::overlay_note(arguments.config); !note.empty()) spdlog::warn("{}", note);
  if (campipe::report_errors(loaded.errors, arguments.config)) return usage_error;
  if (!arguments.machine.empty())
    return campipe::show_plan_for(arguments.machine, loaded, arguments.config, arguments.plan);
  const bool check_only = arguments.check && !plan_only;
  campipe::Machine machine = machine_for(loaded, check_only, signals);
  if (stopped_early(signals)) return 0;
  const auto [errors, conditions] = campipe::check_gpus(loaded, machine);
  if (!check_only && campipe::report_errors(errors, arguments.config)) return usage_error;
  campipe::add_missing_gpus(machine.devices, loaded.rig);
  loaded.conditions.insert(loaded.conditions.end(), conditions.begin(), conditions.end());
  if (plan_only) {
    for (const std::string& line : campipe::describe_conditions(conditions, arguments.config))
      std::cerr << line << '\n';
    campipe::show_plan(loaded, machine, arguments.plan);
    return 0;
  }
  tell_descriptors(loaded.rig, arguments.check);
  if (errors.empty() && conditions.empty() && is_refused(loaded.rig, machine)) return usage_error;
  if (arguments.check) return campipe::check(loaded, errors, arguments.config);
  tell_problems(loaded.rig, machine);
  for (const std::string& line : campipe::describe_conditions(loaded.conditions, arguments.config))
    spdlog::warn("{}", line);

  campipe::RunOptions options;
  options.config = arguments.config;
  options.digest = loaded.digest;
  // Its disk has just answered, in a process that would have been given up else.
  if (loaded.rig.cluster) {
    options.text = campipe::text_of_file(arguments.config, loaded.digest);
    options.state = campipe::state_folder().value_or(std::filesystem::absolute(options.config).parent_path());
  }
  options.log_level = arguments.log_level;
  if (!arguments.duration.empty()) options.duration = campipe::parse_time(arguments.duration);
  if (!arguments.report.empty()) {
    if (const std::string why = campipe::why_not_written(arguments.report); !why.empty()) {
      std::cerr << "--report: cannot write '" << arguments.report << "': " << why << '\n';
      return usage_error;
    }
    options.report = arguments.report;
  }
  keep_files_private(loaded.rig, *forks);
  campipe::RealPort port(*taken, *forks);
  campipe::Supervisor supervisor(loaded.rig, machine, options, port);
  return supervisor.run();
}

void add_options(CLI::App& app, Arguments& arguments) {
  const auto is_duration = [](const std::string& text) {
    return campipe::parse_time(text) ? std::string()
                                     : "expected a duration such as 30s, 10m or 250ms, not '" + text + "'";
  };
  app.add_option("--config", arguments.config, "the rig's configuration (docs/configuration.md)")->type_name("FILE");
  app.add_flag("--check", arguments.check,
               "check the configuration, its files and addresses, report each mistake, and end");
  app.add_option("--plan", arguments.plan,
                 "check, and print what would run where: as text, or as dot (Graphviz) or json")
      ->expected(0, 1)
      ->default_str("text")
      ->check(CLI::IsMember({"text", "dot", "json"}))
      ->type_name("FORMAT");
  app.add_option("--machine", arguments.machine, "with --plan: for the machine where --devices --json wrote this file")
      ->type_name("FILE.json");
  app.add_option("--duration", arguments.duration, "end after this time, e.g. 30s or 10m")
      ->check(is_duration)
      ->type_name("TIME");
  app.add_option("--report", arguments.report,
                 "write what happened to every frame into this file, every minute and at the end")
      ->type_name("FILE.json");
  app.add_option("--log-level", arguments.log_level, "trace, debug, info, warning or error")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error"}))
      ->type_name("LEVEL");
  app.add_option("--log-format", arguments.log_format, "text, or json: an object a line")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  app.add_flag("--schema", arguments.schema, "print a JSON Schema of the configuration, for editors");
  app.add_flag("--devices", arguments.devices, "print what this machine offers");
  app.add_flag("--json", arguments.json, "with --devices: print JSON");
  app.set_version_flag("--version", std::string("campipe ") + CAMPIPE_VERSION);
  app.footer(
      "Exit status: 0 ended as asked; 1 internal error, or no rig answers a command; 2 usage or configuration error;\n"
      "3 ran, but some camera failed, never delivered, or ended before its source did.");
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == campipe::fork_server_role && campipe::Child::started_by_supervisor()) {
    const auto arguments = campipe::run_fork_server(argc, argv);
    if (!arguments) return 0;
    return run_role(arguments->front(), arguments->size() > 1 ? arguments->back().c_str() : nullptr);
  }
  if (argc > 1 && is_role(argv[1])) return run_role(argv[1], argv[2]);
  if (argc == 2 && std::string_view(argv[1]) == campipe::cluster_role && campipe::Child::started_by_supervisor())
    return run_role(argv[1], nullptr);  // else it is a command
  if (argc == 2 && std::string_view(argv[1]) == campipe::snapshot_role) return campipe::run_snapshot_child();
  CLI::App app{
      "campipe takes many cameras, decodes each once, filters and encodes them in worker processes, and records them.",
      "campipe"};
  Arguments arguments;
  add_options(app, arguments);
  std::function<int()> command;
  campipe::add_commands(app, command);
  campipe::add_cost_commands(app, command);
  campipe::add_cluster_commands(app, command);
  campipe::add_recordings_command(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : usage_error;
  }
  if (!arguments.log_format.empty()) {
    campipe::set_log_format(arguments.log_format == "json" ? campipe::LogFormat::json : campipe::LogFormat::text);
  }
  campipe::init_logging("campipe", arguments.log_level);
  if (command) return command();
  if (arguments.schema) {
    std::cout << campipe::config_schema();
    return 0;
  }
  if (arguments.devices) {
    campipe::show_devices(arguments.json);
    return 0;
  }
  if (arguments.json) {
    std::cerr << "--json goes with --devices\n";
    return usage_error;
  }
  if (!arguments.machine.empty() && arguments.plan.empty()) {
    std::cerr << "--machine goes with --plan\n";
    return usage_error;
  }
  if (arguments.config.empty()) {
    std::cerr << "--config FILE is missing; campipe --help lists the options\n";
    return usage_error;
  }
  return run_rig(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "campipe: " << error.what() << '\n';
    return internal_error;
  }
}
