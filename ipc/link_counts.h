// What an end of a link between machines has counted (app/link); any thread may look. In the rig page the next process
// goes on with it.
//
// At the sending end `taken = delivered + lost + in flight`. At the receiving end the same frames are
// `delivered + dropped + lost + in flight`: both ends count the same frames as lost, whenever they hear of each other
// again.
#pragma once

#include <atomic>
#include <cstdint>

namespace campipe {

struct LinkCounts {
  std::atomic<std::uint64_t> taken;      // sending: out of rings
  std::atomic<std::uint64_t> delivered;  // receiving: published; sending: the peer has published or dropped them
  std::atomic<std::uint64_t> dropped;    // receiving: there was no reader
  std::atomic<std::uint64_t> lost;       // link_lost
  std::atomic<std::uint64_t> settled;    // receiving: the number up to which all is published, dropped or lost
  std::atomic<std::uint64_t> bytes;      // of frames that were sent, or have come
  std::atomic<std::uint64_t> connections;
  std::atomic<std::uint64_t> refused;    // peers that were cut off, or answered with a refusal, for what they sent
  std::atomic<std::uint32_t> connected;  // 1: the peer is there
};

}  // namespace campipe
