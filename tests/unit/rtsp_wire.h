// An RTSP client that does only what it is told to, for tests of servers: one connection, RTP over it.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/unique_handle.h"

namespace campipe::test {

class RtspWire {
 public:
  struct Answer {
    int status = 0;
    std::string text;  // head and body
  };

  // `from`: the address of this end, in 127/8.
  explicit RtspWire(int port, int receive_buffer = 0, const std::string& from = "127.0.0.1");

  [[nodiscard]] int fd() const { return fd_.get(); }

  // As it is; false: the other end has closed.
  [[nodiscard]] bool send(std::string_view bytes);

  Answer ask(const std::string& method, const std::string& path, const std::string& headers = "");

  // Status of the first that is refused, or of PLAY.
  // `streams`: how many of them are set up.
  int play(const std::string& path, const std::string& headers = "", int streams = 1);

  // Of the last play().
  [[nodiscard]] const std::string& session() const { return session_; }
  // What came with the last receive().
  [[nodiscard]] std::string_view received() const { return {buffer_.data(), received_}; }
  // What was sent until `deadline`, at most a buffer full; -1: the connection is closed, or was reset.
  int receive(Deadline deadline);
  [[nodiscard]] bool is_closed(Deadline deadline);

  // Data of a stream that is being played may come before it.
  Answer answer();

 private:
  char byte();

  int port_;
  UniqueFd fd_;
  int sequence_ = 0;
  std::string session_;
  std::array<char, 1 << 16> buffer_{};
  std::size_t received_ = 0;
};

}  // namespace campipe::test
