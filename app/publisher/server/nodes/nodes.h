// The other nodes of a cluster, as this node's servers see them: where they are, and what they answer. All of it goes
// to their doors (docs/cluster.md), which ask for a certificate of the cluster's authority and for whom this node asks.
//
// A thread of its own talks to them. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "app/publisher/server/nodes/places.h"
#include "app/publisher/server/nodes/request.h"
#include "app/publisher/server/server_tls.h"
#include "core/clock.h"
#include "core/error.h"

namespace boost::asio {
class io_context;  // NOLINT(readability-identifier-naming): theirs
}

namespace campipe {

// How long another node is waited for, for answers that are asked for again and again.
inline constexpr auto answer_patience = std::chrono::seconds(2);

// A node cannot be asked. Names it, but not its address, which is for administrators, and says why.
struct NodeGone : Error {
  using Error::Error;
};

struct NodeTarget {
  std::string node;
  std::string address;  // HOST:PORT
  ServerTls tls;        // null: plain
};

class Nodes {
 public:
  // `has_tls`: nodes are asked by TLS only, once set_tls() was called.
  explicit Nodes(bool has_tls);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  // Of the rig: the newest one, with its key "cluster".
  void set_status(const nlohmann::json& status);
  void set_tls(ServerTls tls);

  [[nodiscard]] std::shared_ptr<const NodePlaces> places() const;  // never null
  // Throws NodeGone where it is not there.
  [[nodiscard]] NodeTarget target_of(const std::string& node) const;

  struct Reply {
    int status = 0;  // 0: there was no answer
    std::string body = {};
    std::string problem = {};  // why there was none; names the node
    // When the question left this node, on a connection that was there, and when its answer was here.
    Clock::time_point sent = {};
    Clock::time_point received = {};
  };
  // Asks by GET, for the one that `who` names; `target`: path and query, escaped. The future is ready after `patience`
  // at the latest, and throws where this object is gone before.
  std::future<Reply> get(const std::string& node, std::string target, HeaderLine who,
                         std::chrono::milliseconds patience);

  // What its thread runs, for others who talk to nodes.
  boost::asio::io_context& io();

 private:
  class Asker;
  const bool has_tls_;
  mutable std::mutex mutex_;
  std::shared_ptr<const NodePlaces> places_ = std::make_shared<NodePlaces>();
  ServerTls tls_;
  std::unique_ptr<Asker> asker_;
};

}  // namespace campipe
