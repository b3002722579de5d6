// An RTSP camera of which a test decides about each packet: over TCP, or over UDP where the client asks for that.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/unique_handle.h"
#include "tests/unit/peers.h"

namespace campipe::test {

// What plays to one client. Streams are counted as the description has them.
class RtpLine {
 public:
  struct Track {
    bool over_udp = false;
    std::array<int, 2> ports{};  // of the client; or channels
    std::uint16_t sequence = 65'500;
    int type = 96;
  };

  RtpLine(int fd, std::vector<Track> tracks, const std::atomic<bool>& over);

  // False: the client has gone.
  bool packet(std::size_t track, const std::string& payload, std::uint32_t time, bool marker);
  // The payloads of a frame, the last one with the marker. False: the client has gone.
  bool frame(std::size_t track, const std::vector<std::string>& payloads, std::uint32_t time);
  // Of the number that the next one has: it is lost, or comes later.
  [[nodiscard]] std::string take_packet(std::size_t track, const std::string& payload, std::uint32_t time, bool marker);
  bool send(std::size_t track, const std::string& packet, int port = 0);
  // A sender report: the time of day at `time`. `through`: the track on whose channel it goes.
  bool report(std::size_t track, std::int64_t utc_us, std::uint32_t time) { return report(track, utc_us, time, track); }
  bool report(std::size_t track, std::int64_t utc_us, std::uint32_t time, std::size_t through);
  // False: it did not come true within half a minute, or before the camera ended.
  bool wait_for(const std::function<bool()>& condition) const;
  void wait_for_end() const { stay_silent(fd_, over_); }

 private:
  int fd_;
  std::vector<Track> tracks_;
  const std::atomic<bool>& over_;
  UniqueFd udp_;
};

class RtpCamera {
 public:
  // `media`: a description of each track, SDP lines from m= on without a=control.
  RtpCamera(std::vector<std::string> media, std::function<void(RtpLine&)> play);

  [[nodiscard]] std::string url() const;
  [[nodiscard]] int port() const { return server_.port(); }

 private:
  void serve(int fd, const std::atomic<bool>& over);
  [[nodiscard]] std::string description() const;

  std::vector<std::string> media_;
  std::function<void(RtpLine&)> play_;
  Server server_{[this](int fd, const std::atomic<bool>& over) { serve(fd, over); }};  // the last: it uses the others
};

// "m=video …" of a codec that SDP calls so.
std::string video_media(const std::string& name, const std::string& format = "");

}  // namespace campipe::test
