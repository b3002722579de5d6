// What a part of the rig that is gone has left in the page.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>

namespace campipe::sim {

// Ids that are used first, and again: more than a simulated rig has of a kind.
template <typename Id>
std::array<Id, 12> first_ids() {
  std::array<Id, 12> ids;
  for (unsigned i = 0; i < ids.size(); ++i) ids[i] = Id(i);
  return ids;
}

// It is as it was at first.
template <typename Block>
bool is_clear(const Block& block) {
  const auto bytes = std::as_bytes(std::span(&block, 1));
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

// Something is left of parts of which a role has none any more. `block_of`: the block of a part, by its id.
template <typename Id, typename Part, typename BlockOf>
bool has_rest(const std::map<Id, Part>& all, const BlockOf& block_of) {
  return std::ranges::any_of(first_ids<Id>(), [&](Id id) { return !all.contains(id) && !is_clear(block_of(id)); });
}

}  // namespace campipe::sim
