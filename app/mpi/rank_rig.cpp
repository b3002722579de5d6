#include "app/mpi/rank_rig.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/config/server_config.h"
#include "app/config/yaml_json.h"
#include "core/error.h"

namespace campipe {
namespace {

using Json = nlohmann::ordered_json;
using Kind = YamlNode::Kind;

constexpr unsigned highest_port = 65535;

void keep_only(Json& rig, const std::string& section, const std::set<std::string>& names) {
  const auto found = rig.find(section);
  if (found == rig.end() || !found->is_object()) return;
  Json kept = Json::object();
  for (const auto& [name, keys] : found->items()) {
    if (names.contains(name)) kept[name] = keys;
  }
  rig[section] = kept;
  if (kept.empty()) rig.erase(section);
}

// A group's cameras run on one rank.
void keep_groups(Json& rig, const std::set<std::string>& cameras) {
  const auto found = rig.find("sync_groups");
  if (found == rig.end() || !found->is_object()) return;
  std::set<std::string> groups;
  for (const auto& [name, keys] : found->items()) {
    if (cameras.contains(keys.at("cameras").at(0).get<std::string>())) groups.insert(name);
  }
  keep_only(rig, "sync_groups", groups);
}

std::string higher_port(const std::string& key, const std::string& address, unsigned by) {
  const std::size_t colon = address.rfind(':');
  unsigned port = 0;
  const char* const end = address.data() + address.size();
  const bool is_number = colon != std::string::npos && colon + 1 < address.size() &&
                         std::from_chars(address.data() + colon + 1, end, port).ptr == end;
  if (!is_number) {
    throw Error(key + ": '" + address +
                "' has no port in figures, and several ranks on one machine need different ones: write it out, or "
                "start one rank on each machine");
  }
  if (port == 0) return address;
  if (port + by > highest_port)
    throw Error(key + ": port " + std::to_string(port) + " leaves no room for the machine's ranks: use a lower one");
  return address.substr(0, colon + 1) + std::to_string(port + by);
}

std::string written_address(const YamlNode& rig, const std::string& key) {
  const auto found = std::ranges::find(rig.children, key, &YamlNode::key);
  if (found != rig.children.end() && found->kind == Kind::scalar) return found->text;
  return key == "http_address" ? ServerConfig().http_address : ServerConfig().rtsp_address;
}

}  // namespace

std::string rank_name(unsigned rank) { return "rank" + std::to_string(rank); }

std::string with_rank(const std::string& path, unsigned rank) {
  std::filesystem::path name(path);
  const std::string ending = name.extension().string();
  return name.replace_extension(rank_name(rank) + ending).string();
}

std::string rank_address(const YamlNode& rig, const std::string& key, const RankPart& part) {
  const std::string address = written_address(rig, key);
  if (address == "off") return {};
  return part.local == 0 ? address : higher_port(key, address, part.local);
}

std::string rank_rig(const YamlNode& rig, const RankPart& part) {
  Json json = json_of(rig);
  keep_only(json, "cameras", part.cameras);
  keep_only(json, "mosaics", part.cameras);
  keep_groups(json, part.cameras);
  for (const char* const key : {"http_address", "rtsp_address"}) {
    const std::string address = rank_address(rig, key, part);
    if (!address.empty()) json[key] = address;
  }
  const bool is_named = json.contains("events");
  if (is_named || part.has_motion)
    json["events"] = with_rank(is_named ? json.at("events").get<std::string>() : "events.jsonl", part.rank);
  return json.dump(2) + '\n';
}

}  // namespace campipe
