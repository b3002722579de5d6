// Reads a recording of moving_picture() 0, 1, 2, … back: packets, decoded pictures, and whether libav complained.
#pragma once

#include <filesystem>
#include <vector>

#include "core/ffmpeg.h"

namespace campipe::test {

struct Contents {
  std::vector<std::int64_t> pts;  // ns; packets are in the order of the file
  std::vector<std::int64_t> dts;  // in the track's own units
  std::vector<bool> keys;
  std::vector<std::int64_t> shown;  // presentation times of decoded frames
  double worst_difference = 0;      // of a decoded frame from the frame of its number
  int warnings = 0;
  AvCodecParameters parameters;
};

Contents read_back(const std::filesystem::path& path);

}  // namespace campipe::test
