// Counts corrupt packets, each once, whether the decoder when it is given it, or the frame shows that. Those that the
// source knew of are counted there.
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
    if (know(packet)) counters_.add(Counter::corrupt_packets);
  }
  // It is counted elsewhere. False: it was known before.
  bool know(std::int64_t packet) {
    const bool is_new = newest_.insert(packet).second;
    if (newest_.size() > most_known) newest_.erase(newest_.begin());
    return is_new;
  }

 private:
  static constexpr std::size_t most_known = 128;  // more than a decoder holds

  Counters& counters_;
  std::set<std::int64_t> newest_;  // that were counted
};

}  // namespace campipe
