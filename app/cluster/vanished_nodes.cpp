#include "app/cluster/vanished_nodes.h"

#include <algorithm>
#include <utility>

namespace campipe {
namespace {

// More than so many, and than one in twenty, may be the first of most. What a lease is divided by is how long that is
// looked at: three quarters of the leases of nodes that are cut off together have ended by then.
constexpr std::size_t a_few = 2;
constexpr std::size_t one_in = 20;
constexpr int moment = 4;

}  // namespace

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
  const std::size_t known = present.size() + together;
  const bool is_most = 2 * together > known;
  const bool may_be_most = together > a_few && one_in * together > known;
  for (auto& [name, vanished] : vanished_) {
    if (vanished.at + lease_ <= now) continue;
    if (is_most) vanished.wait_until = vanished.at + lease_;
    if (may_be_most && !vanished.wait_until) vanished.wait_until = vanished.at + lease_ / moment;
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
