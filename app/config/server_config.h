// The servers and their users (their keys: app/config/keys/server.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/config/permission.h"

namespace campipe {

struct UserConfig {
  std::string name;
  std::string password;     // its argon2id hash, as `campipe hash-password` prints it; empty: there is a token only
  std::string rtsp_secret;  // in clear, for RTSP's Digest; empty: this user has Basic only
  Permission may = Permission::view;
  std::vector<std::string> cameras;  // empty: all
  std::string token = {};            // its hash, as `campipe make-token` prints it; empty: there is none
  friend bool operator==(const UserConfig&, const UserConfig&) = default;
};

// How long a login through a page lasts.
struct SessionConfig {
  std::chrono::nanoseconds idle = std::chrono::hours(1);  // without a request
  std::chrono::nanoseconds longest = std::chrono::hours(12);
  friend bool operator==(const SessionConfig&, const SessionConfig&) = default;
};

struct TlsConfig {
  std::string certificate;  // PEM files
  std::string key;
  friend bool operator==(const TlsConfig&, const TlsConfig&) = default;
};

// What the RTP packets of a frame say, beside sender reports, of when it was taken: nothing, or RFC 6051's header
// extension, an NTP timestamp of 64 bits.
enum class RtspTimestamps : std::uint8_t { off, ntp64 };

// What the publisher serves. Without users everybody who reaches an address may watch, record, enable and disable (the
// rest takes the rig's token): then addresses other than loopback ones are a mistake, unless `insecure` says that it is
// meant.
struct ServerConfig {
  std::string http_address = "127.0.0.1:8080";  // "HOST:PORT", ":PORT" for all addresses, port 0: any; empty: off
  std::string rtsp_address = "127.0.0.1:8554";  // likewise
  RtspTimestamps rtsp_timestamps = RtspTimestamps::off;
  bool insecure = false;
  std::optional<TlsConfig> tls;  // for HTTP and RTSP
  std::vector<UserConfig> users;
  std::vector<std::string> trusted_proxies;  // whose X-Forwarded-For is used: addresses, or networks ("10.0.0.0/8")
  SessionConfig sessions = {};
  std::string http_base = {};                // "/cams": below which a proxy has the rig; empty: nowhere
  std::vector<std::string> http_hosts = {};  // by which it is reached, besides http_address: "HOST" or "HOST:PORT"
  friend bool operator==(const ServerConfig&, const ServerConfig&) = default;
};

inline bool serves(const ServerConfig& server) { return !server.http_address.empty() || !server.rtsp_address.empty(); }

}  // namespace campipe
