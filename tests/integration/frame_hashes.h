// Hashes of what a file has, by ffmpeg.
#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace campipe::test {

// One for each packet of the video or, where `how` does not copy it, for each frame.
inline std::vector<std::string> video_hashes(const std::filesystem::path& file, const std::string& how = "-c copy") {
  const std::string command =
      "ffmpeg -nostdin -v error -i '" + file.string() + "' -map 0:v " + how + " -f framehash -hash md5 -";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::vector<std::string> hashes;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const std::string text(line.data());
    if (!text.starts_with('#')) hashes.push_back(text.substr(text.rfind(',') + 1));
  }
  return hashes;
}

}  // namespace campipe::test
