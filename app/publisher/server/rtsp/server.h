// RTSP for many readers, by gst-rtsp-server on a thread with a main loop of its own: rtsp://HOST:PORT/NAME and
// /NAME/OUTPUT, over TCP and UDP. One media for each stream, shared by its readers, made when the first one comes and
// gone after the last; fed with the encoder's packets from a LiveViewer of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "app/config/server_config.h"
#include "app/publisher/server/access.h"
#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/nodes/nodes.h"
#include "app/publisher/server/server_tls.h"
#include "core/unique_handle.h"

namespace campipe {

struct RtspLimits {
  std::size_t connections = 1000;  // and no more than a quarter of the descriptors that the process may have
  std::size_t of_address = 64;     // or IPv6 network: connections, and as many sessions
  std::chrono::milliseconds request = std::chrono::seconds(10);   // from its first byte to its last; a TLS handshake
  std::chrono::milliseconds idle = std::chrono::seconds(15);      // without a session
  std::chrono::milliseconds unplayed = std::chrono::seconds(30);  // a session, whatever comes to keep it alive
  std::chrono::seconds silent{60};                                // likewise, if nothing comes
};

class RtspServer {
 public:
  // `streams`: those of the rig that are there already. `tls`: as HttpServer's. `nodes`: of the cluster, whose cameras
  // are passed on; null: of none; it must outlive this. Throws Error where the address cannot be taken.
  RtspServer(const ServerConfig& config, RigView& rig, Access& access, std::set<std::string> streams,
             const RtspLimits& limits = {}, ServerTls tls = nullptr, Nodes* nodes = nullptr);
  ~RtspServer();  // ends all sessions, within a second
  RtspServer(const RtspServer&) = delete;
  RtspServer& operator=(const RtspServer&) = delete;

  // The publisher calls these when a stream comes or goes. Any thread.
  void add(const std::string& stream);
  // A connection, not blocking, of one whom another node has let in as `identity`, and who is at `address`. Any thread.
  void let_in(UniqueFd connection, const Identity& identity, const std::string& address);
  void remove(const std::string& stream);
  // As HttpServer::renew_certificate().
  void renew_certificate(ServerTls tls);
  // As HttpServer::viewers(), with "form": "rtsp".
  [[nodiscard]] nlohmann::json viewers() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace campipe
