// Counts corrupt packets, each once, whether the source, the decoder when it is given it, or the frame shows that.
// Packets are known by AVPacket::pos, which grows. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

#include "ipc/counters.h"

namespace campipe {

class CorruptPackets {
 public:
  explicit CorruptPackets(Counters& counters) : counters_(counters) {}

  void count(std::int64_t packet) {
    if (!newest_.insert(packet).second) return;
    counters_.add(Counter::corrupt_packets);
    if (newest_.size() > most_known) newest_.erase(newest_.begin());
  }

 private:
  static constexpr std::size_t most_known = 128;  // more than a decoder holds

  Counters& counters_;
  std::set<std::int64_t> newest_;  // that were counted
};

}  // namespace campipe
