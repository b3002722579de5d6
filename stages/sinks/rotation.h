// How a stream's frames are to be turned by players, as containers store it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ffmpeg.h"

namespace campipe {

// MP4's. `orientation`: core/orientation.h. Before the muxer's header is written.
void set_rotation(AVStream& track, int orientation);

// Matroska's, which cannot say that they are mirrored: set_spherical_rotation() before, and make_plane() of the header.
// This libavformat writes it only of spherical frames, and the header is to show that these are none. Their muxer must
// write no checksums (write_crc).
void set_spherical_rotation(AVStream& track, int orientation);
void make_plane(std::vector<std::uint8_t>& header);

}  // namespace campipe
