// Counts corrupt packets, each once, whether the decoder when it is given it, or the frame shows that. Those that the
// source knew of are counted there.
// Packets are known by AVPacket::pos, which grows. Used by one thread.
#pragma once

#include <cstdint>
#include <set>

namespace campipe {

class Counters;

class CorruptPackets {
 public:
  explicit CorruptPackets(Counters& counters) : counters_(counters) {}

  void count(std::int64_t packet);
  // It is counted elsewhere. False: it was known before.
  bool know(std::int64_t packet);

 private:
  Counters& counters_;
  std::set<std::int64_t> newest_;  // that were counted
};

}  // namespace campipe
