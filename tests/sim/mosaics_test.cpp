// Some dozens of seeds of simulated rigs with mosaics.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/sim/many_seeds.h"
#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::uint64_t tried = 60;
constexpr auto mosaics = sim::Varies::mosaics;

// What the seeds reach together.
std::vector<std::string> awaited() {
  return {"message show_cell to worker", "message finish_node to worker", "message go_on to worker",
          "a cell shows its camera",     "a cell shows no frame",         "a cell is away",
          "a cell is joined again",      "a mosaic's clock goes on",      "a mosaic is moved",
          "a camera is moved",           "a move is over by a death"};
}

TEST(SimulatedMosaics, HoldForManySeeds) {
  sim::Seeds seeds(sim::simulated_rigs(mosaics), 100s, mosaics);
  sim::expect_seeds_hold(seeds, tried, awaited());
}

// It said of its cameras for good what had been so when it failed.
TEST(SimulatedMosaics, OneThatHasFailedShowsNoCamera) {
  std::vector<sim::Fault> faults;
  for (const auto at : {10s, 13s, 16s}) {
    faults.push_back({sim::FaultKind::crash, sim::Part::worker, at, 0s, 0});
    faults.back().camera = 1;
  }
  const sim::Outcome outcome =
      sim::Seeds(sim::simulated_rigs(mosaics), 100s, mosaics).run(3407, {100s, true, faults, {}, {}});
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_EQ(lines_with(outcome, "wall0: quarantined"), 1);
  EXPECT_TRUE(outcome.reached.contains("a mosaic has failed"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
