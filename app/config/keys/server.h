// The keys of the servers and their users.
#pragma once

#include <string_view>

#include "app/config/key.h"
#include "app/config/server_config.h"
#include "app/config/values.h"

namespace campipe {

template <typename Keys>
void describe_keys(Keys& keys, Of<UserConfig>) {
  using U = UserConfig;
  keys.hidden("name", &U::name);
  keys.key("password", &U::password,
           ParsedKey{read_password, "string", R"({"type": "string", "pattern": "^\\$argon2id\\$"})"},
           {.meaning = "made with `campipe hash-password`; a password in clear is refused",
            .range = "an argon2id hash",
            .fallback = "required without a `token`"});
  keys.key(
      "token", &U::token, ParsedKey{read_token_hash, "string", R"({"type": "string", "pattern": "^[0-9a-f]{64}$"})"},
      {.meaning = "made with `campipe make-token`: the address `/?token=…` logs a [wall](operations.md#show-a-wall) "
                  "in, until this line is changed. Whoever has one may only `view`",
       .range = "a SHA-256 hash",
       .fallback = "none"});
  keys.key("rtsp_secret", &U::rtsp_secret,
           ParsedKey{read_rtsp_secret, "string", R"({"type": "string", "pattern": "^[!#-9;-~]{8,128}$"})"},
           {.meaning = "for players that log in by RTSP's Digest, which needs a secret that is stored in clear: so not "
                       "the password. Without it the user has Basic only: where others have one and there is no TLS, "
                       "players that prefer Digest fail for this user",
            .range = "8 to 128 ASCII characters, without spaces, `:` and `\"`",
            .fallback = "none"});
  keys.key("may", &U::may,
           {.meaning = "`metrics`: see how the rig does, in numbers (`/metrics`), and no picture. `view`: also watch. "
                       "`record`: also recordings, and starting and stopping them. `administer`: also enable and "
                       "disable, and, as a user of all cameras, add, change and remove cameras and reload"});
  keys.key("cameras", &U::cameras,
           ParsedKey{read_user_cameras, "list", R"({"type": "array", "minItems": 1, "items": {"type": "string"}})"},
           {.meaning = "those that the user may see; the others do not exist for this user",
            .range = "names of cameras, at least one",
            .fallback = "all"});
}

template <typename Keys>
void describe_keys(Keys& keys, Of<SessionConfig>) {
  using namespace std::chrono_literals;
  using S = SessionConfig;
  keys.key("idle", &S::idle, DurationKey{1min, 365 * 24h},
           {.meaning = "it ends after this time without a request; an open page, also in the background, makes some"});
  keys.key("longest", &S::longest, DurationKey{1min, 365 * 24h},
           {.meaning = "it ends after this time in any case", .range = "`idle` to 365d"});
}

template <typename Keys>
void describe_keys(Keys& keys, Of<TlsConfig>) {
  constexpr std::string_view file = R"({"type": "string", "minLength": 1})";
  keys.key("certificate", &TlsConfig::certificate, ParsedKey{read_certificate, "string", file},
           {.meaning = "the servers' certificate, and behind it those that lead to its authority's",
            .range = "a file (PEM)",
            .fallback = required});
  keys.key("key", &TlsConfig::key, ParsedKey{read_private_key, "string", file},
           {.meaning = "its private key, not encrypted", .range = "a file (PEM)", .fallback = required});
}

template <typename Keys>
void describe_keys(Keys& keys, Of<ServerConfig>) {
  using S = ServerConfig;
  constexpr std::string_view address = R"({"$ref": "#/$defs/address"})";
  keys.key("http_address", &S::http_address, ParsedKey{read_address, "string", address},
           {.meaning = "where pages, API, live streams and metrics are served; IPv6 as `[::1]:8080`",
            .range = "`HOST:PORT`, `:PORT` for all of the machine's addresses, `off`"});
  keys.key("rtsp_address", &S::rtsp_address, ParsedKey{read_address, "string", address},
           {.meaning = "where the streams are served by RTSP", .range = "as `http_address`"});
  keys.key("rtsp_timestamps", &S::rtsp_timestamps,
           {.meaning = "what RTP packets say of when a frame was taken, beside [sender "
                       "reports](operations.md#capture-time). `ntp64`: the first packet "
                       "of each frame has RFC 6051's header extension, so that readers need not wait for a report, and "
                       "know it of each frame by itself"});
  keys.key("insecure", &S::insecure,
           {.meaning = "`true`: without `users`, addresses other than the machine's own (`127.0.0.1`, `[::1]`, "
                       "`localhost`) are allowed, and everyone who reaches them may watch, record, enable and "
                       "disable the cameras"});
  keys.section("tls", &S::tls, {.meaning = "a certificate for HTTP and RTSP", .fallback = "no TLS"});
  keys.entries("users", &S::users, read_users, R"({"$ref": "#/$defs/users"})",
               {.meaning = "a user's name, as a camera's, and what the user may",
                .range = "up to 256 users",
                .fallback = "everybody may watch, record, enable and disable"});
  keys.section(
      "sessions", &S::sessions,
      {.meaning = "how long a login through a page lasts; it survives restarts of the rig", .fallback = "see below"});
  keys.key(
      "http_base", &S::http_base,
      ParsedKey{read_http_base, "string", R"({"type": "string", "pattern": "^(/[A-Za-z0-9._~-]+)+$|\\$\\{"})"},
      {.meaning =
           "the path below which a reverse proxy [shows the rig](operations.md#put-it-behind-a-reverse-proxy), if it "
           "passes that path on, or has another rig beside this one",
       .range = "a path without an end, such as `/cams`",
       .fallback = "none"});
  keys.key(
      "http_hosts", &S::http_hosts,
      ParsedKey{read_http_hosts, "list",
                R"({"type": "array", "items": {"type": "string", "pattern": "^[A-Za-z0-9.-]+(:[0-9]+)?$|\\$\\{"}})"},
      {.meaning = "names by which people reach `http_address`, such as a reverse proxy's. Without `users` no other "
                  "name is answered but this machine's; and pages of these names may use the rig though the proxy "
                  "passes on another `Host`",
       .range = "`HOST` or `HOST:PORT`"});
  keys.key(
      "trusted_proxies", &S::trusted_proxies,
      ParsedKey{read_trusted_proxies, "list",
                R"({"type": "array", "items": {"type": "string", "pattern": "^[0-9A-Fa-f:.]+(/[0-9]+)?$|\\$\\{"}})"},
      {.meaning = "reverse proxies in front of `http_address`: their `X-Forwarded-For` and `X-Forwarded-Proto` are "
                  "used, and limits of connections and wrong passwords are for the addresses behind them",
       .range = "addresses and networks in numbers, such as `127.0.0.1` or `10.0.0.0/8`"});
}

}  // namespace campipe
