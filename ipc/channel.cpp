#include "ipc/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace campipe {
namespace {

struct WireHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t fds;
  std::uint32_t type_length;
  std::uint32_t body_length;
};
constexpr std::uint32_t wire_magic = 0x63616d70;
constexpr std::uint16_t wire_version = 1;

union ControlBuffer {
  cmsghdr align;
  std::array<char, CMSG_SPACE(Channel::max_fds * sizeof(int))> bytes;
};

void attach_fds(msghdr& message, ControlBuffer& buffer, const std::vector<int>& fds) {
  message.msg_control = buffer.bytes.data();
  message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
  cmsghdr* control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
  std::memcpy(CMSG_DATA(control), fds.data(), fds.size() * sizeof(int));
}

std::vector<UniqueFd> take_fds(msghdr& message) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  return fds;
}

Message parse(std::span<const char> bytes, std::vector<UniqueFd> fds) {
  WireHeader header{};
  if (bytes.size() < sizeof header) throw Error("a control message is too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != wire_magic || header.version != wire_version) throw Error("a control message of another version");
  const std::size_t expected = sizeof header + std::size_t{header.type_length} + header.body_length;
  if (bytes.size() != expected || header.fds != fds.size()) throw Error("a control message of the wrong length");
  const char* type = bytes.data() + sizeof header;
  const char* body = type + header.type_length;
  auto json = nlohmann::json::parse(body, body + header.body_length, nullptr, false);
  if (json.is_discarded()) throw Error("a control message that is not JSON");
  return {std::string(type, header.type_length), std::move(json), std::move(fds)};
}

}  // namespace

bool Channel::send(const std::string& type, const nlohmann::json& body, const std::vector<int>& fds) {
  // What strangers say in their error messages need not be UTF-8, and is no reason to die.
  std::string text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > max_body || fds.size() > max_fds) throw Error("control message '" + type + "' is too large");
  WireHeader header{wire_magic, wire_version, static_cast<std::uint16_t>(fds.size()),
                    static_cast<std::uint32_t>(type.size()), static_cast<std::uint32_t>(text.size())};
  std::string name = type;
  std::array<iovec, 3> parts{{{&header, sizeof header}, {name.data(), name.size()}, {text.data(), text.size()}}};
  ControlBuffer control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (!fds.empty()) attach_fds(message, control, fds);
  const Deadline deadline = Clock::now() + std::chrono::seconds(1);
  for (;;) {
    if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    if (errno == EPIPE || errno == ECONNRESET) return false;
    if (errno != EAGAIN && errno != EINTR) throw system_error("cannot send control message '" + type + "'", errno);
    if (Clock::now() >= deadline) throw Error("control message '" + type + "' was not taken within a second");
    pollfd writable{socket_.get(), POLLOUT, 0};
    ::poll(&writable, 1, 100);
  }
}

std::optional<Message> Channel::receive() {
  static thread_local std::vector<char> buffer(sizeof(WireHeader) + 256 + max_body);
  ControlBuffer control{};
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t size = -1;
  do {
    size = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) return std::nullopt;
  // Even an empty packet may bring some.
  auto fds = size < 0 ? std::vector<UniqueFd>() : take_fds(message);
  if (size == 0 || (size < 0 && errno == ECONNRESET)) {
    closed_ = true;
    return std::nullopt;
  }
  if (size < 0) throw system_error("cannot receive a control message", errno);
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) throw Error("a control message is too long");
  return parse({buffer.data(), static_cast<std::size_t>(size)}, std::move(fds));
}

std::pair<UniqueFd, UniqueFd> make_channel_pair() {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    throw system_error("cannot make a control channel", errno);
  }
  return {UniqueFd(sockets[0]), UniqueFd(sockets[1])};
}

}  // namespace campipe
