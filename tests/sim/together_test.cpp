// Some dozens of seeds of simulated rigs whose cameras, groups and mosaics are moved while they are changed; and
// courses that seeds have found.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/sim/many_seeds.h"
#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::uint64_t tried = 80;
constexpr auto together = sim::Varies::together;

// What the seeds reach together.
std::vector<std::string> awaited() {
  return {"a move goes on",
          "a camera is moved",
          "a mosaic is moved",
          "a move is refused",
          "a move ends, since it is disabled",
          "a reload is taken",
          "a reload is refused",
          "answer 201 to put_group",
          "answer 200 to put_group",
          "answer 200 to remove_group",
          "answer 201 to put_mosaic",
          "answer 200 to put_mosaic",
          "answer 200 to remove_mosaic",
          "answer 409 to remove_camera",
          "members of a group have encoded the same sets",
          "a cell is joined again"};
}

TEST(SimulatedTogether, HoldForManySeeds) {
  sim::Seeds seeds(sim::simulated_rigs(together), 100s, together);
  sim::expect_seeds_hold(seeds, tried, awaited());
}

// Its cells said that they were away, and not why.
TEST(SimulatedTogether, AMosaicThatIsDisabledSaysSoInItsCells) {
  constexpr std::size_t with_a_mosaic = 15;
  sim::Course course{20s, true, {}, {}, {}};
  constexpr std::uint64_t wall = 2;  // behind two cameras, by name
  course.changes.push_back({sim::ChangeKind::disable, 8s, wall, 1, false, sim::LoadTrouble::none});
  const sim::Outcome outcome =
      sim::Seeds({sim::simulated_rigs(together).at(with_a_mosaic)}, 100s, together).run(1, course);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_GT(lines_with(outcome, "log: wall0: disabled; "), 0);
}

// The worker that a shown camera had left was ended, since it answered that the cell's edge had ended.
TEST(SimulatedTogether, AMoveAtTheEndOfAMosaicEndsNoWorker) {
  constexpr std::uint64_t found_by = 60908;
  sim::Course course{19954872us, false, {}, {{19272989us, 3, 0}}, {}};
  const sim::Outcome outcome = sim::Seeds(sim::simulated_rigs(together), 120s, together).run(found_by, course);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_EQ(lines_with(outcome, "log: yard: is on worker 0 from frame"), 1);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
