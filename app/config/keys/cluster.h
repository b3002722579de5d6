// The keys of `cluster`.
#pragma once

#include <string_view>

#include "app/config/cluster_config.h"
#include "app/config/key.h"
#include "app/config/values.h"

namespace campipe {

template <typename Keys>
void describe_keys(Keys& keys, Of<ClusterTlsConfig>) {
  using T = ClusterTlsConfig;
  constexpr std::string_view file = R"({"type": "string", "minLength": 1})";
  keys.key("ca", &T::ca, ParsedKey{read_cluster_authority, "string", file},
           {.meaning = "the certificates of the authority that signed those of etcd and of all nodes; nobody else is "
                       "trusted",
            .range = "a file (PEM)",
            .fallback = required});
  keys.key("certificate", &T::certificate, ParsedKey{read_certificate, "string", file},
           {.meaning = "this node's certificate, which it shows to etcd and to the other nodes; its common name is the "
                       "node's name",
            .range = "a file (PEM)",
            .fallback = required});
  keys.key("key", &T::key, ParsedKey{read_private_key, "string", file},
           {.meaning = "its private key, not encrypted", .range = "a file (PEM)", .fallback = required});
}

template <typename Keys>
void describe_keys(Keys& keys, Of<ClusterLinksConfig>) {
  using L = ClusterLinksConfig;
  keys.key(
      "encrypt", &L::encrypt,
      {.meaning = "frames are encrypted, and only nodes of the cluster can connect. `false`, on all nodes alike: only "
                  "where no stranger reaches the nodes' network"});
  keys.key(
      "ports", &L::ports,
      ParsedKey{read_link_ports, "string", R"({"type": "string", "pattern": "^[0-9]{1,5}-[0-9]{1,5}$|\\$\\{"})"},
      {.meaning = "where links to this node are listened for, at the host of `address`: one port for each link that it "
                  "receives",
       .range = "`FIRST-LAST`, such as `7000-7099`",
       .fallback = "any free ports"});
  keys.key(
      "transports", &L::transports,
      ParsedKey{read_link_transports, "list or choice",
                R"({"anyOf": [{"enum": ["auto"]}, {"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": true,
                         "items": {"enum": ["zeromq", "ucx"]}}, {"type": "string", "pattern": "\\$\\{"}]})"},
      {.meaning = "what links to this node may use, the best first; of those the first that the other node has is "
                  "taken. `ucx` does not encrypt. `auto`: `ucx` where both nodes have RDMA and `encrypt` is "
                  "`false`, else `zeromq`",
       .range = "`auto`, or a list of `zeromq`, `ucx`",
       .fallback = "`auto`"});
}

template <typename Keys>
void describe_keys(Keys& keys, Of<ClusterConfig>) {
  using C = ClusterConfig;
  constexpr std::string_view name = R"({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$|\\$\\{"})";
  keys.key("name", &C::name, ParsedKey{read_cluster_name, "string", name},
           {.meaning = "the cluster's name, the same on all its nodes; several clusters can share an etcd",
            .range = "1 to 64 of A–Z, a–z, 0–9, `_`, `-`, `.`; a letter or digit first",
            .fallback = required});
  keys.key("etcd", &C::etcd,
           ParsedKey{read_etcd_urls, "list",
                     R"({"type": "array", "minItems": 1, "maxItems": 9,
                         "items": {"type": "string", "pattern": "^https?://.*:[0-9]{1,5}/?$|\\$\\{"}})"},
           {.meaning = "the members of etcd. `http` only on this machine: etcd's passwords do not protect a cluster, "
                       "certificates do",
            .range = "1 to 9 of `https://HOST:PORT`, `http://127.0.0.1:PORT`",
            .fallback = required});
  keys.key("node", &C::node, ParsedKey{read_cluster_name, "string", name},
           {.meaning = "this machine's name in the cluster, different on each, such as `${HOSTNAME}`",
            .range = "as `name`",
            .fallback = "the machine's host name"});
  keys.key("address", &C::address,
           ParsedKey{read_node_address, "string", R"({"type": "string", "pattern": ":[0-9]{1,5}$|\\$\\{"})"},
           {.meaning = "where the other nodes reach this one", .range = "`HOST:PORT`", .fallback = required});
  keys.key("labels", &C::labels,
           ParsedKey{read_node_labels, "map",
                     R"({"type": "object", "additionalProperties": {"type": ["string", "integer"]}})"},
           {.meaning = "what is special about this node, such as `hall: 2`. `campipe cluster status --json` shows it; "
                       "nothing else uses it yet",
            .range = "up to 32 names and their texts of up to 256 bytes",
            .fallback = "none"});
  keys.section("tls", &C::tls,
               {.meaning = "certificates for etcd and between nodes, checked on both sides", .fallback = "no TLS"});
  keys.key("on_etcd_missing", &C::on_etcd_missing,
           {.meaning = "what this node does if etcd cannot be reached when it starts. `wait`: nothing, until it can; "
                       "`run`: the cameras that it was assigned last"});
  keys.section("links", &C::links,
               {.meaning = "frames of mosaics `across_nodes`, from node to node", .fallback = "see below"});
}

}  // namespace campipe
