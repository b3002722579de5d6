#include "app/cluster/vanished_nodes.h"

#include <algorithm>
#include <utility>

namespace campipe {

VanishedNodes::View VanishedNodes::look(const std::set<std::string>& present, const std::set<std::string>& with_cameras,
                                        Clock::time_point now) {
  std::erase_if(vanished_, [&](const auto& entry) {
    const bool forgotten = !with_cameras.contains(entry.first) && entry.second.at + lease_ <= now;
    return present.contains(entry.first) || forgotten;
  });
  for (const std::set<std::string>* names : {&std::as_const(present_), &with_cameras}) {
    for (const std::string& name : *names) {
      if (!present.contains(name)) vanished_.try_emplace(name, Vanished{now});
    }
  }
  present_ = present;

  const auto is_recent = [&](const auto& entry) { return entry.second.at + lease_ > now; };
  const auto together = static_cast<std::size_t>(std::ranges::count_if(vanished_, is_recent));
  if (2 * together > present.size() + together) {
    for (auto& [name, vanished] : vanished_) {
      if (vanished.at + lease_ > now && !vanished.wait_until) vanished.wait_until = vanished.at + lease_;
    }
  }
  View view;
  for (const auto& [name, vanished] : vanished_) {
    if (!vanished.wait_until || *vanished.wait_until <= now) continue;
    view.waited_for.insert(name);
    view.look_again = std::min(view.look_again.value_or(*vanished.wait_until), *vanished.wait_until);
  }
  return view;
}

}  // namespace campipe
