// Video and audio that FFmpeg encoded, as a camera sends them.
#pragma once

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "core/ffmpeg.h"
#include "core/packet.h"
#include "tests/unit/encoded_clip.h"

namespace campipe::test {

struct Sent {
  Clip video;
  AudioParameters audio_parameters;
  std::vector<Packet> audio;
};

inline constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::min();

// What comes out of a file that FFmpeg makes with these arguments: packets as a camera sends them, from time 0 on.
Sent make(const std::filesystem::path& file, const std::string& arguments);

}  // namespace campipe::test
