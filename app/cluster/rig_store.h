// The rig's configuration in etcd: from the first `apply` on it counts, and each machine's own file is only where to
// begin. It is kept as the text that somebody wrote, so that every version reads it by its own rules, and
// `${VARIABLES}` are filled in on each node: what they hold is never in etcd.
//
// The text lies in pieces under a generation, and one pointer key says which generation counts, and what the text's
// digest is. So nobody reads half of one.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_client.h"
#include "app/cluster/etcd_mirror.h"

namespace campipe {

struct StoredRig {
  std::uint64_t generation = 0;              // 0: there is no rig in etcd yet
  std::int64_t revision = 0;                 // the pointer's: it grows with each change
  std::vector<std::uint64_t> generations{};  // of which there are pieces: of this one, and of writers that failed
  std::string text{};
  std::string problem{};                            // why the text cannot be used, for people; empty: it can
  nlohmann::json other = nlohmann::json::object();  // the pointer's fields that this version does not know
};

StoredRig read_rig(const EtcdMirror& mirror, const ClusterKeys& keys);
// The same, asked of etcd: for commands.
EtcdResult<StoredRig> read_rig(EtcdClient& client, const ClusterKeys& keys);

enum class RigWritten : std::uint8_t {
  done,
  outdated,  // somebody else has changed it since it was read: look at the difference again
  unknown,   // no answer came: read it again to see
  failed     // nothing was changed; the message says why
};
struct RigWriteResult {
  RigWritten outcome = RigWritten::done;
  std::string message{};
};
// Puts the text in the place of `stored`. Up to 1 MiB, as a configuration's file.
RigWriteResult write_rig(EtcdClient& client, const ClusterKeys& keys, const StoredRig& stored, const std::string& text);

inline constexpr std::size_t largest_rig = 1U << 20U;

}  // namespace campipe
