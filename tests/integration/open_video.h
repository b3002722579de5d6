// Opens a video file with libavformat.
#pragma once

#include <filesystem>

#include "core/ffmpeg.h"

namespace campipe::test {

// Throws Error for what no player opens.
inline AvInput open_input(const std::filesystem::path& file) {
  AVFormatContext* raw = nullptr;
  av_check(avformat_open_input(&raw, ("file:" + file.string()).c_str(), nullptr, nullptr), file);
  AvInput input(raw);
  av_check(avformat_find_stream_info(input.get(), nullptr), file);
  return input;
}

}  // namespace campipe::test
