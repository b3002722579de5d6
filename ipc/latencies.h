#pragma once

#include "ipc/histogram.h"

namespace campipe {

struct SharedBlock;

// Where an output's frames spent their time.
struct Latencies {
  HistogramCounts total, transit, decode, queue, filter, encode, overhead;
  // What came since `earlier`.
  [[nodiscard]] Latencies since(const Latencies& earlier) const;
  void add(const Latencies& others);
};
// As the supervisor passes them on to the publisher.
Latencies latencies_of(const SharedBlock& block);
void pass_on(const Latencies& latencies, SharedBlock& block);

}  // namespace campipe
