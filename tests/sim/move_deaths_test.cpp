// A worker is killed at each step of a move: the camera goes on where it was or where it was to go, and each frame is
// encoded once.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/sim/move_step.h"
#include "tests/sim/seeds.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::size_t two_workers = 2;  // a rig of courses

// Of two cameras on two workers, the one on worker 0 goes over. Policy by rig; what else is by chance, by seed.
void expect_to_go_on(sim::MoveStep step) {
  unsigned died = 0;
  for (const std::size_t rig : {two_workers, two_workers + 1}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(fmt::format("a worker dies: {}, rig {}, seed {}", name_of(step), rig, seed));
      const sim::Course course{75s, true, {}, {{6s, seed, 1, step}, {7s, seed, 0, step}}, {}};
      const sim::Outcome outcome = sim::Seeds({sim::simulated_rigs().at(rig)}, 100s).run(seed, course);
      EXPECT_EQ(outcome.failure, std::nullopt);
      died += outcome.reached.contains(fmt::format("death at a step of a move: {}", name_of(step))) ? 1 : 0;
    }
  }
  EXPECT_GE(died, 3U) << name_of(step);
}

TEST(MoveDeaths, AtEachStepCostNobodyAFrameTwice) {
  for (std::size_t step = 0; step < sim::move_steps; ++step) expect_to_go_on(static_cast<sim::MoveStep>(step));
}

// Worker 1 is away until 19 s. Nobody there says that the first move is over; the second one is asked for all the same,
// and ends because nobody gets ready for it.
TEST(MoveDeaths, OfTheOldWorkerEndAMoveToOneThatIsAway) {
  using sim::FaultKind;
  const auto worker = [](FaultKind kind, sim::nanoseconds at, std::uint64_t number, std::uint64_t detail = 0) {
    return sim::Fault{kind, sim::Part::worker, at, 0s, detail, number};
  };
  const sim::Course course{
      90s,
      true,
      {worker(FaultKind::start_fails, 3s, 1, 5), worker(FaultKind::kill, 4s, 1), worker(FaultKind::kill, 7s, 0)},
      {{6s, 0, 1}, {9s, 0, 1}, {25s, 0, 1}},
      {}};
  const sim::Outcome outcome = sim::Seeds({sim::simulated_rigs().at(two_workers)}, 100s).run(0, course);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_EQ(lines_with(outcome, "log: gate: its work is to go over from worker 0 to worker 1: asked for"), 3);
  EXPECT_EQ(lines_with(outcome, "log: gate: is not moved to worker 1: worker 1 did not get ready for it within 8 s"),
            1);
  EXPECT_EQ(lines_with(outcome, "log: gate: is on worker 1 from frame"), 1);
}

// A camera on each of three workers, the first one with these keys.
sim::RigChoice rig_of(const nlohmann::json& keys) {
  nlohmann::json cameras;
  unsigned worker = 0;
  for (const char* name : {"door", "gate", "yard"})
    cameras[name] = {{"source", std::string("rtsp://192.0.2.1/") + name},
                     {"encode", {{"codec", "h264"}, {"gop", "1s"}}},
                     {"placement", {{"encode", fmt::format("cpu:{}", worker++)}}}};
  cameras["door"].update(keys);
  return {{{"cameras", std::move(cameras)}, {"workers", {{"count", 3}}}}, sim::Changeable::nothing};
}

// A worker dies that has just done its part of the camera. It had no frame of that in hands any more.
TEST(MoveDeaths, OfAWorkerThatHasLeftLoseNothing) {
  const nlohmann::json by_stage = {{"filters", {"denoise"}},
                                   {"placement", {{"filter", {"cpu:0"}}, {"encode", "cpu:1"}}}};
  const nlohmann::json by_tile = {{"filters", {"denoise"}},
                                  {"placement", {{"tiles", {"cpu:0", "cpu:1"}}, {"encode", "cpu:1"}}}};
  const nlohmann::json joined = {{"filters", {"denoise"}},
                                 {"placement", {{"tiles", {"cpu:1", "cpu:1"}}, {"encode", "cpu:0"}}}};
  for (const nlohmann::json& keys : {nlohmann::json::object(), by_stage, by_tile, joined}) {
    const sim::Seeds seeds({rig_of(keys)}, 60s);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(fmt::format("seed {}, {}", seed, keys.dump()));
      sim::Course course{40s, true, {}, {}, {}};
      for (std::uint64_t camera = 0; camera < 3; ++camera)  // whichever is in worker 0; the others are refused
        course.moves.push_back({15s, camera, 2, sim::MoveStep::done, 0});
      const sim::Outcome outcome = seeds.run(seed, course);
      EXPECT_EQ(outcome.failure, std::nullopt);
      EXPECT_TRUE(outcome.reached.contains("death at a step of a move: done"));
      EXPECT_EQ(sim::lines_with(outcome, "log: door: is on worker 2 from frame"), 1);
      EXPECT_EQ(sim::lines_with(outcome, R"("dropped":{},)"), 3) << "of all in the report";
    }
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
