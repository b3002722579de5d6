#include "app/cluster/cluster_access.h"

#include <iostream>

#include "app/cluster/cluster_servers.h"
#include "app/config/config.h"
#include "app/control/load_process.h"
#include "core/error.h"

namespace campipe {

const ClusterConfig& ClusterAccess::config() const { return *loaded->rig.cluster; }

std::optional<ClusterAccess> open_cluster(const std::string& file, Needed needed) {
  LoadedConfig loaded = load_config_apart(file, nullptr);
  if (!loaded.errors.empty() && (needed == Needed::whole || !loaded.rig.cluster)) {
    for (const ConfigError& error : loaded.errors) std::cerr << format(error, file) << '\n';
    return std::nullopt;
  }
  if (!loaded.rig.cluster) {
    std::cerr << file << ": no section 'cluster': it says where etcd is, and the cluster's name\n";
    return std::nullopt;
  }
  const ClusterConfig& config = *loaded.rig.cluster;
  ClusterKeys keys(config.name);
  auto client = std::make_unique<EtcdClient>(servers_of(config));
  return ClusterAccess{std::move(loaded), std::move(keys), std::move(client)};
}

std::string etcd_problem(const std::string& what, const EtcdError& error) {
  switch (error.failure) {
    case EtcdFailure::unknown:
      return "it is not known whether etcd did it, since it did not answer (" + error.message +
             "): look with `campipe cluster status`";
    case EtcdFailure::no_space:
      return "cannot " + what + ": etcd is full (NOSPACE): compact and defragment it, and disarm the alarm (" +
             error.message + ")";
    default:
      return "cannot " + what + ": " + error.message +
             ": look whether the members that `cluster.etcd` names run, and whether certificates and `cluster.tls` fit";
  }
}

EtcdMirror read_cluster(ClusterAccess& cluster) {
  EtcdResult<EtcdRange> all = cluster.client->read_prefix(cluster.keys.prefix());
  if (!all) throw Error(etcd_problem("read the cluster", all.error()));
  EtcdNews news{true, {}, all->header.revision};
  for (EtcdKeyValue& value : all->values) news.events.push_back({false, std::move(value)});
  EtcdMirror mirror;
  mirror.apply(news);
  return mirror;
}

}  // namespace campipe
