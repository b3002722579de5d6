// A connection to an rtsps camera. FFmpeg's RTSP client (up to 7.1 at least) gives its TLS no options: it takes any
// certificate. So it connects to a port of this machine instead, and what it sends and receives goes through a TLS
// connection that was made, and checked unless configured otherwise, before.
#pragma once

#include <memory>
#include <string>

#include "stages/sources/read_watch.h"

namespace campipe {

struct SourceConfig;

class TlsTunnel {
 public:
  // Connects and checks the certificate by `config` (for `host`, signed by one of `ca_file`; empty: of the
  // system's). Waits as `watch` allows. `shown`: for people. Throws SourceError, or Error if interrupted.
  TlsTunnel(const std::string& host, int port, const SourceConfig& config, const std::string& shown, ReadWatch& watch);
  // Closes both ends.
  ~TlsTunnel();
  TlsTunnel(const TlsTunnel&) = delete;
  TlsTunnel& operator=(const TlsTunnel&) = delete;

  // On 127.0.0.1, for one connection.
  [[nodiscard]] int port() const;
  // What FFmpeg opens in place of `url`, with the user and password of that.
  [[nodiscard]] std::string url_for(const std::string& url) const;

 private:
  class Relay;
  std::unique_ptr<Relay> relay_;
};

}  // namespace campipe
