#include "app/mpi/rank_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "app/cluster/rig_cameras.h"
#include "app/config/rig_groups.h"
#include "app/placement/mosaic_units.h"
#include "app/placement/node_amounts.h"
#include "core/error.h"

namespace campipe {
namespace {

using Json = nlohmann::json;

// By camera: mosaics with what they show, and the cameras of a group, whose members may be in mosaics.
std::map<std::string, std::string> rank_units(const RigConfig& rig) {
  std::map<std::string, std::string> units = mosaic_units(rig.cameras);
  for (const RigGroup& group : groups_of(rig)) {
    std::set<std::string> joined;  // units that become one
    for (const std::string& camera : group.cameras) joined.insert(units.try_emplace(camera, camera).first->second);
    for (auto& [camera, unit] : units) {
      if (joined.contains(unit)) unit = *joined.begin();
    }
  }
  return units;
}

bool has_motion(const CameraConfig& camera) {
  return std::ranges::any_of(resolved_outputs(camera), [](const ResolvedOutput& output) {
    return std::ranges::any_of(output.filters, [](const FilterConfig& filter) { return filter.name == "motion"; });
  });
}

std::string listed(const std::set<std::string>& names) {
  return names.empty() ? "no cameras" : fmt::format("{}", fmt::join(names, ", "));
}

// As people open it.
std::string shown_address(const std::string& address, const std::string& host) {
  return address.starts_with(':') ? host + address : address;
}

}  // namespace

std::string write_rank_offer(const RankOffer& offer) {
  return Json{{"host", offer.host},       {"local", offer.local},     {"on_machine", offer.on_machine},
              {"version", offer.version}, {"problem", offer.problem}, {"capacity", offer.capacity}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

RankOffer read_rank_offer(const std::string& text) try {
  const Json json = Json::parse(text);
  return {json.at("host").get<std::string>(),    json.at("local").get<unsigned>(),
          json.at("on_machine").get<unsigned>(), json.at("version").get<std::string>(),
          json.at("problem").get<std::string>(), json.at("capacity").get<Amounts>()};
} catch (const Json::exception&) {
  throw Error("a rank says what this version cannot read: use the same campipe-mpi on all machines");
}

Amounts capacity_of_rank(const Machine& machine, const MachineCosts& costs, unsigned on_machine) {
  Amounts capacity = node_capacity(machine, costs);
  for (auto& [resource, amount] : capacity) amount /= on_machine;
  return capacity;
}

RankPlan plan_ranks(const LoadedConfig& loaded, const std::vector<RankOffer>& offers, const Machine& machine,
                    const MachineCosts& costs) {
  const std::map<std::string, std::string> units = rank_units(loaded.rig);
  ClusterView view;
  RankPlan plan;
  std::map<std::string, unsigned> ranks;
  for (const RankOffer& offer : offers) {
    const auto rank = static_cast<unsigned>(plan.parts.size());
    plan.parts.push_back({.rank = rank, .local = offer.local});
    ranks[rank_name(rank)] = rank;
    view.nodes.push_back({.name = rank_name(rank), .capacity = offer.capacity});
  }
  view.cameras = rig_cameras(loaded, machine, costs, units);
  const std::map<std::string, CameraPlace> places = assign_cameras(view);
  std::map<std::string, unsigned> rank_of_unit;
  for (const auto& [camera, place] : places) {
    if (place.node.empty()) continue;
    if (const auto unit = units.find(camera); unit != units.end()) rank_of_unit[unit->second] = ranks.at(place.node);
  }
  for (const CameraConfig& camera : loaded.rig.cameras) {
    const auto place = places.find(camera.name);
    const auto unit = units.find(camera.name);
    // What is disabled goes with those that it belongs to, whose configuration names it.
    const bool goes_along = place == places.end() && unit != units.end() && rank_of_unit.contains(unit->second);
    if (!goes_along && (place == places.end() || place->second.node.empty())) {
      plan.nowhere[camera.name] = place == places.end() ? "it is disabled" : place->second.reason;
      continue;
    }
    RankPart& part = plan.parts.at(goes_along ? rank_of_unit.at(unit->second) : ranks.at(place->second.node));
    part.cameras.insert(camera.name);
    part.has_motion = part.has_motion || has_motion(camera);
  }
  return plan;
}

std::string describe(const RankPlan& plan, const std::vector<RankOffer>& offers, const YamlNode& rig) {
  std::string text;
  for (const RankPart& part : plan.parts) {
    const std::string& host = offers.at(part.rank).host;
    text += fmt::format("{} on {}: {}", rank_name(part.rank), host, listed(part.cameras));
    for (const auto& [key, protocol] : {std::pair("http_address", "HTTP"), std::pair("rtsp_address", "RTSP")}) {
      const std::string address = part.cameras.empty() ? std::string() : rank_address(rig, key, part);
      if (!address.empty()) text += fmt::format("; {} at {}", protocol, shown_address(address, host));
    }
    text += '\n';
  }
  for (const auto& [camera, why] : plan.nowhere) text += fmt::format("{} runs nowhere: {}\n", camera, why);
  return text;
}

}  // namespace campipe
