// The tests; or, with --seeds, a search (tools/simulate).
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include "tests/sim/seeds.h"

namespace {

struct Search {
  std::uint64_t seeds = 0;
  std::uint64_t from = 0;
  double minutes = 2;
  bool trace = false;
  bool reached = false;
  bool changes = false;
  bool placement = false;
  bool groups = false;
  bool mosaics = false;
  bool cluster = false;
  bool together = false;

  [[nodiscard]] campipe::sim::Varies varies() const {
    using campipe::sim::Varies;
    if (groups) return Varies::groups;
    if (mosaics) return Varies::mosaics;
    if (cluster) return Varies::cluster;
    if (together) return Varies::together;
    return changes ? Varies::configuration : placement ? Varies::placement : Varies::moves;
  }
};

int search(const Search& asked) {
  namespace sim = campipe::sim;
  const auto length = std::chrono::duration_cast<sim::nanoseconds>(std::chrono::duration<double>(60 * asked.minutes));
  sim::Seeds seeds(sim::simulated_rigs(asked.varies()), length, asked.varies());
  std::map<std::string, std::uint64_t> reached;
  double virtual_s = 0;
  double cpu_s = 0;
  std::uint64_t turns = 0;
  for (std::uint64_t seed = asked.from; seed < asked.from + asked.seeds; ++seed) {
    const sim::Outcome outcome = seeds.run(seed);
    if (outcome.failure || asked.trace) std::cout << sim::Seeds::describe(seed, outcome, seeds.shrunk());
    if (outcome.failure) return 1;
    for (const auto& [what, times] : outcome.reached) reached[what] += times;
    virtual_s += outcome.virtual_s;
    cpu_s += outcome.cpu_s;
    turns += outcome.turns;
  }
  if (asked.reached) {
    for (const auto& [what, times] : reached) std::cout << times << '\t' << what << '\n';
  }
  std::cout << asked.seeds << " seeds hold: " << virtual_s << " s in " << cpu_s << " s of CPU (" << virtual_s / cpu_s
            << " times real time), " << 1e6 * cpu_s / static_cast<double>(turns) << " us a turn\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool searches =
      std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word).starts_with("--seeds"); });
  if (!searches) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }
  CLI::App app{"Simulates rigs, by seed.", "simulate"};
  Search asked;
  app.add_option("--seeds", asked.seeds, "so many, one after the other")->required();
  app.add_option("--from", asked.from, "the first one");
  app.add_option("--minutes", asked.minutes, "of virtual time, each")->check(CLI::Range(1.5, 1440.0));
  app.add_flag("--trace", asked.trace, "print what happens, also where nothing fails");
  app.add_flag("--reached", asked.reached, "print what was reached, and how often");
  app.add_flag("--changes", asked.changes, "change a rig's configuration, in place of moves");
  app.add_flag("--placement", asked.placement, "rigs on GPUs, which go away and return, by stage and by tile");
  app.add_flag("--groups", asked.groups, "rigs with synchronised groups");
  app.add_flag("--mosaics", asked.mosaics, "rigs with mosaics");
  app.add_flag("--cluster", asked.cluster, "rigs that are nodes of a cluster");
  app.add_flag("--together", asked.together, "cameras, groups and mosaics are moved while they are changed");
  CLI11_PARSE(app, argc, argv);
  return search(asked);
}
