// What the publisher serves, key by key as the file says it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/config/settings.h"

namespace campipe {

struct UserSettings {
  const YamlNode* node = nullptr;
  Setting<std::string> password;
  Setting<std::string> rtsp_secret;
  Setting<Permission> may;
  Setting<std::vector<const YamlNode*>> cameras;
};

struct ServerSettings {
  Setting<std::string> http_address;  // empty: off
  Setting<std::string> rtsp_address;
  Setting<bool> insecure;
  const YamlNode* tls_node = nullptr;
  Setting<std::string> certificate;
  Setting<std::string> key;
  const YamlNode* users_node = nullptr;
  std::vector<UserSettings> users;
  Setting<std::vector<std::string>> trusted_proxies;
};

bool read_http_address(const YamlNode& node, ServerSettings& server, Report& report);
bool read_rtsp_address(const YamlNode& node, ServerSettings& server, Report& report);
bool read_server_tls(const YamlNode& node, ServerSettings& server, Report& report);
bool read_trusted_proxies(const YamlNode& node, ServerSettings& server, Report& report);
bool read_users(const YamlNode& node, ServerSettings& server, Report& report);

// Mistakes that show only when everything is read. `cameras`: the names of those that a user may be allowed to see.
void check_server(const ServerSettings& server, std::span<const std::string_view> cameras, Report& report);
ServerConfig server_config(const ServerSettings& server);
std::vector<ConfigSection> server_sections();

}  // namespace campipe
