// The cluster that this machine is a node of (docs/cluster.md; its keys: app/config/keys/cluster.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/config/link_transport.h"

namespace campipe {

// What a node does that starts while etcd cannot be reached: wait for it, or run what it was assigned last.
enum class OnEtcdMissing : std::uint8_t { wait, run };

// PEM files, of the node: for etcd and for the other nodes.
struct ClusterTlsConfig {
  std::string ca;
  std::string certificate;
  std::string key;
  friend bool operator==(const ClusterTlsConfig&, const ClusterTlsConfig&) = default;
};

// Links, by which frames go from node to node.
struct ClusterLinksConfig {
  bool encrypt = true;
  std::string ports;                      // "7000-7099"; empty: any
  std::vector<LinkTransport> transports;  // the first that both nodes have; empty: campipe chooses
  friend bool operator==(const ClusterLinksConfig&, const ClusterLinksConfig&) = default;
};

struct ClusterConfig {
  std::string name;
  std::vector<std::string> etcd;  // URLs of its members
  std::string node;               // empty: the machine's host name
  std::string address;            // HOST:PORT
  std::map<std::string, std::string> labels;
  std::optional<ClusterTlsConfig> tls;
  OnEtcdMissing on_etcd_missing = OnEtcdMissing::wait;
  ClusterLinksConfig links;
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

// What `node` is, or stands for.
std::string node_name(const ClusterConfig& config);

}  // namespace campipe
