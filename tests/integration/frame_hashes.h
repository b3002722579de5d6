// Hashes of what a file has, by ffmpeg.
#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/command_output.h"

namespace campipe::test {

// One for each packet of the video or, where `how` does not copy it, for each frame.
inline std::vector<std::string> video_hashes(const std::filesystem::path& file, const std::string& how = "-c copy") {
  const std::string command =
      "ffmpeg -nostdin -v error -i '" + file.string() + "' -map 0:v " + how + " -f framehash -hash md5 -";
  std::istringstream lines(output_of(command));
  std::vector<std::string> hashes;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('#')) hashes.push_back(line.substr(line.rfind(',') + 1));
  }
  return hashes;
}

}  // namespace campipe::test
