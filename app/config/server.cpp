#include "app/config/server.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "app/config/address.h"
#include "app/config/password_hash.h"
#include "app/config/tls.h"

namespace campipe {
namespace {

constexpr std::size_t max_users = 256;
constexpr std::size_t shortest_secret = 8;

constexpr std::string_view expected_address = "HOST:PORT, :PORT for all of this machine's addresses, or off";

bool read_address(const YamlNode& node, Setting<std::string>& setting, Report& report) {
  auto text = read_text(node, expected_address, report);
  if (text == "off") return set(setting, node, std::optional(std::string()));
  if (text && !split_listen_address(*text)) {
    refuse(node, expected_address, report);
    text.reset();
  }
  return set(setting, node, std::move(text));
}

bool read_pem(const YamlNode& node, Setting<std::string>& setting, std::string_view expected, Report& report) {
  auto path = read_text(node, expected, report);
  if (path && ::access(path->c_str(), R_OK) != 0) {
    report.at(node, "the file " + shown(node) + " cannot be read: " + std::strerror(errno));
    path.reset();
  }
  return set(setting, node, std::move(path));
}

bool read_certificate(const YamlNode& node, ServerSettings& server, Report& report) {
  return read_pem(node, server.certificate, "a file of certificates (PEM), the servers' own first", report);
}

bool read_key(const YamlNode& node, ServerSettings& server, Report& report) {
  return read_pem(node, server.key, "a file with the certificate's private key (PEM)", report);
}

using TlsKey = Key<ServerSettings>;
constexpr std::array<TlsKey, 2> tls_keys{{{"certificate", read_certificate}, {"key", read_key}}};

// Whatever stands there instead may be a secret: it is never shown.
bool refuse_unseen(const YamlNode& node, const std::string& message, Report& report) {
  report.at(node, node.problem.empty() ? message : node.problem);
  return false;
}

bool read_password(const YamlNode& node, UserSettings& user, Report& report) {
  const std::string* text = scalar_text(node);
  const bool good = text != nullptr && is_password_hash(*text);
  set(user.password, node, good ? std::optional(*text) : std::nullopt);
  return good || refuse_unseen(node,
                               "expected a hash ($argon2id$…), since a password in clear is not taken; use campipe "
                               "hash-password",
                               report);
}

// Names and passwords are put into one line of text by RTSP's Digest.
bool read_rtsp_secret(const YamlNode& node, UserSettings& user, Report& report) {
  const std::string* text = scalar_text(node);
  const bool good = text != nullptr && text->size() >= shortest_secret && text->size() <= 128 &&
                    std::ranges::all_of(*text, [](char c) { return c > ' ' && c < '\x7F' && c != ':' && c != '"'; });
  set(user.rtsp_secret, node, good ? std::optional(*text) : std::nullopt);
  return good || refuse_unseen(node, "expected 8 to 128 ASCII characters without spaces, ':' and '\"'", report);
}

bool read_user_cameras(const YamlNode& node, UserSettings& user, Report& report) {
  set(user.cameras, node, std::optional<std::vector<const YamlNode*>>());
  if (!is_list(node, report)) return false;
  std::vector<const YamlNode*> cameras;
  for (const YamlNode& child : node.children) {
    if (read_text(child, "a camera's name", report)) cameras.push_back(&child);
  }
  // An empty list would mean none to whoever writes it, and all to whoever reads it.
  if (node.children.empty()) report.at(node, "expected at least one camera; without this key it is all cameras");
  if (cameras.empty() || cameras.size() != node.children.size()) return false;
  return set(user.cameras, node, std::optional(std::move(cameras)));
}

using UserKey = Key<UserSettings>;
constexpr std::array<UserKey, 4> user_keys{{{"password", read_password},
                                            {"rtsp_secret", read_rtsp_secret},
                                            {"may", choice_key<&UserSettings::may>},
                                            {"cameras", read_user_cameras}}};

bool is_map_unseen(const YamlNode& node, const std::string& expected, Report& report) {
  return (node.kind == YamlNode::Kind::map && node.problem.empty()) || refuse_unseen(node, expected, report);
}

bool read_user(const YamlNode& node, UserSettings& user, Report& report) {
  user.node = &node;
  bool good = check_name(node, "a user's", report);
  const bool is_user = is_map_unseen(node, "expected a map with the user's `password` (a hash) and `may`", report);
  good = is_user && read_map(node, std::span<const UserKey>(user_keys), user, report) && good;
  const auto names = key_names(std::span<const UserKey>(user_keys));
  if (is_user && user.password.node == nullptr && !mistyped(node, "password", names)) {
    report.at_key(node, "missing key 'password'; make one with campipe hash-password");
    good = false;
  }
  return good;
}

void check_exposed(const Setting<std::string>& address, const ServerSettings& server, Report& report) {
  const auto listened = address.value ? split_listen_address(*address.value) : std::nullopt;  // nothing: it is off
  if (!listened || is_loopback(*listened)) return;
  report.at(*address.node, "anybody who reaches " + shown(*address.node) +
                               " could watch and control the rig: add `users`, or say that it is meant with "
                               "`insecure: true`" +
                               (server.insecure.node != nullptr ? ", which is false" : ""));
}

void check_tls(const ServerSettings& server, Report& report) {
  if (server.tls_node == nullptr || server.tls_node->kind != YamlNode::Kind::map) return;
  const auto names = key_names(std::span<const TlsKey>(tls_keys));
  for (const auto& [name, setting] :
       {std::pair<std::string_view, const Setting<std::string>&>{"certificate", server.certificate},
        {"key", server.key}}) {
    if (setting.node != nullptr || mistyped(*server.tls_node, name, names)) continue;
    report.at_key(*server.tls_node, "missing key '" + std::string(name) + "'");
  }
  if (!server.certificate.value || !server.key.value) return;
  const TlsProblem problem = check_certificate(*server.certificate.value, *server.key.value);
  if (problem.what.empty()) return;
  const YamlNode& node = problem.of_key ? *server.key.node : *server.certificate.node;
  report.at(node, "the file " + shown(node) + " " + problem.what);
}

}  // namespace

bool read_http_address(const YamlNode& node, ServerSettings& server, Report& report) {
  return read_address(node, server.http_address, report);
}

bool read_rtsp_address(const YamlNode& node, ServerSettings& server, Report& report) {
  return read_address(node, server.rtsp_address, report);
}

bool read_server_tls(const YamlNode& node, ServerSettings& server, Report& report) {
  server.tls_node = &node;
  return read_map(node, std::span<const TlsKey>(tls_keys), server, report);
}

bool read_trusted_proxies(const YamlNode& node, ServerSettings& server, Report& report) {
  constexpr std::string_view expected = "an address or a network in numbers, such as 127.0.0.1 or 10.0.0.0/8";
  set(server.trusted_proxies, node, std::optional<std::vector<std::string>>());
  if (!is_list(node, report)) return false;
  std::vector<std::string> proxies;
  for (const YamlNode& child : node.children) {
    const auto text = read_text(child, expected, report);
    if (text && parse_address_range(*text)) {
      proxies.push_back(*text);
    } else if (text) {
      refuse(child, expected, report);
    }
  }
  if (proxies.size() != node.children.size()) return false;
  return set(server.trusted_proxies, node, std::optional(std::move(proxies)));
}

bool read_users(const YamlNode& node, ServerSettings& server, Report& report) {
  server.users_node = &node;
  if (!is_map_unseen(node, "expected a map of users", report)) return false;
  if (node.children.empty()) report.at(node, "expected at least one user");
  bool good = !node.children.empty();
  for (const YamlNode& child : node.children) {
    if (server.users.size() == max_users) {
      report.at_key(child, "more than 256 users");
      return false;
    }
    good = read_user(child, server.users.emplace_back(), report) && good;
  }
  return good;
}

namespace {

// The default of one may be what was chosen for the other.
void check_two_addresses(const ServerSettings& server, Report& report) {
  const ServerConfig config = server_config(server);
  const auto http = split_listen_address(config.http_address);
  const auto rtsp = split_listen_address(config.rtsp_address);
  const YamlNode* node = server.rtsp_address.node != nullptr ? server.rtsp_address.node : server.http_address.node;
  if (node == nullptr || !http || !rtsp || http->port == 0 || http->port != rtsp->port) return;
  if (http->host != rtsp->host && !http->host.empty() && !rtsp->host.empty()) return;
  report.at(*node, "http_address '" + config.http_address + "' and rtsp_address '" + config.rtsp_address +
                       "' are the same port; choose another for one of them");
}

}  // namespace

void check_server(const ServerSettings& server, std::span<const std::string_view> cameras, Report& report) {
  check_tls(server, report);
  if (server.users_node == nullptr && !server.insecure.value.value_or(false)) {
    check_exposed(server.http_address, server, report);
    check_exposed(server.rtsp_address, server, report);
  }
  check_two_addresses(server, report);
  for (const UserSettings& user : server.users) {
    for (const YamlNode* camera : user.cameras.value.value_or(std::vector<const YamlNode*>())) {
      if (std::ranges::find(cameras, camera->text) != cameras.end()) continue;
      const std::string hint = camera->variables.empty() ? suggestion(camera->text, cameras) : "";
      report.at(*camera, "there is no camera " + shown(*camera) + hint);
    }
  }
}

ServerConfig server_config(const ServerSettings& server) {
  ServerConfig config;
  config.http_address = server.http_address.value.value_or(config.http_address);
  config.rtsp_address = server.rtsp_address.value.value_or(config.rtsp_address);
  config.insecure = server.insecure.value.value_or(config.insecure);
  config.trusted_proxies = server.trusted_proxies.value.value_or(config.trusted_proxies);
  if (server.certificate.value && server.key.value)
    config.tls = TlsConfig{*server.certificate.value, *server.key.value};
  for (const UserSettings& user : server.users) {
    UserConfig& made = config.users.emplace_back();
    made.name = user.node->key;
    made.password = user.password.value.value_or("");
    made.rtsp_secret = user.rtsp_secret.value.value_or("");
    made.may = user.may.value.value_or(made.may);
    for (const YamlNode* camera : user.cameras.value.value_or(std::vector<const YamlNode*>())) {
      made.cameras.push_back(camera->text);
    }
  }
  return config;
}

std::vector<ConfigSection> server_sections() {
  return {{"tls of the servers", key_names(std::span<const TlsKey>(tls_keys))},
          {"users", key_names(std::span<const UserKey>(user_keys))}};
}

}  // namespace campipe
