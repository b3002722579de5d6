// The servers and their users.
#include <algorithm>
#include <map>
#include <string_view>

#include "app/config/address.h"
#include "app/config/key_table.h"
#include "app/config/password_hash.h"
#include "app/config/public_address.h"
#include "app/config/reader.h"
#include "app/config/tls.h"
#include "app/config/token_hash.h"
#include "app/config/values.h"

namespace campipe {
namespace {

constexpr std::size_t max_users = 256;
constexpr std::size_t shortest_secret = 8;

// Whatever stands there instead may be a secret: it is never shown.
bool refuse_unseen(const YamlNode& node, const std::string& message, Report& report) {
  report.at(node, node.problem.empty() ? message : node.problem);
  return false;
}

bool is_map_unseen(const YamlNode& node, const std::string& expected, Report& report) {
  return (node.kind == YamlNode::Kind::map && node.problem.empty()) || refuse_unseen(node, expected, report);
}

bool read_user(const YamlNode& node, Given<UserConfig>& user, Report& report) {
  user.node = &node;
  user.value.name = node.key;
  bool good = check_name(node, "a user's", report);
  const bool is_user = is_map_unseen(node, "expected a map with the user's `password` (a hash) and `may`", report);
  good = is_user && read_keys(node, user, report) && good;
  const YamlNode* token = user["token"].node;
  if (is_user && user["password"].node == nullptr && token == nullptr &&
      !mistyped(node, "password", key_names<UserConfig>()) && !mistyped(node, "token", key_names<UserConfig>())) {
    report.at_key(node, "missing key 'password'; make one with campipe hash-password");
    good = false;
  }
  if (token != nullptr && user.value.may > Permission::view) {
    report.at(*token, "a token is for users who may only `view`: it is in the address of a page");
    good = false;
  }
  return good;
}

void check_exposed(const Origin& address, const std::string& value, const Given<RigConfig>& file, Report& report) {
  const auto listened = address.good ? split_listen_address(value) : std::nullopt;  // nothing: it is off
  if (!listened || is_loopback(*listened)) return;
  report.at(*address.node, "any visitor who reaches " + shown(*address.node) +
                               " could watch and control the rig: add `users`, or say that it is meant with "
                               "`insecure: true`" +
                               (file["insecure"].node != nullptr ? ", which is false" : ""));
}

void check_tls(const Given<RigConfig>& file, Report& report) {
  const YamlNode* tls = file["tls"].node;
  if (tls == nullptr || tls->kind != YamlNode::Kind::map) return;
  for (const std::string name : {"certificate", "key"}) {
    if (file["tls." + name].node != nullptr || mistyped(*tls, name, key_names<RigConfig>("tls"))) continue;
    report.at_key(*tls, "missing key '" + name + "'");
  }
  const Origin& certificate = file["tls.certificate"];
  const Origin& key = file["tls.key"];
  if (!certificate.good || !key.good) return;
  const TlsConfig& files = *file.value.server.tls;
  check_pair(files.certificate, *certificate.node, files.key, *key.node, report);
}

template <typename IsGood>
std::optional<std::vector<std::string>> read_list(const YamlNode& node, std::string_view expected,
                                                  const IsGood& is_good, Report& report) {
  if (!is_list(node, report)) return std::nullopt;
  std::vector<std::string> texts;
  for (const YamlNode& child : node.children) {
    const auto text = read_text(child, expected, report);
    if (text && is_good(*text)) {
      texts.push_back(*text);
    } else if (text) {
      refuse(child, expected, report);
    }
  }
  if (texts.size() != node.children.size()) return std::nullopt;
  return texts;
}

// The default of one may be what was chosen for the other.
void check_two_addresses(const Given<RigConfig>& file, Report& report) {
  const ServerConfig& config = file.value.server;
  const auto http = split_listen_address(config.http_address);
  const auto rtsp = split_listen_address(config.rtsp_address);
  const YamlNode* node = file["rtsp_address"].node != nullptr ? file["rtsp_address"].node : file["http_address"].node;
  if (node == nullptr || !http || !rtsp || http->port == 0 || http->port != rtsp->port) return;
  if (http->host != rtsp->host && !http->host.empty() && !rtsp->host.empty()) return;
  report.at(*node, "http_address '" + config.http_address + "' and rtsp_address '" + config.rtsp_address +
                       "' are the same port; choose another for one of them");
}

}  // namespace

std::optional<std::string> read_address(const YamlNode& node, Report& report) {
  constexpr std::string_view expected = "HOST:PORT, :PORT for all of this machine's addresses, or off";
  auto text = read_text(node, expected, report);
  if (text == "off") return std::string();
  if (!text || split_listen_address(*text)) return text;
  refuse(node, expected, report);
  return std::nullopt;
}

std::optional<std::string> read_certificate(const YamlNode& node, Report& report) {
  return read_file_name(node, "a file of certificates (PEM), the servers' own first", report);
}

std::optional<std::string> read_private_key(const YamlNode& node, Report& report) {
  return read_file_name(node, "a file with the certificate's private key (PEM)", report);
}

std::optional<std::string> read_http_base(const YamlNode& node, Report& report) {
  constexpr std::string_view expected = "a path without an end, such as /cams";
  auto text = read_text(node, expected, report);
  if (text && !is_base_path(*text)) {
    refuse(node, expected, report);
    return std::nullopt;
  }
  if (text && is_own_path(*text)) {
    refuse(node, "another path: the rig's own pages and calls are below this one", report);
    return std::nullopt;
  }
  return text;
}

std::optional<std::vector<std::string>> read_http_hosts(const YamlNode& node, Report& report) {
  constexpr std::string_view expected = "HOST or HOST:PORT, such as cams.example.com";
  return read_list(node, expected, is_public_host, report);
}

std::optional<std::vector<std::string>> read_trusted_proxies(const YamlNode& node, Report& report) {
  constexpr std::string_view expected = "an address or a network in numbers, such as 127.0.0.1 or 10.0.0.0/8";
  return read_list(
      node, expected, [](const std::string& text) { return parse_address_range(text).has_value(); }, report);
}

std::optional<std::string> read_password(const YamlNode& node, Report& report) {
  const std::string* text = scalar_text(node);
  if (text != nullptr && is_password_hash(*text)) return *text;
  refuse_unseen(
      node, "expected a hash ($argon2id$…), since a password in clear is not taken; use campipe hash-password", report);
  return std::nullopt;
}

std::optional<std::string> read_token_hash(const YamlNode& node, Report& report) {
  const std::string* text = scalar_text(node);
  if (text != nullptr && is_token_hash(*text)) return *text;
  refuse_unseen(node, "expected the hash of a token (64 hexadecimal digits); use campipe make-token", report);
  return std::nullopt;
}

// Names and passwords are put into one line of text by RTSP's Digest.
std::optional<std::string> read_rtsp_secret(const YamlNode& node, Report& report) {
  const std::string* text = scalar_text(node);
  const bool good = text != nullptr && text->size() >= shortest_secret && text->size() <= 128 &&
                    std::ranges::all_of(*text, [](char c) { return c > ' ' && c < '\x7F' && c != ':' && c != '"'; });
  if (good) return *text;
  refuse_unseen(node, "expected 8 to 128 ASCII characters without spaces, ':' and '\"'", report);
  return std::nullopt;
}

std::optional<std::vector<std::string>> read_user_cameras(const YamlNode& node, Report& report) {
  if (!is_list(node, report)) return std::nullopt;
  std::vector<std::string> cameras;
  for (const YamlNode& child : node.children) {
    if (auto name = read_text(child, "a camera's name", report)) cameras.push_back(std::move(*name));
  }
  // An empty list reads as "no camera" and would be taken as "every camera".
  if (node.children.empty()) report.at(node, "expected at least one camera; without this key it is all cameras");
  if (cameras.empty() || cameras.size() != node.children.size()) return std::nullopt;
  return cameras;
}

bool read_users(const YamlNode& node, Given<RigConfig>& file, Report& report) {
  if (!is_map_unseen(node, "expected a map of users", report)) return false;
  if (node.children.empty()) report.at(node, "expected at least one user");
  bool good = !node.children.empty();
  for (const YamlNode& child : node.children) {
    if (file.users.size() == max_users) {
      report.at_key(child, "more than 256 users");
      return false;
    }
    good = read_user(child, file.users.emplace_back(), report) && good;
  }
  return good;
}

void check_sessions(const Given<RigConfig>& file, Report& report) {
  const Origin& idle = file["sessions.idle"];
  const Origin& longest = file["sessions.longest"];
  const SessionConfig& sessions = file.value.server.sessions;
  if (!idle.good || !longest.good || sessions.idle <= sessions.longest) return;
  refuse(*idle.node, "at most `longest`, which is " + shown(*longest.node), report);
}

// Refuses a token that two users have: the screen would be the first user's by name.
void check_tokens(const Given<RigConfig>& file, Report& report) {
  std::map<std::string, const std::string*> owners;
  for (const Given<UserConfig>& user : file.users) {
    if (!user["token"].good) continue;
    const auto [first, is_new] = owners.emplace(user.value.token, &user.value.name);
    if (is_new) continue;
    report.at(*user["token"].node,
              "user '" + *first->second + "' has this token, too; make another one with campipe make-token");
  }
}

void check_server(const Given<RigConfig>& file, std::span<const std::string_view> cameras, Report& report) {
  check_tls(file, report);
  const ServerConfig& server = file.value.server;
  if (file["users"].node == nullptr && !server.insecure) {
    check_exposed(file["http_address"], server.http_address, file, report);
    check_exposed(file["rtsp_address"], server.rtsp_address, file, report);
  }
  check_two_addresses(file, report);
  check_sessions(file, report);
  check_tokens(file, report);
  for (const Given<UserConfig>& user : file.users) {
    const Origin& names = user["cameras"];
    if (!names.good) continue;
    for (const YamlNode& camera : names.node->children) {
      if (std::ranges::find(cameras, camera.text) == cameras.end()) refuse_unknown_camera(camera, cameras, {}, report);
    }
  }
}

void settle_server(const Given<RigConfig>& given, ServerConfig& value) {
  SessionConfig& sessions = value.sessions;
  if (!given["sessions.idle"].good) sessions.idle = std::min(sessions.idle, sessions.longest);
  if (!given["sessions.longest"].good) sessions.longest = std::max(sessions.longest, sessions.idle);
  if (!given["tls.certificate"].good || !given["tls.key"].good) value.tls.reset();
  for (const Given<UserConfig>& user : given.users) value.users.push_back(user.value);
}

}  // namespace campipe
