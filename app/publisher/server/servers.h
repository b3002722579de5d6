// All that the publisher serves: what HTTP and RTSP need, put together. Used by the publisher's main thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/config/cluster_config.h"
#include "app/config/server_config.h"
#include "app/config/stream_config.h"
#include "app/publisher/server/access.h"
#include "app/publisher/server/api/api.h"
#include "app/publisher/server/api/gpu_meter.h"
#include "app/publisher/server/api/metrics.h"
#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/http/server.h"
#include "app/publisher/server/live/stream.h"
#include "app/publisher/server/nodes/clocks.h"
#include "app/publisher/server/nodes/links.h"
#include "app/publisher/server/nodes/wall.h"
#include "app/publisher/server/owner_token.h"
#include "app/publisher/server/rtsp/server.h"
#include "app/publisher/server/served_tls.h"
#include "app/publisher/server/session_file.h"
#include "core/clock.h"
#include "core/name_lookup.h"
#include "ipc/ids.h"

namespace campipe {

namespace messages {
struct Answer;
}  // namespace messages
class RigPage;

class Servers {
 public:
  // `send`: a request on its way to the supervisor. An address that cannot be taken is logged once, and tried again
  // every few seconds: the rig runs meanwhile. `cluster`: of which it is a node.
  Servers(const ServerConfig& config, const std::optional<ClusterConfig>& cluster, const RigPage& page,
          const RigView::Send& send);
  ~Servers();
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  // Returns what its packets are to be offered to; null: nothing is
  // served.
  std::shared_ptr<LiveStream> add(OutputId output, const ResolvedOutput& config);
  void remove(OutputId output);
  // One that does not run: its recordings can be seen.
  void add_disabled(const ResolvedOutput& config) { api_.add(config); }
  void set_status(nlohmann::json status);
  void on_answer(const messages::Answer& answer);
  // Of a node of a cluster: what the others are told of its links, and who is asked for theirs; what they have
  // answered.
  void share_links(messages::ShareLinks shared);
  std::vector<messages::PeerLinks> take_peer_links();
  // Users may have changed, and what is in the certificates' files; addresses do not while the rig runs.
  void update(const ServerConfig& config);
  // To be called several times a second.
  void tick();

 private:
  // On the way to listening at an address. The name of its host is looked up elsewhere: that can take long.
  struct Listener {
    const char* what;
    std::optional<NameLookup> lookup = {};
    std::string problem = {};  // the newest, which has been logged
    Clock::time_point next_try = {};
  };
  [[nodiscard]] nlohmann::json viewers() const;
  void start_http();
  void start_rtsp();
  void start_door();
  [[nodiscard]] UniqueFd open_rtsp(const Identity& identity, const std::string& address) const;
  static std::optional<std::string> find_address(const std::string& configured, Listener& listener);
  template <typename Start>
  void try_to(Listener& listener, const std::string& configured, const Start& start);

  // What a node of a cluster needs for the others.
  struct NodePart {
    NodePart(const ClusterConfig& of, const RigView& rig)
        : config(of),
          nodes(of.tls.has_value()),
          wall(rig, nodes),
          clocks(nodes),
          links(nodes),
          tls(of.tls ? std::optional<TlsFiles>(*of.tls) : std::nullopt) {}
    const ClusterConfig config;
    Nodes nodes;
    NodesWall wall;
    NodeClocks clocks;
    NodeLinks links;
    ServedTls tls;
    Listener listener{"the other nodes' door"};
  };

  ServerConfig config_;
  const RigPage& page_;
  RigView rig_;
  Access access_;
  const std::unique_ptr<NodePart> node_;  // null: of no cluster
  Api api_;
  GpuMeter gpus_;
  Metrics metrics_;
  std::map<OutputId, ResolvedOutput> cameras_;
  ServedTls tls_;
  OwnerToken token_;
  SessionFile sessions_;
  mutable std::mutex mutex_;  // of the next three, for the API's threads
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<HttpServer> door_;  // for the other nodes
  std::unique_ptr<RtspServer> rtsp_;
  Listener http_listener_{"HTTP"};
  Listener rtsp_listener_{"RTSP"};
};

}  // namespace campipe
