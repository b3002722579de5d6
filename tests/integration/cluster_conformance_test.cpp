// The simulated process of a node of a cluster does what the real one does, as conformance_test.cpp has it of other
// roles.
#include <gmock/gmock.h>

#include <memory>
#include <sstream>
#include <stdexcept>

#include "tests/integration/cluster_nodes.h"
#include "tests/integration/compared_conduct.h"
#include "tests/integration/times_in.h"
#include "tests/integration/traced_rigs.h"
#include "tests/sim/seeds.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::IsEmpty;

constexpr std::uint64_t tried = 100;
constexpr auto cluster = sim::Varies::cluster;

class ClusterConformance : public ClusterRig {
 protected:
  void wait_for_log(const std::string& text, unsigned times = 1) const {
    if (!eventually([&] { return times_in(nodes_.at("a")->log(), text) >= times; }))
      throw std::runtime_error("it does not log: " + text + "; the log:\n" + nodes_.at("a")->log());
  }
  void start_traced(const std::string& node) {
    RigOptions options;
    options.report = false;
    options.trace = true;
    nodes_[node] = std::make_unique<RigRun>(yaml(node), options);
  }
  // Two nodes, whose camera goes from one to the other and back; the first one's process dies.
  sim::ConductFacts real_conduct() {
    cameras_ = camera("gate", ", push: [\"rtmp://127.0.0.1:1/live\"]");
    start_traced("a");
    wait_for_log("gate: recording to");
    const pid_t before = nodes_.at("a")->pid_of("cluster");
    ::kill(before, SIGKILL);
    static_cast<void>(nodes_.at("a")->successor_of("cluster", before));
    start("b");
    EXPECT_TRUE(eventually([&] { return are_here({"a", "b"}); }));
    EXPECT_EQ(command({"move", "gate", "b"}).status, 0);
    wait_for_log("gate: removed");
    EXPECT_EQ(command({"move", "gate", "a"}).status, 0);
    wait_for_log("gate: recording to", 2);
    for (const char* node : {"a", "b"}) end(node);
    std::vector<json> trace;
    std::istringstream lines(read_text(nodes_.at("a")->file("trace.json")));
    for (std::string line; std::getline(lines, line);) trace.push_back(json::parse(line));
    return of_node(conduct_in(trace));
  }
  static sim::ConductFacts simulated_conduct() {
    sim::ConductFacts facts;
    sim::Seeds seeds(sim::simulated_rigs(cluster), 100s, cluster);
    for (std::uint64_t seed = 0; seed < tried; ++seed) {
      const sim::Outcome outcome = seeds.run(seed);
      EXPECT_EQ(outcome.failure, std::nullopt) << "seed " << seed;
      facts.add(outcome.conduct);
    }
    return of_node(facts);
  }
  // Of its process alone.
  static sim::ConductFacts of_node(sim::ConductFacts facts) {
    const auto is_other = [](const std::string& fact) { return !fact.starts_with("cluster "); };
    std::erase_if(facts.steps, is_other);
    std::erase_if(facts.fields, is_other);
    std::erase_if(facts.told, [&](const auto& told) { return is_other(told.first); });
    return facts;
  }
};

TEST_F(ClusterConformance, TheSimulatedProcessSendsWhatTheRealOneDoes) {
  const sim::ConductFacts real = real_conduct();
  const sim::ConductFacts simulated = simulated_conduct();
  EXPECT_FALSE(real.steps.empty());
  EXPECT_THAT(missing_in(simulated.steps, real.steps), IsEmpty()) << "only the real one does it";
  EXPECT_THAT(too_early(real, simulated), IsEmpty()) << "only the real one does it so early";
  EXPECT_THAT(missing_in(simulated.fields, real.fields), IsEmpty()) << "only the real one sends it";
  EXPECT_THAT(missing_in(real.steps, simulated.steps), IsEmpty()) << "only the simulated one does it";
  EXPECT_THAT(missing_in(real.fields, simulated.fields), IsEmpty()) << "only the simulated one sends it";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
