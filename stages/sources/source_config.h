// What is asked of a source (stages/sources/source.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace campipe {

enum class Pace : std::uint8_t { realtime, fast };

enum class RtspTransport : std::uint8_t { automatic, tcp, udp };  // automatic: UDP, and TCP where that does not work
enum class Audio : std::uint8_t { copy, off };

// What a capture device is asked for; zero or empty: its own choice. `rate` is that of numbered pictures, too (none:
// 25), and how often a single picture is fetched (none: once a second).
struct CaptureConfig {
  int width = 0;
  int height = 0;
  double rate = 0;
  std::string format;  // FFmpeg's name of a pixel format or codec: "yuyv422", "mjpeg"
  friend bool operator==(const CaptureConfig&, const CaptureConfig&) = default;
};

struct SourceConfig {
  // A path, or a URL, with user and password where needed: whatever a kind of source takes (source_kind.h).
  std::string url;
  // The same with the names of variables in place of what they hold, where it was made of some: what people may see.
  std::string written = {};
  bool loop = false;  // at the end, begin again; time goes on
  Pace pace = Pace::realtime;
  std::optional<int> stream = {};  // which of its video streams, counted from 0; none: the best
  Audio audio = Audio::copy;
  RtspTransport rtsp_transport = RtspTransport::automatic;
  std::chrono::nanoseconds read_timeout = std::chrono::seconds(10);  // for connecting too
  bool verify_certificate = true;                                    // of rtsps and https
  std::string ca_file = {};                                          // empty: the system's
  // What a server of HTTP or RTSP names instead of itself may be of another host, port or scheme.
  bool allow_redirects = false;
  CaptureConfig capture = {};
  friend bool operator==(const SourceConfig&, const SourceConfig&) = default;
};

}  // namespace campipe
