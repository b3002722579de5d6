// The simulated roles (tests/sim) do what the real ones do: rigs of real processes are traced, and what their roles
// send, in which order and with what in it, is what simulated roles send, and the other way round.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/compared_conduct.h"
#include "tests/integration/traced_rigs.h"
#include "tests/sim/seeds.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// More of those in which people act than of others: disks and push targets fail there.
constexpr std::array<std::pair<sim::Varies, std::uint64_t>, 3> tried{
    {{sim::Varies::moves, 150}, {sim::Varies::configuration, 700}, {sim::Varies::placement, 60}}};

// Facts of simulated roles that those of the traced rigs lack: what is in the fact, and why.
constexpr std::array<std::pair<const char*, const char*>, 12> seldom{
    {{"source_ring, source_ring", "for packets of megabytes a larger ring is made"},
     {"source_ring: epoch follows", "a larger ring follows the first one"},
     {"sent_stream, source_over", "of a camera of another codec, which the test's cannot have"},
     {"opened_stream, source_over", "it is stopped before the first packet"},
     {"source_ring_done, decoding_left", "the source dies in the moment in which the master changes"},
     {"frame_ring, exits", "the time to end is over, and the master has not done all"},
     {"thread: beats, exits", "the time to end is over, and the thread still works"},
     {"node_done of what it does not have", "a part is asked to end, as the next one's GPU is gone"},
     {"failed", "of a recording, for an error that no waiting mends: of a container or a library"},
     {"file: begins, closed", "the publisher dies while its recording is stopped or paused"},
     {"barrier: begins, 1 phases", "not seen before it arrives"},
     {"viewers: begins, there are some", "seen before a publisher says that those of the one before are gone"}}};

bool is_seldom(const std::string& fact) {
  return std::ranges::any_of(seldom, [&](const auto& one) { return fact.find(one.first) != std::string::npos; });
}

// A fact that is true of one side alone.
std::vector<std::string> differences(const sim::ConductFacts& one, const sim::ConductFacts& other) {
  std::vector<std::string> all = missing_in(one.steps, other.steps);
  for (const auto& more :
       {missing_in(other.steps, one.steps), missing_in(one.fields, other.fields), missing_in(other.fields, one.fields)})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Few seeds have people stop a recording while its disk is full, and start it when it is not.
sim::ConductFacts stopped_while_paused() {
  using sim::Change;
  using sim::ChangeKind;
  const sim::Fault full{sim::FaultKind::disk_full, sim::Part::publisher, 4s, 5s, 0};
  const sim::Course course{
      30s, false, {full}, {}, {Change{ChangeKind::stop_recording, 7s}, Change{ChangeKind::record, 12s}}};
  const sim::Outcome outcome =
      sim::Seeds(sim::simulated_rigs(sim::Varies::configuration), 120s, sim::Varies::configuration).run(0, course);
  EXPECT_EQ(outcome.failure, std::nullopt);
  return outcome.conduct;
}

sim::ConductFacts simulated_conduct() {
  sim::ConductFacts facts;
  for (const auto& [varies, count] : tried) {
    sim::Seeds seeds(sim::simulated_rigs(varies), 120s, varies);
    for (std::uint64_t seed = 0; seed < count; ++seed) {
      const sim::Outcome outcome = seeds.run(seed);
      EXPECT_EQ(outcome.failure, std::nullopt) << "seed " << seed;
      facts.add(outcome.conduct);
    }
  }
  facts.add(stopped_while_paused());
  return facts;
}

TEST(Conformance, SimulatedRolesSendWhatRealOnesDo) {
  sim::ConductFacts real;
  for (const TracedRig& rig : traced_rigs()) real.add(conduct_in(rig.run()));
  sim::ConductFacts simulated = simulated_conduct();
  EXPECT_THAT(missing_in(simulated.steps, real.steps), IsEmpty()) << "only real roles do it";
  EXPECT_THAT(too_early(real, simulated), IsEmpty()) << "only real roles do it so early";
  EXPECT_THAT(missing_in(simulated.fields, real.fields), IsEmpty()) << "only real roles send it";
  std::erase_if(simulated.steps, is_seldom);
  std::erase_if(simulated.fields, is_seldom);
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
