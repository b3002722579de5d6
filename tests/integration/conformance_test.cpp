// The simulated roles (tests/sim) do what the real ones do: rigs of real processes are traced, and what their roles
// send, in which order and with what in it, is what simulated roles send, and the other way round.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/traced_rigs.h"
#include "tests/sim/seeds.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t seeds_of_each = 130;

// What simulated roles send, and those of the traced rigs do not.
const std::map<std::string, std::string>& seldom() {
  static const std::map<std::string, std::string> all{
      {"source packets: source_ring, source_ring", "for packets of megabytes a larger ring is made"},
      {"source source_ring: epoch follows", "likewise"},
      {"source connection: sent_stream, source_over", "of a camera of another codec, which the test's cannot have"},
      {"master packets: source_ring_done, decoding_left", "the source dies in the moment in which the master changes"},
      {"master frames: frame_ring, exits", "the time to end is over, and the master has not done all"},
      {"publisher recording: file, record_failed", "an error that no waiting mends, of a container or a library"},
      {"publisher recording: record_failed, output_done", "likewise"},
      {"publisher record_failed: 0 descriptors", "likewise"},
      {"publisher record_failed: reason is a text", "likewise"}};
  return all;
}

using Facts = std::set<std::string>;

std::vector<std::string> missing_in(const Facts& these, const Facts& those) {
  std::vector<std::string> left;
  std::ranges::set_difference(those, these, std::back_inserter(left));
  return left;
}

// A fact that is true of one side alone.
std::vector<std::string> differences(const sim::ConductFacts& one, const sim::ConductFacts& other) {
  std::vector<std::string> all = missing_in(one.steps, other.steps);
  for (const auto& more :
       {missing_in(other.steps, one.steps), missing_in(one.fields, other.fields), missing_in(other.fields, one.fields)})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

sim::ConductFacts simulated_conduct() {
  sim::ConductFacts facts;
  for (const sim::Varies varies : {sim::Varies::moves, sim::Varies::configuration, sim::Varies::placement}) {
    sim::Seeds seeds(sim::simulated_rigs(varies), 100s, varies);
    for (std::uint64_t seed = 0; seed < seeds_of_each; ++seed) {
      const sim::Outcome outcome = seeds.run(seed);
      EXPECT_EQ(outcome.failure, std::nullopt) << "seed " << seed;
      facts.add(outcome.conduct);
    }
  }
  return facts;
}

TEST(Conformance, SimulatedRolesSendWhatRealOnesDo) {
  sim::ConductFacts real;
  for (const TracedRig& rig : traced_rigs()) real.add(conduct_in(rig.run()));
  const sim::ConductFacts simulated = simulated_conduct();
  EXPECT_THAT(missing_in(simulated.steps, real.steps), IsEmpty()) << "only real roles do it";
  EXPECT_THAT(missing_in(simulated.told, real.told), IsEmpty()) << "only real roles do it then";
  EXPECT_THAT(missing_in(simulated.fields, real.fields), IsEmpty()) << "only real roles send it";
  for (const auto& [fact, why] : seldom()) {
    EXPECT_TRUE(simulated.steps.contains(fact) || simulated.fields.contains(fact))
        << "no simulated role does: " << fact;
    real.steps.insert(fact);
    real.fields.insert(fact);
  }
  EXPECT_THAT(missing_in(real.steps, simulated.steps), IsEmpty()) << "only simulated roles do it";
  EXPECT_THAT(missing_in(real.fields, simulated.fields), IsEmpty()) << "only simulated roles send it";
}

bool is_from(const json& line, const std::string& type) { return line.value("from", "") == type; }

// That a role sends it another time, not at all, or without one of its fields: each shows.
TEST(Conformance, NamesWhatARoleDoesWrong) {
  const std::vector<TracedRig> rigs = traced_rigs();
  const std::vector<json> trace = std::ranges::find(rigs, "copy", &TracedRig::name)->run();
  const sim::ConductFacts right = conduct_in(trace);
  std::map<std::string, json> sent;
  for (const json& line : trace) {
    if (line.contains("from") && line.at("body").is_object()) sent.emplace(line.at("from"), line.at("body"));
  }
  for (const char* const other : {"step", "loaded"}) sent.erase(other);  // of roles that are not simulated
  ASSERT_GE(sent.size(), 12U);
  for (const auto& [type, body] : sent) {
    std::vector<json> without;
    std::vector<json> twice;
    for (const json& line : trace) {
      twice.push_back(line);
      if (is_from(line, type)) twice.push_back(line);
      if (!is_from(line, type)) without.push_back(line);
    }
    EXPECT_THAT(differences(right, conduct_in(without)), Contains(HasSubstr(type))) << "it is not sent";
    EXPECT_THAT(differences(right, conduct_in(twice)), Contains(HasSubstr(type))) << "it is sent twice";
    for (const auto& [field, value] : body.items()) {
      std::vector<json> less = trace;
      for (json& line : less) {
        if (is_from(line, type)) line["body"].erase(field);
      }
      EXPECT_THAT(differences(right, conduct_in(less)), Contains(HasSubstr(type))) << "without " << field;
    }
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
