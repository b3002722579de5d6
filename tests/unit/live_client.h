// A client of GET /live: what many streams send in one answer.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/http_client.h"

namespace campipe::test {

// Of GET /live.
class LiveClient {
 public:
  // Kinds of messages.
  static constexpr int beat = 0;
  static constexpr int text = 1;
  static constexpr int video = 2;
  struct Message {
    int kind = -1;  // -1: the answer is at its end
    std::size_t stream = 0;
    std::string bytes;
  };

  LiveClient(std::uint16_t port, const std::string& streams, const std::string& headers = {}, int receive_buffer = 0)
      : client_(port, receive_buffer) {
    client_.send(request_text("GET /live?streams=" + streams, headers));
    head_ = read_head(client_);
  }

  [[nodiscard]] const Reply& head() const { return head_; }
  TcpClient& connection() { return client_; }

  Message next() {
    constexpr std::size_t head_size = 8;
    if (!fill(head_size)) return {};
    const std::size_t size = number(4, 4);
    Message message{static_cast<int>(number(0, 2)), number(2, 2), {}};
    if (!fill(head_size + size)) return {};
    message.bytes = body_.substr(head_size, size);
    body_.erase(0, head_size + size);
    return message;
  }
  // The next one of that kind; those of other streams, and of other kinds, are left out.
  std::string next_of(std::size_t stream, int kind) {
    for (;;) {
      const Message message = next();
      if (message.kind == -1 || (message.kind == kind && message.stream == stream)) return message.bytes;
    }
  }
  nlohmann::json next_text(std::size_t stream, const std::string& type) {
    for (;;) {
      const std::string said = next_of(stream, text);
      if (said.empty()) return nullptr;
      nlohmann::json parsed = nlohmann::json::parse(said);
      if (parsed["type"] == type) return parsed;
    }
  }

 private:
  [[nodiscard]] std::size_t number(std::size_t at, std::size_t bytes) const {
    std::size_t value = 0;
    for (std::size_t i = at; i < at + bytes; ++i) value = value * 256 + static_cast<unsigned char>(body_[i]);
    return value;
  }
  bool fill(std::size_t size) {
    while (body_.size() < size) {
      if (!client_.read_up_to_end_of("\r\n")) return false;
      const std::string line = client_.take(client_.text().find("\r\n") + 2);
      const std::size_t chunk = std::stoul(line, nullptr, 16);
      if (chunk == 0 || !client_.read_up_to(chunk + 2)) return false;
      body_ += client_.take(chunk);
      client_.take(2);
    }
    return true;
  }

  TcpClient client_;
  Reply head_;
  std::string body_;
};

}  // namespace campipe::test
