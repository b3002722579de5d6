// What HTTP and RTSP serve TLS with, and nodes of a cluster among each other: 1.2 or newer, without renegotiation.
#pragma once

#include <chrono>
#include <future>
#include <memory>

#include "app/config/cluster_config.h"
#include "app/config/server_config.h"
#include "core/clock.h"

namespace boost::asio::ssl {
class context;
}

namespace campipe {

using ServerTls = std::shared_ptr<boost::asio::ssl::context>;

struct TlsFiles {
  TlsFiles(const TlsConfig& config) : certificate(config.certificate), key(config.key) {}  // NOLINT: as one
  TlsFiles(const ClusterTlsConfig& config)                                                 // NOLINT: as one
      : certificate(config.certificate), key(config.key), authority(config.ca) {}

  std::string certificate;
  std::string key;
  std::string authority = {};  // empty: clients need no certificate
};

// Reads the files, for which it may wait. Throws Error where one cannot be used. With an authority it serves as for
// clients, too, and both sides have to show a certificate of it.
ServerTls open_server_tls(const TlsFiles& files);

// Does that on a thread of its own, as a disk that does not answer must not hold up who asks. For one thread.
class TlsReader {
 public:
  // The files may be others than before: what is being read is not waited for.
  void begin(const TlsFiles& files);
  // What has been read since, once; null: nothing yet. Throws Error, once, as open_server_tls().
  ServerTls take();
  [[nodiscard]] bool reads() const { return reading_.valid(); }
  // It has been reading for so long that it should be logged.
  [[nodiscard]] bool is_late() const { return reads() && Clock::now() > begun_ + std::chrono::seconds(10); }

 private:
  std::future<ServerTls> reading_;
  Clock::time_point begun_;
};

}  // namespace campipe
