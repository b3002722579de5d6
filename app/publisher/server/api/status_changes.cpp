#include "app/publisher/server/api/status_changes.h"

#include "app/publisher/server/api/request.h"
#include "core/merge_patch.h"

namespace campipe {
namespace {

constexpr int most_of_a_browser = 3;  // of six connections

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

std::shared_ptr<void> StreamPlaces::take(const std::string& holder) {
  const std::lock_guard lock(taken_->mutex);
  int& count = taken_->by_holder[holder];
  if (count >= most_of_a_browser) return nullptr;
  ++count;
  const auto give_back = [taken = taken_, holder](void*) {
    const std::lock_guard again(taken->mutex);
    if (--taken->by_holder[holder] == 0) taken->by_holder.erase(holder);
  };
  return {taken_.get(), give_back};
}

}  // namespace campipe
