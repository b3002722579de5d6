// A change of the cluster's rig that somebody asked for through this node's API.
#pragma once

#include <filesystem>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/etcd_client.h"
#include "app/cluster/rig_store.h"
#include "app/control/messages/answer.h"

namespace campipe {

namespace messages {
struct ChangeRig;
}  // namespace messages

// Makes it, if the rig that counts (`stored`) is the one that was checked, and nobody else is faster. `file`: where
// this node keeps the rig. Returns the answer; may wait for etcd and the file's disk. Throws Error where the file
// cannot be read, or is another one.
messages::Answer change_rig(EtcdClient& client, const ClusterKeys& keys, const StoredRig& stored,
                            const std::filesystem::path& file, const messages::ChangeRig& asked);

}  // namespace campipe
