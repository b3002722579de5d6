#include "ipc/latencies.h"

#include "ipc/shared_block.h"

namespace campipe {

void pass_on(const Latencies& latencies, SharedBlock& block) {
  block.latency.store(latencies.total);
  block.transit.store(latencies.transit);
  block.decode.store(latencies.decode);
  block.queue.store(latencies.queue);
  block.filter.store(latencies.filter);
  block.encode.store(latencies.encode);
  block.overhead.store(latencies.overhead);
}

Latencies latencies_of(const SharedBlock& block) {
  return {block.latency.counts(), block.transit.counts(), block.decode.counts(),  block.queue.counts(),
          block.filter.counts(),  block.encode.counts(),  block.overhead.counts()};
}

Latencies Latencies::since(const Latencies& earlier) const {
  return {total.since(earlier.total),      transit.since(earlier.transit), decode.since(earlier.decode),
          queue.since(earlier.queue),      filter.since(earlier.filter),   encode.since(earlier.encode),
          overhead.since(earlier.overhead)};
}

void Latencies::add(const Latencies& others) {
  total.add(others.total);
  transit.add(others.transit);
  decode.add(others.decode);
  queue.add(others.queue);
  filter.add(others.filter);
  encode.add(others.encode);
  overhead.add(others.overhead);
}

}  // namespace campipe
