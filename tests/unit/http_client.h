// The least of a browser: requests as they are written down, and what comes back. Every wait has a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "core/unique_handle.h"

namespace campipe::test {

constexpr auto patience = std::chrono::seconds(20);

class TcpClient {
 public:
  // `receive_buffer`: bytes that the kernel keeps for a client that does not read; 0: its choice.
  explicit TcpClient(std::uint16_t port, int receive_buffer = 0);

  // False: the other side does not want any more.
  bool send(const std::string& text);

  // Reads until there are `size` bytes in text(); false: the other side ended before. Throws when it takes too long.
  bool read_up_to(std::size_t size);
  bool read_up_to_end_of(const std::string& mark);
  void read_to_the_end();
  // Something came, or the other side ended.
  [[nodiscard]] bool has_bytes() const;
  [[nodiscard]] bool ended_within(std::chrono::milliseconds time);
  [[nodiscard]] const std::string& text() const { return text_; }
  std::string take(std::size_t size);

 private:
  bool read_more();

  UniqueFd fd_;
  std::string text_;
};

struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// Status and headers; the body is left to be read. Status 0: the other side closed.
Reply read_head(TcpClient& client);

Reply read_reply(TcpClient& client, bool has_body = true);

// "GET /path HTTP/1.1" with a Host and the given headers, each with its end of line.
std::string request_text(const std::string& line, const std::string& headers = {}, const std::string& body = {});

Reply ask(std::uint16_t port, const std::string& line, const std::string& headers = {}, const std::string& body = {});

// RFC 6455, as a client.
class WebSocketClient {
 public:
  struct Message {
    int opcode = 8;  // 1: text, 2: binary, 8: close, 9: ping
    std::string bytes;
  };

  WebSocketClient(std::uint16_t port, const std::string& path, const std::string& headers = {}, int receive_buffer = 0);

  [[nodiscard]] const Reply& head() const { return head_; }
  // Also `close` when the other side is just gone.
  Message next();
  // Up to 125 bytes, masked with nothing.
  void say(const std::string& text);

 private:
  TcpClient client_;
  Reply head_;
};

}  // namespace campipe::test
