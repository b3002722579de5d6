#include "app/publisher/server/api/status_changes.h"

#include "app/publisher/server/api/request.h"
#include "core/merge_patch.h"

namespace campipe {
namespace {

std::string event(const char* name, const nlohmann::json& data) {
  return std::string("event: ") + name + "\ndata: " + json_text(data) + "\n\n";
}

}  // namespace

std::optional<std::string> StatusChanges::next() {
  const auto user = access_.renew(identity_);
  if (!user || !user->may(Permission::view, "")) return std::nullopt;
  const auto before = std::exchange(sent_, shown_.settled_of(*user));
  if (!before) return event("status", *sent_);
  const nlohmann::json patch = merge_patch_between(*before, *sent_);
  return patch.empty() ? ":\n\n" : event("change", patch);
}

}  // namespace campipe
