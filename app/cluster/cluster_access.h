// A cluster as commands see it: read from etcd once, and changed there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_client.h"
#include "app/cluster/etcd_mirror.h"
#include "core/indirect.h"

namespace campipe {

struct ClusterConfig;
struct LoadedConfig;

inline constexpr int cluster_failed = 1;  // as exit status: etcd did not do it

struct ClusterAccess {
  Indirect<LoadedConfig> loaded;
  ClusterKeys keys;
  std::unique_ptr<EtcdClient> client;

  [[nodiscard]] const ClusterConfig& config() const;
};

// What of the file has to be without mistakes. The shell of whoever looks at a cluster has no passwords of cameras.
enum class Needed : std::uint8_t { section, whole };

// By the section `cluster` of the file. Nothing: mistakes were printed; the exit status is usage_error.
std::optional<ClusterAccess> open_cluster(const std::string& file, Needed needed);

// All keys of the cluster. Throws Error where etcd does not answer.
EtcdMirror read_cluster(ClusterAccess& cluster);

// With what to do about it. `what`: "read the cluster".
std::string etcd_problem(const std::string& what, const EtcdError& error);

// "a, b and c"; empty: "none".
template <typename Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "none" : text;
}

}  // namespace campipe
