#include "tests/sim/rig_run.h"

#include <fmt/format.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/placement/missing_gpus.h"
#include "app/supervisor/supervisor.h"
#include "tests/sim/machine.h"
#include "tests/sim/sim_port.h"

namespace campipe::sim {
namespace {

constexpr auto longest_end = seconds(8);          // from SIGTERM on: 5 s are promised where all is well
constexpr auto longest_end_of_all = seconds(16);  // with faults meanwhile

class Lines final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit Lines(Machine& machine) : machine_(machine) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string line(message.payload.data(), message.payload.size());
    machine_.checks().on_log(static_cast<int>(message.level), line);
    machine_.witness().on_log(line);
    machine_.gpu_watch().on_log(line);
    machine_.cluster_watch().on_log(line);
  }
  void flush_() override {}

 private:
  Machine& machine_;
};

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Mappings of shared memory.
std::size_t mapped_rings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("/memfd:") != std::string::npos ? 1 : 0;
  return count;
}

campipe::Machine small_machine(const Gpus& gpus, const RigConfig& rig) {
  campipe::Machine machine;
  machine.devices = gpus.found();
  if (gpus.count() > 0) add_missing_gpus(machine.devices, rig);
  for (unsigned core = 0; core < Cores::number; ++core) machine.cpus.push_back(core);
  return machine;
}

RunOptions options(std::uint64_t digest) {
  RunOptions options;
  options.config = own_file;
  options.state = "state";
  options.text = "cameras: …";
  options.report = "report.json";
  options.digest = digest;
  return options;
}

bool any_failed(const std::string& report) {
  const auto all = nlohmann::json::parse(report, nullptr, false);
  if (all.is_discarded()) return false;  // Checks::on_report() notices
  return std::ranges::any_of(all.at("cameras"), [](const auto& camera) { return camera.at("state") == "failed"; });
}

void take_results(Outcome& outcome, const World& world, double cpu_before) {
  outcome.failure = world.failure();
  outcome.trace = world.traced();
  outcome.reached = world.all_reached();
  outcome.virtual_s = world.seconds_run();
  outcome.cpu_s = cpu_seconds() - cpu_before;
}

}  // namespace

Outcome run_rig(std::uint64_t seed, const Course& course, const RigChoice& choice,
                const std::function<void(const Outcome&)>& on_hopeless) {
  Outcome outcome;
  const double cpu_before = cpu_seconds();
  const std::size_t descriptors = open_descriptors();
  const std::size_t mappings = mapped_rings();
  World world(seed);
  const LoadedConfig rig = choice.load(choice.file(), {}, {});
  {
    Machine machine(world, course, choice);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("sim", std::make_shared<Lines>(machine)));
    SimPort port(machine);
    bool settled = false;  // a start that fails again and again may last beyond the course's calm end
    const nanoseconds longest = course.settles ? nanoseconds(longest_end) : longest_end_of_all;
    if (course.settles) {
      world.at(machine.end(), [&] {
        outcome.descriptors = open_descriptors();
        settled = machine.has_settled();
        if (!settled) return;
        machine.require_all_well();
        if (port.reloads()) world.fail("systemd still waits for the end of a reload");
        machine.mover().check();
      });
    }
    world.at(machine.end() + longest, [&] {
      world.fail("the supervisor does not end");
      take_results(outcome, world, cpu_before);
      on_hopeless(outcome);
    });
    std::optional<Supervisor> supervisor(std::in_place, rig.rig, small_machine(machine.gpus(), rig.rig),
                                         options(rig.digest), port);
    const int status = supervisor->run();
    world.trace(fmt::format("run() returns {}", status));
    if (machine.running() > 0) world.fail("a process is left");
    machine.checks().on_report(port.report(), settled);
    if (settled) machine.witness().check(nlohmann::json::parse(port.report()));
    const bool may_fail = machine.checks().any_may_be_quarantined() || machine.disk_breaks();
    if ((settled || (course.faults.empty() && course.changes.empty())) && status != 0 && !may_fail)
      world.fail(fmt::format("the exit status is {}", status));
    if (status == 0 && any_failed(port.report())) world.fail("the exit status is 0, and a camera has failed");
    outcome.turns = port.turns();
    outcome.conduct = machine.conduct().finish();
    supervisor.reset();
    world.forget_events();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("none"));
  }
  if (const std::size_t now = open_descriptors(); now != descriptors)
    world.fail(fmt::format("{} descriptors are open, and before {}", now, descriptors));
  if (const std::size_t now = mapped_rings(); now != mappings)
    world.fail(fmt::format("{} rings are mapped, and before {}", now, mappings));
  take_results(outcome, world, cpu_before);
  return outcome;
}

}  // namespace campipe::sim
