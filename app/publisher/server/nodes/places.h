// Which node of a cluster runs which camera, and where the nodes are: what the status of the rig says of it (its key
// "cluster", docs/api.md).
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

namespace campipe {

struct NodePlaces {
  struct Node {
    bool here = false;    // its lease lives
    std::string address;  // HOST:PORT of its door; empty: not known
  };
  std::string own;                             // this node's name; empty: that is not known yet
  std::map<std::string, Node> nodes;           // by name
  std::map<std::string, std::string> cameras;  // the node of each, by the plan; empty: it has none
  std::set<std::string> local;                 // cameras that this node has now, whatever the plan says

  // By the plan another node, or none, is to run it, and this one does not have it (any more).
  [[nodiscard]] bool is_elsewhere(const std::string& camera) const;
  // The node that is to run it then, which may be empty; nothing: it is not elsewhere.
  [[nodiscard]] std::optional<std::string> elsewhere(const std::string& camera) const;
  // Nodes that are there but this one.
  [[nodiscard]] std::set<std::string> others_here() const { return others(true); }
  // Nodes that are not.
  [[nodiscard]] std::set<std::string> away() const { return others(false); }

 private:
  [[nodiscard]] std::set<std::string> others(bool here) const;
};

// What the status does not say is left out.
NodePlaces node_places(const nlohmann::json& status);

}  // namespace campipe
