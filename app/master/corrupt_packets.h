// Counts corrupt packets, each once, whether the source, the decoder when it is given it, or the frame shows that.
// Packets are known by AVPacket::pos, which grows. Used by one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>

namespace campipe {

class CorruptPackets {
 public:
  explicit CorruptPackets(std::atomic<std::uint64_t>& counter) : counter_(counter) {}

  void count(std::int64_t packet) {
    if (!newest_.insert(packet).second) return;
    counter_.fetch_add(1);
    if (newest_.size() > most_known) newest_.erase(newest_.begin());
  }

 private:
  static constexpr std::size_t most_known = 128;  // more than a decoder holds

  std::atomic<std::uint64_t>& counter_;
  std::set<std::int64_t> newest_;  // that were counted
};

}  // namespace campipe
