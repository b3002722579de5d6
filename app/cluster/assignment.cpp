#include "app/cluster/assignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "app/cluster/json_take.h"
#include "app/cluster/node_offer.h"
#include "app/cluster/value_limits.h"

namespace campipe {

std::string text_of(const Fence& fence) { return fmt::format("{}.{:010}", fence.epoch, fence.revision); }

std::optional<Fence> read_fence(std::string_view text) {
  Fence fence;
  const char* const end = text.data() + text.size();
  const auto epoch = std::from_chars(text.data(), end, fence.epoch);
  if (epoch.ec != std::errc{} || epoch.ptr == end || *epoch.ptr != '.') return std::nullopt;
  const auto revision = std::from_chars(epoch.ptr + 1, end, fence.revision);
  if (revision.ec != std::errc{} || revision.ptr != end || fence.revision < 0) return std::nullopt;
  return fence;
}

std::string write_assignment(const CameraAssignment& assignment) {
  nlohmann::json json = assignment.other;
  json["schema"] = oldest_cluster_schema;
  json["node"] = assignment.node;
  json["epoch"] = assignment.epoch;
  const auto put = [&](const char* key, const auto& value, bool is_there) {
    if (is_there) json[key] = value;
  };
  put("from", assignment.from, !assignment.from.empty());
  put("home", assignment.home, !assignment.home.empty());
  put("reason", assignment.reason, !assignment.reason.empty());
  put("revision", assignment.revision, assignment.revision != 0);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<CameraAssignment> read_assignment(const std::string& value) {
  if (value.size() > largest_assignment) return std::nullopt;
  nlohmann::json json = parse_shallow(value);
  CameraAssignment read;
  const bool good = take_schema(json) && take(json, "node", read.node) && take(json, "epoch", read.epoch) &&
                    take(json, "from", read.from) && take(json, "home", read.home) &&
                    take(json, "reason", read.reason) && take(json, "revision", read.revision);
  const bool is_short =
      std::max({read.node.size(), read.from.size(), read.home.size(), read.reason.size()}) <= longest_etcd_text;
  if (!good || !is_short || read.revision < 0 || read.epoch > highest_epoch()) return std::nullopt;
  read.other = std::move(json);
  return read;
}

}  // namespace campipe
