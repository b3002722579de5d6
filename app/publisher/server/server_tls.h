// What HTTP and RTSP serve TLS with: 1.2 or newer, without renegotiation.
#pragma once

#include <chrono>
#include <future>
#include <memory>

#include "app/config/config.h"
#include "core/clock.h"

namespace boost::asio::ssl {
class context;
}

namespace campipe {

using ServerTls = std::shared_ptr<boost::asio::ssl::context>;

// Reads both files, for which it may wait. Throws Error where the certificate or the key cannot be used.
ServerTls open_server_tls(const TlsConfig& config);

// Does that on a thread of its own, as a disk that does not answer must not hold up who asks. For one thread.
class TlsReader {
 public:
  // The files may be others than before: what is being read is not waited for.
  void begin(const TlsConfig& config);
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
