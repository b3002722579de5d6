// Which rank runs which cameras: what each rank says of itself, and what rank 0 makes of it, with the rules of a
// cluster (app/cluster/assign.h). All that MPI carries are these texts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/cluster/node_offer.h"
#include "app/config/yaml.h"
#include "app/mpi/rank_rig.h"
#include "app/placement/machine_costs.h"
#include "app/placement/plan.h"

namespace campipe {

struct LoadedConfig;

struct RankOffer {
  std::string host{};
  unsigned local = 0;       // this rank's number on its machine
  unsigned on_machine = 1;  // ranks on it
  std::string version{};    // campipe's
  std::string problem{};    // why no rig can be run there, for people; empty: it can
  Amounts capacity{};       // this rank's part of what the machine has
};
std::string write_rank_offer(const RankOffer& offer);
// Throws Error for what is none.
RankOffer read_rank_offer(const std::string& text);

// A machine's ranks share it.
Amounts capacity_of_rank(const Machine& machine, const MachineCosts& costs, unsigned on_machine);

struct RankPlan {
  std::vector<RankPart> parts;                   // by rank
  std::map<std::string, std::string> nowhere{};  // cameras that run on no rank, and why
};
// `offers`: by rank. What cameras take is predicted for `machine`. Mosaics and what they show are on one rank, and so
// are the cameras of a group.
RankPlan plan_ranks(const LoadedConfig& loaded, const std::vector<RankOffer>& offers, const Machine& machine,
                    const MachineCosts& costs);

// For people: a line for each rank, with its cameras and where it serves.
std::string describe(const RankPlan& plan, const std::vector<RankOffer>& offers, const YamlNode& rig);

}  // namespace campipe
