#include "tests/unit/http_client.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "core/error.h"

namespace campipe::test {

TcpClient::TcpClient(std::uint16_t port, int receive_buffer) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer > 0) ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const void* raw = &address;
  if (::connect(fd_.get(), static_cast<const sockaddr*>(raw), sizeof address) != 0)
    throw system_error("connect", errno);
}

bool TcpClient::send(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t sent = ::send(fd_.get(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    done += static_cast<std::size_t>(sent);
  }
  return true;
}

bool TcpClient::read_up_to(std::size_t size) {
  while (text_.size() < size) {
    if (!read_more()) return false;
  }
  return true;
}

bool TcpClient::read_up_to_end_of(const std::string& mark) {
  while (text_.find(mark) == std::string::npos) {
    if (!read_more()) return false;
  }
  return true;
}

void TcpClient::read_to_the_end() {
  while (read_more()) {
  }
}

bool TcpClient::has_bytes() const {
  pollfd ready{fd_.get(), POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

bool TcpClient::ended_within(std::chrono::milliseconds time) {
  pollfd ready{fd_.get(), POLLIN, 0};
  return ::poll(&ready, 1, static_cast<int>(time.count())) == 1 && !read_more();
}

std::string TcpClient::take(std::size_t size) {
  std::string taken = text_.substr(0, size);
  text_.erase(0, size);
  return taken;
}

bool TcpClient::read_more() {
  pollfd ready{fd_.get(), POLLIN, 0};
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  if (::poll(&ready, 1, static_cast<int>(wait)) != 1) throw Error("nothing came; so far: " + text_);
  char buffer[65536];
  const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
  if (got > 0) text_.append(buffer, static_cast<std::size_t>(got));
  return got > 0;
}

Reply read_head(TcpClient& client) {
  Reply reply;
  if (!client.read_up_to_end_of("\r\n\r\n")) return reply;
  const std::string head = client.take(client.text().find("\r\n\r\n") + 4);
  reply.status = std::stoi(head.substr(9, 3));
  for (std::size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
    const std::size_t end = head.find("\r\n", at);
    const std::size_t colon = head.find(':', at);
    std::string name = head.substr(at, colon - at);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    reply.headers[name] = head.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  return reply;
}

Reply read_reply(TcpClient& client, bool has_body) {
  Reply reply = read_head(client);
  const auto length = reply.headers.find("content-length");
  if (!has_body || length == reply.headers.end()) return reply;
  client.read_up_to(std::stoul(length->second));
  reply.body = client.take(std::stoul(length->second));
  return reply;
}

std::string request_text(const std::string& line, const std::string& headers, const std::string& body) {
  const bool has_host = headers.find("Host:") != std::string::npos;
  const std::string length = body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return line + " HTTP/1.1\r\n" + (has_host ? "" : "Host: localhost\r\n") + headers + length + "\r\n" + body;
}

Reply ask(std::uint16_t port, const std::string& line, const std::string& headers, const std::string& body) {
  TcpClient client(port);
  client.send(request_text(line, headers, body));
  return read_reply(client, !line.starts_with("HEAD "));
}

WebSocketClient::WebSocketClient(std::uint16_t port, const std::string& path, const std::string& headers,
                                 int receive_buffer)
    : client_(port, receive_buffer) {
  client_.send(request_text("GET " + path,
                            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
                                headers));
  head_ = read_head(client_);
}

WebSocketClient::Message WebSocketClient::next() {
  if (!client_.read_up_to(2)) return {};
  const std::string start = client_.take(2);
  std::uint64_t size = static_cast<unsigned char>(start[1]) & 127U;
  if (size >= 126) {
    const std::size_t bytes = size == 126 ? 2 : 8;
    if (!client_.read_up_to(bytes)) return {};
    size = 0;
    for (const char c : client_.take(bytes)) size = size << 8U | static_cast<unsigned char>(c);
  }
  if (!client_.read_up_to(size)) return {};
  return {static_cast<unsigned char>(start[0]) & 15, client_.take(size)};
}

void WebSocketClient::say(const std::string& text) {
  client_.send(std::string{'\x81', static_cast<char>(0x80U | text.size()), 0, 0, 0, 0} + text);
}

}  // namespace campipe::test
