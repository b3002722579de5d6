// What a node does with the rig of its cluster beside following it, each of which may wait for etcd or a disk: a thread
// of its own puts the first rig there, and writes into files what this node has seen last. Of each only the newest
// waits. What does not succeed is logged, and tried again.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/cluster/cluster_keys.h"
#include "app/cluster/duties.h"
#include "app/cluster/etcd_client.h"
#include "app/cluster/rig_store.h"

namespace campipe {

class RigKeeper {
 public:
  struct Options {
    EtcdServers servers;
    std::string cluster;
    std::string node;
    std::filesystem::path folder;  // of this node; made where it is not there
  };
  // `on_written`: the rig of that revision is in rig_file(); on this object's thread.
  RigKeeper(Options options, std::function<void(std::int64_t revision)> on_written);
  ~RigKeeper();
  RigKeeper(const RigKeeper&) = delete;
  RigKeeper& operator=(const RigKeeper&) = delete;

  [[nodiscard]] static std::filesystem::path rig_file(const std::filesystem::path& folder);
  [[nodiscard]] static std::filesystem::path duties_file(const std::filesystem::path& folder);

  // There is no rig in etcd yet, as `stored` says: it is to be this one. Where another node is faster, its one counts.
  void store_first(const StoredRig& stored, const std::string& text);
  // It counts now.
  void keep(const StoredRig& rig);
  void keep(const NodeDuties& duties);

 private:
  struct Work {
    std::optional<std::pair<StoredRig, std::string>> first;
    std::optional<StoredRig> rig;
    std::optional<NodeDuties> duties;
    [[nodiscard]] bool any() const { return first || rig || duties; }
  };
  void run(const std::stop_token& stop);
  void put(const std::function<void(Work&)>& change);
  void carry_out(Work& work, EtcdClient& client);
  template <typename Do>
  void on_disk(const std::string& what, const Do& act);

  Options options_;
  ClusterKeys keys_;
  std::function<void(std::int64_t)> on_written_;
  std::string problem_;  // that was logged last; the thread's own

  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  Work next_;

  std::jthread thread_;  // last: it uses the others
};

}  // namespace campipe
