// Where the configuration says that etcd is.
#pragma once

#include <string>

#include "app/cluster/etcd_http.h"
#include "app/config/cluster_config.h"

namespace campipe {

inline EtcdServers servers_of(const ClusterConfig& config) {
  EtcdServers servers{config.etcd};
  for (std::string& url : servers.urls) {
    if (url.ends_with('/')) url.pop_back();
  }
  if (config.tls) servers.tls = {config.tls->ca, config.tls->certificate, config.tls->key};
  return servers;
}

}  // namespace campipe
