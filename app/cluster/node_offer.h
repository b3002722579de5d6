// What a node offers to its cluster, as its value in etcd: what it is, what it has, and what it understands. Nodes of
// several versions read one another's offers: what one does not know it leaves alone.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "app/cluster/etcd_values.h"

namespace campipe {

// The layouts of values that this version reads and writes. A value with a higher one is not touched.
inline constexpr int oldest_cluster_schema = 1;
inline constexpr int newest_cluster_schema = 1;

// What is measured of a node, or needed by a camera: by resource ("cores", "decode" …), in units that both share. A
// resource that a node does not name, it does not have.
using Amounts = std::map<std::string, double>;

struct NodeOffer {
  std::string node;      // its name
  std::string instance;  // of this start: another start under the same name has another one
  std::string address;   // where the other nodes reach it
  std::string version;   // campipe's
  int oldest_schema = oldest_cluster_schema;
  int newest_schema = newest_cluster_schema;
  std::set<std::string> features{};
  std::map<std::string, std::string> labels{};
  Amounts capacity{};
  nlohmann::json devices = nlohmann::json::object();  // as app/placement writes them
  bool draining = false;                              // takes no cameras, and gives up those that it has
  std::set<std::string> unfit{};                      // cameras that it cannot run, or cannot record
  // Fields that this version does not know.
  nlohmann::json other = nlohmann::json::object();
  friend bool operator==(const NodeOffer&, const NodeOffer&) = default;
};

// Bytes. read_offer() refuses a larger value, and one that has more than the second beside its devices, whose size
// grows with the pairs of GPUs.
inline constexpr std::size_t largest_offer = largest_etcd_value;
inline constexpr std::size_t largest_offer_without_devices = 16'384;

std::string write_offer(const NodeOffer& offer);
// Nothing: it is none, larger than any, or of a schema that this version cannot read. `node`: the name that its key
// has.
std::optional<NodeOffer> read_offer(const std::string& node, const std::string& value);

// 128 random bits, in hexadecimal.
std::string new_instance();

}  // namespace campipe
