// Cuts what an RTSP client sends into whole messages before GStreamer sees any of it.
//
// GStreamer reads a message for as long as bytes come, on the thread of all clients, and keeps all of its headers. So
// it gets none that is not complete, and none that is larger than it may be. What GStreamer could read in another way
// than this does is refused: lines that do not end with CR LF or are folded, control characters, two bodies' lengths.
// Refused as well are responses, as no request is sent, HTTP, through which RTSP would be tunneled, and RTSP 2.0's
// header Pipelined-Requests, for which gst-rtsp-server 1.22 loses memory with each request.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace campipe {

class RtspFraming {
 public:
  static constexpr std::size_t longest_line = 4000;  // GStreamer cuts longer ones off at 4,095 bytes
  static constexpr std::size_t longest_header = 16U << 10U;
  static constexpr std::size_t longest_body = 8U << 10U;

  // What came. Nothing more is wanted while there is a whole message, or after a refusal.
  void add(std::span<const char> bytes);
  [[nodiscard]] bool whole() const { return whole_ > 0; }
  [[nodiscard]] std::string_view message() const {
    return std::string_view(bytes_).substr(begin_, whole_);
  }  // the whole one
  // Some of it was taken, and there is more.
  [[nodiscard]] bool begun() const { return taken_ > 0; }
  // Of the whole message, as much as fits; how much that is. Then there may be another.
  std::size_t take(std::span<char> room);
  // All that came behind the message that was taken last.
  std::string take_rest();
  // Why the client is not to be listened to any more; empty: it is.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  // When the message began that is not complete yet.
  [[nodiscard]] std::optional<Clock::time_point> began() const { return began_; }

 private:
  void look();
  void look_at_frame();
  void look_at_lines();
  void look_at_line(std::string_view line);
  void look_at_request(std::string_view line);
  void look_at_header(std::string_view line);
  void refuse(const char* why);

  std::string bytes_;
  std::size_t begin_ = 0;  // of what was not taken yet
  std::size_t whole_ = 0;  // how much of that is a whole message
  std::size_t taken_ = 0;  // of that
  std::size_t line_ = 0;   // where in bytes_ the line begins that is not complete yet
  std::optional<std::size_t> body_;
  std::string refusal_;
  std::optional<Clock::time_point> began_;
};

}  // namespace campipe
