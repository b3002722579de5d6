// When the first packets of a connection arrived, where they were read at one moment: what the analysis of a stream has
// read is handed out at once when that is done.
#pragma once

#include <cstdint>
#include <deque>

#include "app/source/read_ahead.h"
#include "core/source_stream.h"

namespace campipe {

// `read`: all packets so far, in order; the connection was made at `opened` (monotonic, ns). The newest of each track
// arrived when it was read. The others did as long before it as their own times say, or, where those would be before
// the connection, at the same rate since then. What the source knows itself, and what has no times, stays as it is.
void spread_first_arrivals(std::deque<ReadAhead::Entry>& read, const SourceStream& stream, std::int64_t opened);

}  // namespace campipe
