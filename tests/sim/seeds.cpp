#include "tests/sim/seeds.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/sim/cluster_rigs.h"
#include "tests/sim/forked.h"
#include "tests/sim/group_rigs.h"
#include "tests/sim/mosaic_rigs.h"
#include "tests/sim/placed_rigs.h"
#include "tests/sim/rigs.h"

namespace campipe::sim {
namespace {

constexpr std::uint64_t gpus_alone_once_in = 3;  // runs in which nothing else goes wrong
constexpr std::uint64_t cluster_alone_once_in = 2;

nlohmann::json to_json(const Outcome& outcome) {
  return {{"failure", outcome.failure ? nlohmann::json(*outcome.failure) : nlohmann::json()},
          {"trace", outcome.trace},
          {"reached", outcome.reached},
          {"conduct", to_json(outcome.conduct)},
          {"virtual_s", outcome.virtual_s},
          {"cpu_s", outcome.cpu_s},
          {"turns", outcome.turns},
          {"descriptors", outcome.descriptors}};
}

Outcome from_json(const nlohmann::json& json) {
  Outcome outcome;
  if (!json.at("failure").is_null()) outcome.failure = json.at("failure").get<std::string>();
  json.at("trace").get_to(outcome.trace);
  json.at("reached").get_to(outcome.reached);
  outcome.conduct = conduct_from_json(json.at("conduct"));
  json.at("virtual_s").get_to(outcome.virtual_s);
  json.at("cpu_s").get_to(outcome.cpu_s);
  json.at("turns").get_to(outcome.turns);
  json.at("descriptors").get_to(outcome.descriptors);
  return outcome;
}

// One of `parts` without which the seed fails as well. False: each is needed.
template <typename Part>
bool leave_out_one(std::vector<Part> Course::*parts, Course& course, Outcome& outcome,
                   const std::function<Outcome(const Course&)>& run) {
  for (std::size_t i = 0; i < (course.*parts).size(); ++i) {
    Course without = course;
    (without.*parts).erase((without.*parts).begin() + static_cast<std::ptrdiff_t>(i));
    Outcome again = run(without);
    if (!again.failure) continue;
    course = std::move(without);
    outcome = std::move(again);
    return true;
  }
  return false;
}

void write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(fd, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

// In the forked process.
[[noreturn]] void run_apart(int out, std::uint64_t seed, const Course& course, const RigChoice& rig) {
  const auto finish = [&](const Outcome& outcome) {
    write_all(out, to_json(outcome).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    ::_exit(0);
  };
  Outcome failed;
  try {
    finish(run_rig(seed, course, rig, finish));
  } catch (const std::exception& error) {
    failed.failure = std::string("the supervisor could not be started: ") + error.what();
  }
  finish(failed);
  ::_exit(1);
}

}  // namespace

std::vector<RigChoice> simulated_rigs(Varies varies) {
  std::vector<RigChoice> rigs;
  if (varies == Varies::placement) {
    for (const PlacedRig& rig : placed_rigs()) rigs.emplace_back(rig.config, Changeable::nothing, rig.gpus);
    return rigs;
  }
  if (varies == Varies::cluster) {
    for (const nlohmann::json& config : cluster_rigs()) rigs.emplace_back(config, Changeable::nothing);
    return rigs;
  }
  if (varies == Varies::groups || varies == Varies::mosaics) {
    for (const nlohmann::json& config : varies == Varies::groups ? group_rigs() : mosaic_rigs())
      rigs.emplace_back(config, Changeable::nothing);
    return rigs;
  }
  if (varies == Varies::together) {
    const auto add = [&](const std::vector<nlohmann::json>& configs) {
      for (const nlohmann::json& config : configs) {
        if (config.at("workers").at("count") > 1) rigs.emplace_back(config, Changeable::all);
      }
    };
    add(rig_configs());
    add(group_rigs());
    add(mosaic_rigs());
    return rigs;
  }
  for (const nlohmann::json& config : rig_configs()) {
    const bool is_small = config.at("cameras").size() == 1 && config.at("workers").at("count") == 1;
    const Changeable changeable = varies == Varies::configuration ? Changeable::cameras : Changeable::nothing;
    if (varies == Varies::moves || is_small) rigs.emplace_back(config, changeable);
  }
  return rigs;
}

Outcome Seeds::run(std::uint64_t seed, const Course& course) const {
  const auto [text, status] = run_forked([&](int out) { run_apart(out, seed, course, rigs_[seed % rigs_.size()]); });
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_discarded()) return from_json(json);
  Outcome outcome;
  outcome.failure = WIFSIGNALED(status) ? fmt::format("the process died of signal {}", WTERMSIG(status))
                                        : fmt::format("the process ended with status {}", WEXITSTATUS(status));
  return outcome;
}

Course Seeds::course(std::uint64_t seed) const {
  const bool changes = varies_ == Varies::configuration || varies_ == Varies::together;
  Course course = course_of(seed, length_, changes ? fault_kinds : common_fault_kinds);
  if (varies_ == Varies::configuration) course.moves.clear();
  if (varies_ == Varies::together) course.changes = std::move(course.changes_of_all);
  if (!changes) course.changes.clear();
  if (varies_ == Varies::placement) {
    if (seed / rigs_.size() % gpus_alone_once_in == 0) course.faults.clear();
    course.faults.insert(course.faults.end(), course.gpu_faults.begin(), course.gpu_faults.end());
    std::ranges::stable_sort(course.faults, {}, &Fault::at);
  }
  if (varies_ == Varies::cluster) {
    if (seed / rigs_.size() % cluster_alone_once_in == 0) course.faults.clear();
    course.faults.insert(course.faults.end(), course.cluster_faults.begin(), course.cluster_faults.end());
    std::ranges::stable_sort(course.faults, {}, &Fault::at);
  }
  course.gpu_faults.clear();
  course.cluster_faults.clear();
  course.changes_of_all.clear();
  if (varies_ != Varies::placement) return course;
  // Of cameras of several nodes: one of three.
  for (std::size_t i = 0; i < course.moves.size(); ++i) {
    if (i % 4 != 0) course.moves[i].from = static_cast<unsigned>((seed + i) % 3);
  }
  return course;
}

Outcome Seeds::run(std::uint64_t seed) {
  shrunk_ = course(seed);
  Outcome outcome = run(seed, shrunk_);
  if (!outcome.failure) return outcome;
  const auto again = [&](const Course& course) { return run(seed, course); };
  while (leave_out_one(&Course::faults, shrunk_, outcome, again) ||
         leave_out_one(&Course::moves, shrunk_, outcome, again) ||
         leave_out_one(&Course::changes, shrunk_, outcome, again)) {
  }
  return outcome;
}

std::string Seeds::describe(std::uint64_t seed, const Outcome& outcome, const Course& course) {
  std::string text;
  for (const std::string& line : outcome.trace) text += line + '\n';
  text += fmt::format("seed {} fails {}\n", seed, outcome.failure.value_or("not at all"));
  text += fmt::format("faults, moves and changes, of which each is needed ({}):\n",
                      course.faults.size() + course.moves.size() + course.changes.size());
  for (const Fault& fault : course.faults) text += "  " + campipe::sim::describe(fault) + '\n';
  for (const Change& change : course.changes) text += "  " + campipe::sim::describe(change) + '\n';
  for (const MoveWish& move : course.moves) text += "  " + campipe::sim::describe(move) + '\n';
  text += fmt::format("SIGTERM after {:.3f} s\n", std::chrono::duration<double>(course.ends).count());
  return text;
}

}  // namespace campipe::sim
