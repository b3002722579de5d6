// Whether what a node says of its links can be: the publisher, which hears it, asks before it passes it on.
#pragma once

#include <algorithm>

#include "app/control/link_keys.h"
#include "app/control/messages/shared_links.h"

namespace campipe {

inline bool is_possible(const messages::OfferedLinks& offered) {
  constexpr std::size_t longest_name = 160;
  constexpr std::size_t most_links = 10'000;
  constexpr std::size_t most_transports = 16;  // a newer version may know more
  constexpr unsigned highest_port = 65'535;
  const auto is_link = [](const messages::OfferedLinks::Link& link) {
    return !link.name.empty() && link.name.size() <= longest_name && link.port > 0 && link.port <= highest_port;
  };
  const bool has_key = offered.key.empty() || link_key_from(offered.key);  // a node that has just started has none
  return has_key && offered.links.size() <= most_links && offered.transports.size() <= most_transports &&
         std::ranges::all_of(offered.links, is_link);
}

}  // namespace campipe
