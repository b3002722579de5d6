// What an end of a link has counted; any thread may look.
//
// At the sending end `taken = delivered + lost + in flight`. At the receiving end the same frames are
// `published + Σ dropped + lost + in flight`: both ends count the same frames as lost, whenever they hear of each other
// again.
#pragma once

#include <atomic>
#include <cstdint>

namespace campipe {

struct LinkCounts {
  std::atomic<std::uint64_t> taken{0};      // sending: out of rings
  std::atomic<std::uint64_t> delivered{0};  // receiving: published; sending: the peer has published or dropped them
  std::atomic<std::uint64_t> lost{0};       // link_lost
  std::atomic<std::uint64_t> connections{0};
};

}  // namespace campipe
