// Writes into etcd what was asked of the cluster through this node, one after the other, on a thread of its own, since
// etcd may not answer. Each request is answered once, within its time.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "app/cluster/cluster_requests.h"
#include "app/cluster/etcd_client.h"

namespace campipe {

namespace messages {
struct Answer;
}  // namespace messages

class ClusterWriter {
 public:
  // `answer` is called on any thread. Throws Error as EtcdClient does.
  ClusterWriter(EtcdServers servers, std::function<void(const messages::Answer&)> answer);
  // What has not been written yet is not any more, and not answered.
  ~ClusterWriter();
  ClusterWriter(const ClusterWriter&) = delete;
  ClusterWriter& operator=(const ClusterWriter&) = delete;

  // `done`: the body of the answer once it is written. A change that is refused is answered at once.
  void put(std::uint64_t request, const ClusterChange& change, nlohmann::json done);
  // `write` is called on the thread, with a client that has a deadline; what it returns is the answer, and what it
  // throws (Error) the reason of a refusal (409).
  using Write = std::function<messages::Answer(EtcdClient& client)>;
  void put(std::uint64_t request, Write write);
  // What cannot be asked for now.
  void refuse(std::uint64_t request, int status, const std::string& why);

 private:
  struct Work {
    std::uint64_t request = 0;
    Write write;
    Deadline until;
  };
  void run(const std::stop_token& stop);
  static messages::Answer carry_out(const Work& work, EtcdClient& client);

  EtcdServers servers_;
  std::function<void(const messages::Answer&)> answer_;
  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  std::deque<Work> waiting_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace campipe
