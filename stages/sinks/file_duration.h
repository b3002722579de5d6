// The length in the header of a finished file. One that grows has none: its header has room for the length, and
// the room is filled, in its place, when the file ends. A file whose process died keeps the room, and stays playable.
// And the time at which it was begun, as its header has it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stages/sinks/muxer.h"

namespace campipe {

// Makes the room, where libavformat does not leave any. Throws Error for bytes that are no such header.
void reserve_duration(Container container, std::vector<std::uint8_t>& header);

struct FilePatch {
  std::size_t offset = 0;
  std::vector<std::uint8_t> bytes;
};

// What to write where into a file that begins with `head`; nothing: it has no room.
std::optional<FilePatch> duration_patch(Container container, std::span<const std::uint8_t> head, std::int64_t ns);

// UTC, ns (MP4: to the second), of a file that begins with `head`; nothing: it has no such header.
std::optional<std::int64_t> utc_in_header(Container container, std::span<const std::uint8_t> head);

}  // namespace campipe
