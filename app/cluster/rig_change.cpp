#include "app/cluster/rig_change.h"

#include <algorithm>
#include <string>

#include "app/cluster/cluster_access.h"
#include "app/config/changes.h"
#include "app/config/yaml.h"
#include "app/control/messages/cluster.h"
#include "core/error.h"

namespace campipe {
namespace {

messages::Answer refused(int status, const std::string& why) { return {status, {{"error", why}}}; }

ConfigPart part_named(const std::string& section) {
  const auto* const part = std::ranges::find(config_parts, section, section_of);
  if (part == config_parts.end()) throw Error("a rig has no section '" + section + "'");
  return *part;
}

}  // namespace

messages::Answer change_rig(EtcdClient& client, const ClusterKeys& keys, const StoredRig& stored,
                            const std::filesystem::path& file, const messages::ChangeRig& asked) {
  constexpr auto changed_meanwhile = "the cluster's rig has just been changed: look at it, and try again";
  const std::string checked = text_of_file(file, asked.digest);
  if (!stored.problem.empty()) return refused(409, stored.problem);
  if (stored.text != checked) return refused(409, changed_meanwhile);
  const bool enables = asked.section == enabled_section;
  const ConfigPart part = enables ? ConfigPart::camera : part_named(asked.section);
  const ChangedRig changed = enables ? enabled_rig(checked, asked.name, asked.keys.get<bool>())
                                     : changed_rig(checked, part, asked.name, asked.keys);
  const bool needs_one = enables || asked.keys.is_null();
  if (needs_one && !changed.had) return refused(404, "there is no such " + std::string(name_of(part)));
  const RigWriteResult written = write_rig(client, keys, stored, changed.text);
  switch (written.outcome) {
    case RigWritten::done:
      if (enables) return {200, {{"enabled", asked.keys}}};
      return {changed.had ? 200 : 201, nlohmann::json::object()};
    case RigWritten::outdated:
      return refused(409, changed_meanwhile);
    case RigWritten::unknown:
      return refused(504, "it is not known whether the rig is changed: " + written.message);
    case RigWritten::failed:
      break;
  }
  return refused(503, written.message);
}

}  // namespace campipe
