#include "tests/unit/rtsp_wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"

namespace campipe::test {

RtspWire::RtspWire(int port, int receive_buffer, const std::string& from)
    : port_(port), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer > 0) ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, from.c_str(), &address.sin_addr);
  if (::bind(fd_.get(), static_cast<sockaddr*>(static_cast<void*>(&address)), sizeof(address)) != 0)
    throw system_error("bind", errno);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_.get(), static_cast<sockaddr*>(static_cast<void*>(&address)), sizeof(address)) != 0)
    throw system_error("connect", errno);
}

bool RtspWire::send(std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd entry{fd_.get(), POLLOUT, 0};
    if (::poll(&entry, 1, 30'000) <= 0) throw Error("it takes nothing more");
    const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) return false;
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  return true;
}

RtspWire::Answer RtspWire::ask(const std::string& method, const std::string& path, const std::string& headers) {
  const std::string request = method + " rtsp://127.0.0.1:" + std::to_string(port_) + path +
                              " RTSP/1.0\r\nCSeq: " + std::to_string(++sequence_) + "\r\n" + headers + "\r\n";
  if (!send(request)) throw system_error("send", errno);
  return answer();
}

int RtspWire::play(const std::string& path, const std::string& headers, int streams) {
  Answer got = ask("DESCRIBE", path, "Accept: application/sdp\r\n" + headers);
  if (got.status != 200) return got.status;
  got = ask("SETUP", path + "/stream=0", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n" + headers);
  if (got.status != 200) return got.status;
  const auto at = got.text.find("Session: ") + 9;
  session_ = got.text.substr(at, got.text.find_first_of(";\r", at) - at);
  if (streams == 2) {
    got = ask("SETUP", path + "/stream=1",
              "Transport: RTP/AVP/TCP;unicast;interleaved=2-3\r\nSession: " + session_ + "\r\n" + headers);
    if (got.status != 200) return got.status;
  }
  return ask("PLAY", path, "Session: " + session_ + "\r\n" + headers).status;
}

int RtspWire::receive(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd entry{fd_.get(), POLLIN, 0};
  if (::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) <= 0) return 0;
  const ssize_t count = ::recv(fd_.get(), buffer_.data(), buffer_.size(), 0);
  received_ = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  return count <= 0 ? -1 : static_cast<int>(count);
}

bool RtspWire::is_closed(Deadline deadline) {
  while (Clock::now() < deadline) {
    if (receive(deadline) < 0) return true;
  }
  return false;
}

RtspWire::Answer RtspWire::answer() {
  std::string head;
  while (!head.ends_with("\r\n\r\n")) {
    head += byte();
    if (head == "$") {
      byte();
      std::size_t size = static_cast<unsigned char>(byte()) * std::size_t{256};
      size += static_cast<unsigned char>(byte());
      for (; size > 0; --size) byte();
      head.clear();
    }
  }
  Answer got{std::stoi(head.substr(head.find(' ') + 1)), head};
  if (const auto at = head.find("Content-Length: "); at != std::string::npos) {
    for (int left = std::stoi(head.substr(at + 16)); left > 0; --left) got.text += byte();
  }
  return got;
}

char RtspWire::byte() {
  pollfd entry{fd_.get(), POLLIN, 0};
  char letter = 0;
  if (::poll(&entry, 1, 30'000) <= 0 || ::recv(fd_.get(), &letter, 1, 0) != 1) throw Error("no answer");
  return letter;
}

}  // namespace campipe::test
