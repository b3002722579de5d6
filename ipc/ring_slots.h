// How many slots a frame ring has.
#pragma once

namespace campipe {

// Frames that a reader works on at once, at most.
inline constexpr unsigned held_by_reader = 4;

// So many that a writer never lacks one while each reader has its frames in work, and `queue` more wait for it. `kept`:
// what the writer itself may use at once. One reader more has room, so that a node can be moved: its successor attaches
// before it leaves. Slots that are never used take no memory of the host: the lowest free one is claimed.
constexpr unsigned ring_slots(unsigned kept, unsigned queue, unsigned readers) {
  return kept + queue + held_by_reader * (readers + 1);
}

}  // namespace campipe
