// What is asked of an encoder (stages/encoders/encoder.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace campipe {

enum class Latency : std::uint8_t { low, normal };

struct EncoderConfig {
  std::string codec = "h264";           // h264, hevc, mjpeg; or copy, for which there is no encoder
  std::string encoder = "auto";         // auto, or FFmpeg's name of an encoder of that codec
  std::string preset = "auto";          // auto: superfast
  std::optional<std::int64_t> bitrate;  // bits a second; neither bitrate nor crf: 4 Mb/s, mjpeg: crf 23
  std::optional<double> crf;            // mjpeg: a quantizer about as coarse as H.264's of that number
  // Frames, or a time: then KeyFrameGrid says where key frames are, and they are asked for.
  std::variant<int, std::chrono::nanoseconds> gop = std::chrono::seconds(2);
  Latency latency = Latency::low;                            // low: no frame is held back (x264's zerolatency)
  int threads = 0;                                           // 0: auto, see encode_threads()
  std::vector<std::pair<std::string, std::string>> options;  // as FFmpeg knows them
  friend bool operator==(const EncoderConfig&, const EncoderConfig&) = default;
};

}  // namespace campipe
