// MP4's box that says when a frame was taken: `prft`, the producer reference time (ISO/IEC 14496-12), which stands
// before the fragment that the frame is in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace campipe {

inline constexpr std::size_t producer_time_size = 32;      // bytes of the box
inline constexpr std::size_t producer_media_time_at = 24;  // where its media time is: 64 bits

// `track` counts from 1 on; `utc`: when the frame was taken, ns, more than 0; `media_time`: when it is shown, in ticks
// of the track.
std::array<std::uint8_t, producer_time_size> producer_time_box(std::uint32_t track, std::int64_t utc,
                                                               std::int64_t media_time);

}  // namespace campipe
