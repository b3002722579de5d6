#include "app/master/corrupt_packets.h"

#include <cstddef>

#include "ipc/counter_table.h"

namespace campipe {
namespace {

constexpr std::size_t most_known = 128;  // more than a decoder holds

}  // namespace

void CorruptPackets::count(std::int64_t packet) {
  if (know(packet)) counters_.add(Counter::corrupt_packets);
}

bool CorruptPackets::know(std::int64_t packet) {
  const bool is_new = newest_.insert(packet).second;
  if (newest_.size() > most_known) newest_.erase(newest_.begin());
  return is_new;
}

}  // namespace campipe
