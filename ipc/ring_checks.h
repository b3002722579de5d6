// What a record of a ring may hold. A ring is written by another process: whoever reads copies a record into memory of
// its own, asks here, and uses the copy.
#pragma once

#include <cstdint>

#include "ipc/frame_ring.h"

namespace campipe {

// Stamps and durations that can be added to and taken from one another, and a clock that there is.
bool is_possible(const FrameTimes& times);
// A size and colours that there are. `known`: false: also one of no size, as long as nothing has been decoded.
bool is_possible(const FrameFormat& format, bool known = true);
// A kind that there is; the CPU is no instance.
bool is_possible(const Device& device);
// Every plane lies in a slot of that many bytes, and the rest is possible.
bool is_possible(const FrameRecord& record, std::uint64_t slot_bytes);
// A time of the stream.
bool is_possible_time(std::int64_t ns);

}  // namespace campipe
