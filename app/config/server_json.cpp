// The servers' configuration on its way to the publisher.
#include <nlohmann/json.hpp>

#include "app/config/names.h"
#include "core/error.h"

namespace campipe {
namespace {

using nlohmann::json;

json user_to_json(const UserConfig& user) {
  return {{"name", user.name},
          {"password", user.password},
          {"rtsp_secret", user.rtsp_secret},
          {"may", choice_name(user.may)},
          {"cameras", user.cameras}};
}

UserConfig user_from_json(const json& from) {
  const auto may = find_choice<Permission>(from.at("may").get<std::string>());
  if (!may) throw Error("unknown permission '" + from.at("may").get<std::string>() + "'");
  return {from.at("name"), from.at("password"), from.at("rtsp_secret"), *may, from.at("cameras")};
}

}  // namespace

json to_json(const ServerConfig& server) {
  json users = json::array();
  for (const UserConfig& user : server.users) users.push_back(user_to_json(user));
  json tls;
  if (server.tls) tls = {{"certificate", server.tls->certificate}, {"key", server.tls->key}};
  return {{"http_address", server.http_address},
          {"rtsp_address", server.rtsp_address},
          {"insecure", server.insecure},
          {"tls", tls},
          {"users", users},
          {"trusted_proxies", server.trusted_proxies}};
}

ServerConfig server_from_json(const json& from) try {
  ServerConfig server;
  server.http_address = from.at("http_address");
  server.rtsp_address = from.at("rtsp_address");
  server.insecure = from.at("insecure");
  if (const json& tls = from.at("tls"); !tls.is_null()) server.tls = TlsConfig{tls.at("certificate"), tls.at("key")};
  for (const json& user : from.at("users")) server.users.push_back(user_from_json(user));
  server.trusted_proxies = from.at("trusted_proxies");
  return server;
} catch (const json::exception& error) {
  throw Error(std::string("the servers' configuration as JSON: ") + error.what());
}

}  // namespace campipe
