// More seeds than the tests run:
//
//   simulate_cluster --seeds 1000 --from 1    one after the other; those that fail are shrunk, and printed with a trace
//   simulate_cluster --from 7 --trace         that one, with what happens in it
//   --short: one line for each that fails. --stop: at the first one
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>
#include <span>
#include <string>

#include "tests/sim/cluster/simulation.h"

int main(int argc, char** argv) {
  using namespace campipe::sim;
  std::uint64_t seeds = 1;
  std::uint64_t from = 1;
  bool traces = false;
  bool is_short = false;
  bool stops = false;
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i];
    const bool has_number = i + 1 < words.size();
    if (word == "--seeds" && has_number) {
      seeds = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--from" && has_number) {
      from = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--trace") {
      traces = true;
    } else if (word == "--short") {
      is_short = true;
    } else if (word == "--stop") {
      stops = true;
    } else {
      std::cerr << "usage: simulate_cluster [--seeds N] [--from S] [--trace] [--short] [--stop]\n";
      return 2;
    }
  }
  const std::clock_t began = std::clock();
  std::map<std::string, std::uint64_t> reached;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
    const Outcome outcome = run(make_scenario(seed), traces);
    for (const std::string& line : outcome.trace) std::cout << line << '\n';
    for (const auto& [state, times] : outcome.reached) reached[state] += times;
    if (!outcome.violation) continue;
    ++failed;
    const Violation& violation = *outcome.violation;
    if (is_short)
      std::cout << fmt::format("seed {}: {} at {:.3f} s: {}\n", seed, violation.property, violation.at, violation.text);
    else
      std::cout << report(seed, violation) << std::endl;
    if (stops) break;
  }
  for (const auto& [state, times] : reached) std::cout << fmt::format("{:>10}  {}\n", times, state);
  const double cpu = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  std::cout << fmt::format("{} of {} seeds failed; {:.1f} s of CPU time\n", failed, seeds, cpu);
  return failed == 0 ? 0 : 1;
}
