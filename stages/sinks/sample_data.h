// What libavformat's muxers leave of a packet when they make a file's sample of it. They divide H.264 and HEVC by
// lengths instead of start codes, and leave out what files hold elsewhere; of a damaged packet nothing may be left. A
// sample of no bytes makes a fragmented MP4 file unreadable for libavformat, from its beginning.
//
// Plain functions, for any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace campipe {

// `codec` as StreamParameters has it. False: no byte of the packet would be in the file.
bool makes_sample(std::string_view codec, std::span<const std::uint8_t> extradata,
                  std::span<const std::uint8_t> packet);

}  // namespace campipe
