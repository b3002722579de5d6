#include "app/cluster/node_offer.h"

#include <algorithm>
#include <cmath>

#include "app/cluster/json_take.h"
#include "app/cluster/value_limits.h"
#include "core/random_bytes.h"

namespace campipe {
namespace {

using Json = nlohmann::json;

// What everybody is shown of it is bounded: it goes through a message to each publisher.
bool is_small(const NodeOffer& offer) {
  std::size_t size = offer.features.size() + offer.capacity.size() * sizeof(double);
  bool are_short = true;
  const auto add = [&](const std::string& text) {
    size += text.size();
    are_short = are_short && text.size() <= longest_etcd_text;
  };
  for (const std::string* text : {&offer.instance, &offer.address, &offer.version}) add(*text);
  for (const std::string& feature : offer.features) add(feature);
  for (const std::string& camera : offer.unfit) add(camera);
  for (const auto& [name, label] : offer.labels) add(name), add(label);
  for (const auto& [name, amount] : offer.capacity) add(name);
  return are_short && size <= largest_offer_without_devices;
}

bool is_possible(const NodeOffer& offer) {
  return !offer.instance.empty() && is_small(offer) && offer.oldest_schema >= 1 &&
         offer.newest_schema >= offer.oldest_schema &&
         std::ranges::all_of(offer.capacity, [](const auto& of) { return std::isfinite(of.second) && of.second >= 0; });
}

}  // namespace

std::string write_offer(const NodeOffer& offer) {
  Json json = offer.other;
  json["schema"] = oldest_cluster_schema;  // offers are how nodes find out what they have in common
  json["instance"] = offer.instance;
  json["address"] = offer.address;
  json["version"] = offer.version;
  json["oldest_schema"] = offer.oldest_schema;
  json["newest_schema"] = offer.newest_schema;
  json["features"] = offer.features;
  json["labels"] = offer.labels;
  json["capacity"] = offer.capacity;
  json["devices"] = offer.devices;
  json["draining"] = offer.draining;
  json["unfit"] = offer.unfit;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<NodeOffer> read_offer(const std::string& node, const std::string& value) {
  if (value.size() > largest_offer) return std::nullopt;
  Json json = parse_shallow(value);
  if (!take_schema(json)) return std::nullopt;
  NodeOffer offer;
  offer.node = node;
  const bool good = take(json, "instance", offer.instance) && take(json, "address", offer.address) &&
                    take(json, "version", offer.version) && take(json, "oldest_schema", offer.oldest_schema) &&
                    take(json, "newest_schema", offer.newest_schema) && take(json, "features", offer.features) &&
                    take(json, "labels", offer.labels) && take(json, "capacity", offer.capacity) &&
                    take(json, "devices", offer.devices) && take(json, "draining", offer.draining) &&
                    take(json, "unfit", offer.unfit);
  if (!good || !is_possible(offer)) return std::nullopt;
  offer.other = std::move(json);
  return offer;
}

std::string new_instance() { return random_hex(16); }

}  // namespace campipe
